// cope: a key's place is counted in what lies between it and the query: every key counts as much as its score opens a
// gate, and a trained vector of that place meets the query.
// Golovneva et al., "Contextual Position Encoding: Learning to Count What's Important", 2024, section 4
// (arXiv:2405.18719).
//
//   gate[t] = 1 / (1 + e^-score(i, t))                   of the scaled scores
//   p[j] = gate[j] + ... + gate[i], at most P - 1        the query's own token counts
//   score(i, j) += (1 - u) q·e[f] + u q·e[f + 1]         f = floor(p[j]), u = p[j] - f; not scaled
//   e: blk.N.attn_cope.weight [P, head_dim], one table for all heads of a layer, or attn_cope.weight
// Walking back from the newest key, p grows by at most 1 a key: two products of q with rows of e are kept, and the next
// one is made when p passes a whole number. Positions are never read, only the order of the row.
// Spec     cope[:positions=auto]           auto: as many as the table has rows
// Acts on  scores, of a row as a whole. Has no last position.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Cope final : public PositionScheme {
 public:
  Cope(std::vector<SchemeTable> layers, std::vector<size_t> positions)
      : layers_(std::move(layers)), positions_(std::move(positions)) {}

  bool reads_whole_rows() const override { return true; }

  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    const float* table = layers_[static_cast<size_t>(site.layer)].values.data();
    const size_t last = positions_[static_cast<size_t>(site.layer)] - 1;
    const auto meeting = [&](size_t row) {
      double sum = 0;
      for (size_t c = 0; c < q.size(); ++c)
        sum += static_cast<double>(q[c]) * static_cast<double>(table[row * q.size() + c]);
      return sum;
    };
    double place = 0;
    size_t below = 0;
    double at_below = meeting(0), at_above = meeting(std::min<size_t>(1, last));
    for (size_t j = scores.size(); j-- > 0;) {
      place = std::min(place + 1 / (1 + std::exp(-static_cast<double>(scores[j]))), static_cast<double>(last));
      if (const auto floor = static_cast<size_t>(place); floor != below) {
        at_below = floor == below + 1 ? at_above : meeting(floor);
        at_above = meeting(std::min(floor + 1, last));
        below = floor;
      }
      const double u = place - static_cast<double>(below);
      scores[j] += static_cast<float>((1 - u) * at_below + u * at_above);
    }
  }

 private:
  const std::vector<SchemeTable> layers_;  // [n_layers]
  const std::vector<size_t> positions_;    // [n_layers]: rows that are in use
};

}  // namespace

SchemePtr make_cope(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const std::optional<int64_t> stated = params.whole_or("positions", "auto", 1, 1 << 20);
  std::vector<SchemeTable> layers =
      tables.read_layers({"blk.N.attn_cope.weight", {any_size(stated.value_or(8)), shape.head_dim}, random_of(0.5)});
  std::vector<size_t> positions;
  for (const SchemeTable& table : layers) {
    if (stated && *stated > table.shape[0])
      params.refuse("positions", std::to_string(*stated),
                    "at most the rows of " + table.name + ", " + std::to_string(table.shape[0]));
    positions.push_back(static_cast<size_t>(stated.value_or(table.shape[0])));
  }
  if (!positions.empty()) params.remark("counts up to " + std::to_string(positions.front() - 1));
  return std::make_unique<Cope>(std::move(layers), std::move(positions));
}

}  // namespace ordinal
