// relative_bias: each score gains a trained bias that depends on head and distance, one for every distance up to K and
// the same one for all beyond.
// The plain form of the bias of Raffel et al. 2020 (arXiv:1910.10683, section 2.1): score(i, j) += b[i - j].
//
//   score(i, j) += b[min(i - j, K)][h]     b: blk.N.attn_rel_b.weight, or attn_rel_b.weight for all layers; not scaled
//   [K + 1, H]                             row n: n positions back
//   [2 K + 1, H]                           with clip=K stated: row K + n is n positions ahead, row K - n n back
// Spec     relative_bias[:clip=auto]        auto: one less than the table has rows
// Acts on  scores. Has no last position.
#include <algorithm>

#include "position/scheme.h"

namespace ordinal {
namespace {

struct LayerBias {
  std::vector<float> past;  // [n_heads, K + 1], number n for n positions back
  int64_t clip = 0;         // K
};

class RelativeBias final : public PositionScheme {
 public:
  explicit RelativeBias(std::vector<LayerBias> layers) : layers_(std::move(layers)) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const LayerBias& table = layers_[static_cast<size_t>(site.layer)];
    const float* bias = table.past.data() + site.head * (table.clip + 1);
    for (size_t j = 0; j < scores.size(); ++j) scores[j] += bias[std::min(distance_back(site, j), table.clip)];
  }

 private:
  const std::vector<LayerBias> layers_;  // [n_layers]
};

}  // namespace

SchemePtr make_relative_bias(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const std::optional<int64_t> stated = params.whole_or("clip", "auto", 0, 1 << 30);
  const int64_t heads = shape.n_heads;
  const TableSize rows_made_up = any_size(stated ? *stated + 1 : 32);
  std::vector<LayerBias> layers;
  for (const SchemeTable& table :
       tables.read_layers({"blk.N.attn_rel_b.weight", {rows_made_up, heads}, falling_bias(heads)})) {
    const int64_t rows = table.shape[0], clip = stated.value_or(rows - 1);
    if (rows != clip + 1 && rows != 2 * clip + 1)
      params.refuse(
          "clip", std::to_string(clip),
          "a clip for which " + table.name + " has clip + 1 or 2 clip + 1 rows: it has " + std::to_string(rows));
    LayerBias one{.past = {}, .clip = clip};
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t n = 0; n <= clip; ++n)
        one.past.push_back(table.values[static_cast<size_t>((rows == clip + 1 ? n : clip - n) * heads + head)]);
    if (layers.empty()) params.remark("distances of " + std::to_string(clip) + " and more share a bias");
    layers.push_back(std::move(one));
  }
  return std::make_unique<RelativeBias>(std::move(layers));
}

}  // namespace ordinal
