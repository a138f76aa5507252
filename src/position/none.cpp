// none: no position information; a causal model can still tell order from what each row may see.
// Haviv et al., "Transformer Language Models without Positional Encodings Still Learn Positional Information", 2022
// (arXiv:2203.16634); Kazemnejad et al. 2023 (arXiv:2305.19466).
//
// Spec     none
// Acts on  nothing: it is the base class. Needs no tensors; has no last position.
#include "position/scheme.h"

namespace ordinal {

SchemePtr make_none(ParamReader&, const AttentionShape&, const TensorLookup&) {
  return std::make_unique<PositionScheme>();
}

}  // namespace ordinal
