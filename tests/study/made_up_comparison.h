// made_up_comparison.h: comparisons whose every number is chosen, so that what is said of them can be known beforehand.
#pragma once

#include <string>
#include <vector>

#include "results/compared.h"

namespace test {

// A scheme, how it stands inside the trained length of 256, and its losses there and at 1,024 tokens; NaN: it ends.
struct MadeUpScheme {
  std::string position;
  ordinal::Question question = ordinal::Question::swap;
  ordinal::Standing standing = ordinal::Standing::untrained;
  double inside = 3.0, past = 3.0;
};

// The first scheme is the model's own. Every paired difference is told to `half` nats, but for those of equal losses,
// which are equal to the bit. Staying inside costs `recent` at every length.
ordinal::Compared made_up_comparison(const std::vector<MadeUpScheme>& schemes, double half = 0.01, double recent = 3.2);

}  // namespace test
