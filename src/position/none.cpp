// none: no position information; a causal model can still tell order from what each row may see.
// Haviv et al., "Transformer Language Models without Positional Encodings Still Learn Positional Information", 2022
// (arXiv:2203.16634); Kazemnejad et al. 2023 (arXiv:2305.19466).
//
//   score(i, j) *= logit_scale          1 + c ln s in models that dropped RoPE late in training, to read s times as far
// Spec     none[:logit_scale=1]
// Acts on  nothing: it is the base class; with a logit_scale on scores. Needs no tensors; has no last position.
#include "position/scheme.h"

namespace ordinal {
namespace {

class Sharpened final : public PositionScheme {
 public:
  explicit Sharpened(double scale) : scale_(static_cast<float>(scale)) {}

  void add_to_scores(const AttentionSite&, std::span<const float>, std::span<float> scores) const override {
    for (float& score : scores) score *= scale_;
  }

 private:
  const float scale_;
};

}  // namespace

SchemePtr make_none(ParamReader& params, const AttentionShape&, TableReader&) {
  const double scale = params.positive("logit_scale", 1);
  if (scale == 1) return std::make_unique<PositionScheme>();
  return std::make_unique<Sharpened>(scale);
}

}  // namespace ordinal
