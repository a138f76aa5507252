// learned: a trained row per position, added to the token's embedding.
// Gehring et al. 2017 (arXiv:1705.03122); Radford et al. 2019 (GPT-2).
//
//   x[p] += table[p + offset]          table: position_embd.weight [L + offset, d_model]
// Spec     learned[:offset=0]          offset 2: OPT and fairseq, which keep two rows for padding
// Acts on  the embedding. Its last position is L - 1: there is no row beyond.
#include <vector>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Learned final : public PositionScheme {
 public:
  Learned(const TensorView& table, int64_t offset) : offset_(offset), length_(table.shape[0] - offset) {
    rows_.resize(static_cast<size_t>(table.shape[0] * table.shape[1]));
    widen(table.dtype, table.data, 0, rows_);
  }

  int64_t max_positions() const override { return length_; }

  void add_to_embedding(Positions positions, Rows x) const override {
    for (int64_t r = 0; r < x.rows; ++r) {
      const float* row = rows_.data() + (positions[static_cast<size_t>(r)] + offset_) * x.cols;
      for (int64_t c = 0; c < x.cols; ++c) x[r][static_cast<size_t>(c)] += row[c];
    }
  }

 private:
  const int64_t offset_, length_;
  std::vector<float> rows_;  // [L + offset, d_model]
};

}  // namespace

SchemePtr make_learned(ParamReader& params, const AttentionShape& shape, const TensorLookup& lookup) {
  const TensorView& table = require_table(lookup, "position_embd.weight", "learned", -1, shape.d_model);
  const int64_t offset = params.whole("offset", 0, 0, table.shape[0] - 1);
  return std::make_unique<Learned>(table, offset);
}

}  // namespace ordinal
