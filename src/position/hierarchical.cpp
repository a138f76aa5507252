// hierarchical: a learned table of L rows stretched to L * L positions, each made of two of its rows, as a number is
// made of two digits.
// Su Jianlin, 2020 (kexue.fm/archives/7947); bert4keras.
//
//   u[k] = (P[k] - alpha P[0]) / (1 - alpha)
//   x[k L + m] += alpha u[k] + (1 - alpha) u[m]       P: position_embd.weight [L, d_model]
// which is P[m] + alpha/(1 - alpha) (P[k] - P[0]): for k = 0 the table itself, bit for bit.
// Spec     hierarchical[:alpha=0.4]; the same as learned:beyond=hierarchical
// Acts on  the embedding. Its last position is L * L - 1.
#include "position/learned.h"

#include <algorithm>

namespace ordinal {

double read_alpha(ParamReader& params) {
  const double alpha = params.positive("alpha", 0.4);
  // At 0.5 both digits weigh the same, so that position L + 2 would be position 2 L + 1.
  if (alpha >= 1 || alpha == 0.5) params.refuse("alpha", number_text(alpha), "a number between 0 and 1 but not 0.5");
  return alpha;
}

SchemePtr make_hierarchical(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const double alpha = read_alpha(params);
  SchemeTable table = read_positions(tables, shape, 0);
  const auto policy = std::ranges::find(beyond_policies(), std::string_view("hierarchical"), &BeyondPolicy::name);
  const TableReach reach{.rows = table.shape[0], .length = 0, .alpha = alpha};
  return make_learned_table(*policy, std::move(table), 0, reach);
}

}  // namespace ordinal
