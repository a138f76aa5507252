// shaw: a trained vector per distance stands beside every key and, unless values=0, beside every value.
// Shaw, Uszkoreit, Vaswani, "Self-Attention with Relative Position Representations", 2018 (arXiv:1803.02155).
//
//   score(i, j) += scale * q[i] · aK[c]    c = max(j - i, -k) + k: row k is the token itself, row 0 all that are k or
//   out[i] += sum over j weight(i, j) aV[c]                       more positions back; rows above k are of the future
//   aK, aV: blk.N.attn_rel_k.weight, blk.N.attn_rel_v.weight [2k + 1, head_dim], shared by the heads, or
//   [H * (2k + 1), head_dim], one table after the other
// Spec     shaw[:clip=16,values=1|0]          clip: k
// Acts on  scores and values. Has no last position.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Shaw final : public PositionScheme {
 public:
  // Tables per layer; `values` is empty without them.
  Shaw(std::vector<SchemeTable> keys, std::vector<SchemeTable> values, int64_t clip)
      : keys_(std::move(keys)), values_(std::move(values)), clip_(clip) {}

  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    const float* table = table_of(keys_, site);
    const auto dot = [&](int64_t row) {
      double sum = 0;
      for (size_t c = 0; c < q.size(); ++c)
        sum += static_cast<double>(q[c]) * static_cast<double>(table[row * static_cast<int64_t>(q.size()) + c]);
      return static_cast<float>(static_cast<double>(site.scale) * sum);
    };
    const float far = dot(0);  // most keys, in a long text
    for (size_t j = 0; j < scores.size(); ++j) {
      const int64_t row = row_of(site, j);
      scores[j] += row == 0 ? far : dot(row);
    }
  }

  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const override {
    if (values_.empty()) return;
    const float* table = table_of(values_, site);
    const auto add = [&](int64_t row, double weight) {
      const float* value = table + row * static_cast<int64_t>(out.size());
      for (size_t c = 0; c < out.size(); ++c) out[c] += static_cast<float>(weight * static_cast<double>(value[c]));
    };
    double far = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      const int64_t row = row_of(site, j);
      if (row == 0)
        far += static_cast<double>(weights[j]);
      else
        add(row, static_cast<double>(weights[j]));
    }
    add(0, far);
  }

 private:
  int64_t row_of(const AttentionSite& site, size_t key) const {
    return clip_ - std::min(distance_back(site, key), clip_);
  }

  // The rows of a head: the table's own, or its share of them.
  const float* table_of(const std::vector<SchemeTable>& tables, const AttentionSite& site) const {
    const SchemeTable& table = tables[static_cast<size_t>(site.layer)];
    const int64_t rows = 2 * clip_ + 1, first = table.shape[0] == rows ? 0 : site.head * rows;
    return table.values.data() + first * table.shape[1];
  }

  const std::vector<SchemeTable> keys_, values_;  // [n_layers]
  const int64_t clip_;
};

void check_rows(const ParamReader& params, const AttentionShape& shape, const SchemeTable& table, int64_t clip) {
  const int64_t rows = 2 * clip + 1;
  if (table.shape[0] != rows && table.shape[0] != shape.n_heads * rows)
    params.refuse("clip", std::to_string(clip),
                  "a clip for which " + table.name + " has 2 clip + 1 rows, or as many per head: it has " +
                      std::to_string(table.shape[0]));
}

}  // namespace

SchemePtr make_shaw(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const int64_t clip = params.whole("clip", 16, 1, 1 << 20);
  const bool with_values = params.choice("values", {"1", "0"}) == "1";
  const MadeUp shrinking = [clip](int64_t row, int64_t, double random) {  // with the distance
    return 0.3 * random / (1 + 0.15 * std::abs(static_cast<double>(row - clip)));
  };
  const std::vector<TableSize> size = {any_size(2 * clip + 1), shape.head_dim};
  std::vector<TableForm> forms = {{"blk.N.attn_rel_k.weight", size, shrinking}};
  if (with_values) forms.push_back({"blk.N.attn_rel_v.weight", size, shrinking});
  std::vector<std::vector<SchemeTable>> loaded = tables.read(forms);
  for (const auto& layers : loaded)
    for (const SchemeTable& table : layers) check_rows(params, shape, table, clip);
  loaded.resize(2);
  return std::make_unique<Shaw>(std::move(loaded[0]), std::move(loaded[1]), clip);
}

}  // namespace ordinal
