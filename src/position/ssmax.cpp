// ssmax: every query grows with the logarithm of how many keys it sees, at a trained rate per head, so that the largest
// weight does not fade as a text gets longer (scalable softmax).
// Nakanishi, "Scalable-Softmax Is Superior for Attention", 2025, section 2 (arXiv:2501.19399).
//
//   q *= s[h] ln N          N = p + 1, the keys up to the query's own; h: query head
//   s: blk.N.attn_ssmax.weight [H], or attn_ssmax.weight for all layers; or one number, s=
// Multiplied, not subtracted from the scores: that would change nothing. The first row sees one key; its query is 0.
// Spec     SPEC;with=ssmax[:s=auto]      auto: the model's tensor
// Acts on  q, after what SPEC does to it.
#include <cmath>

#include "position/modifier.h"

namespace ordinal {
namespace {

class SsMax final : public ScaledQueries {
 public:
  SsMax(SharedScheme base, std::vector<std::vector<float>> rates)
      : ScaledQueries(std::move(base)), rates_(std::move(rates)) {}

 private:
  void scale(int64_t layer, int64_t position, std::span<float> query) const override {
    const std::vector<float>& rates = rates_[static_cast<size_t>(layer)];
    const double logarithm = std::log(static_cast<double>(position) + 1);
    const size_t head_dim = query.size() / rates.size();
    for (size_t h = 0; h < rates.size(); ++h) {
      const auto factor = static_cast<float>(static_cast<double>(rates[h]) * logarithm);
      for (float& number : query.subspan(h * head_dim, head_dim)) number *= factor;
    }
  }

  const std::vector<std::vector<float>> rates_;  // [n_layers][n_heads]
};

}  // namespace

SchemePtr make_with_ssmax(ParamReader& params, const AttentionShape& shape, TableReader& tables, SharedScheme base) {
  std::vector<std::vector<float>> rates;
  if (const std::optional<double> s = params.positive_or_auto("s")) {
    const std::vector<float> of_heads(static_cast<size_t>(shape.n_heads), static_cast<float>(*s));
    rates.assign(static_cast<size_t>(shape.n_layers), of_heads);
  } else {
    const MadeUp made_up = [](int64_t, int64_t, double random) { return 0.3 + 0.05 * random; };
    for (SchemeTable& table : tables.read_layers({"blk.N.attn_ssmax.weight", {shape.n_heads}, made_up}))
      rates.push_back(std::move(table.values));
  }
  return std::make_unique<SsMax>(std::move(base), std::move(rates));
}

}  // namespace ordinal
