// reference_schemes.h: relative and anchored position schemes and their modifiers in double precision, for the
// reference forward: what a query meets a key with, worked out from the distance that the papers give the two, not by
// turning each.
#pragma once

#include <map>
#include <string>

#include "reference/reference_forward.h"

namespace reference {

// The scheme of "name:key=value,...;with=name:key=value;..." over the tables of a model. Read here on its own: a name,
// key or value that is not known throws std::invalid_argument.
//
// none, rope (Su et al. 2021; fraction: Barbero et al. 2024, arXiv:2410.06205), xpos (Sun et al. 2022,
// arXiv:2212.10554), alibi (Press et al. 2022), kerple (Chi et al. 2022, arXiv:2205.09921), sandwich
// (arXiv:2212.10356), fire (Li et al. 2023, arXiv:2310.04418), cope (Golovneva et al. 2024, arXiv:2405.18719). With
// logn (kexue.fm/archives/8823), ssmax (arXiv:2501.19399), steps (Llama 4), random (arXiv:2305.16843), sinks
// (arXiv:2309.17453), lambda (arXiv:2308.16137), rerope and leaky_rerope (kexue.fm/archives/9708), self_extend
// (arXiv:2401.01325), dca (arXiv:2402.17463).
Scheme scheme_by_distance(const std::string& spec, const Model& model);

}  // namespace reference
