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

#include "position/scheme.h"

namespace ordinal {
namespace {

struct Table {
  std::vector<float> rows;  // [2k + 1, head_dim], once or per head
  int64_t head_stride = 0;  // floats from head to head, 0 when shared
};

class Shaw final : public PositionScheme {
 public:
  // Tables per layer; `values` is empty without them.
  Shaw(std::vector<Table> keys, std::vector<Table> values, int64_t clip)
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

  static const float* table_of(const std::vector<Table>& tables, const AttentionSite& site) {
    const Table& table = tables[static_cast<size_t>(site.layer)];
    return table.rows.data() + site.head * table.head_stride;
  }

  const std::vector<Table> keys_, values_;  // [n_layers]
  const int64_t clip_;
};

Table read_table(const ParamReader& params, const AttentionShape& shape, const TensorLookup& lookup,
                 const std::string& name, int64_t clip) {
  const int64_t rows = 2 * clip + 1;
  const TensorView& table = require_table(lookup, name, params.scheme(), -1, shape.head_dim);
  const bool per_head = table.shape[0] != rows;
  if (per_head && table.shape[0] != shape.n_heads * rows)
    params.refuse("clip", std::to_string(clip),
                  "a clip for which " + name + " has 2 clip + 1 rows, or as many per head: it has " +
                      std::to_string(table.shape[0]));
  return {table_values(table), per_head ? rows * shape.head_dim : 0};
}

}  // namespace

SchemePtr make_shaw(ParamReader& params, const AttentionShape& shape, const TensorLookup& lookup) {
  const int64_t clip = params.whole("clip", 16, 1, 1 << 20);
  const bool with_values = params.choice("values", {"1", "0"}) == "1";
  std::vector<Table> keys, values;
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    keys.push_back(read_table(params, shape, lookup, block + "attn_rel_k.weight", clip));
    if (with_values) values.push_back(read_table(params, shape, lookup, block + "attn_rel_v.weight", clip));
  }
  return std::make_unique<Shaw>(std::move(keys), std::move(values), clip);
}

}  // namespace ordinal
