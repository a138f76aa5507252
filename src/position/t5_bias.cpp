// t5_bias: each score gains a trained bias that depends on head and distance; near distances have a bias each, far ones
// share it in buckets that widen with the distance.
// Raffel et al., "Exploring the Limits of Transfer Learning with T5", 2020, section 2.1 (arXiv:1910.10683), and its
// code.
//
//   score(i, j) += B[bucket(i - j)][h]     B: attn_rel_b.weight [buckets, H], one table for all layers; not scaled
//   bucket(n) = n                          n < e = buckets / 2 (the causal form)
//   bucket(n) = min(buckets - 1, e + floor(ln(n / e) / ln(max_distance / e) * (buckets - e)))
// Spec     t5_bias[:buckets=32,max_distance=128]
// Acts on  scores. Has no last position: past max_distance all distances share the last bucket.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

// bucket(0) .. bucket(max_distance); all farther ones are in the last.
std::vector<int64_t> make_buckets(int64_t buckets, int64_t max_distance) {
  const int64_t exact = buckets / 2;
  const double near = static_cast<double>(exact);
  const double decades = std::log(static_cast<double>(max_distance) / near);
  std::vector<int64_t> table;
  for (int64_t n = 0; n <= max_distance; ++n) {
    const double step = std::log(static_cast<double>(n) / near) / decades * static_cast<double>(buckets - exact);
    table.push_back(n < exact ? n : std::min(buckets - 1, exact + static_cast<int64_t>(std::floor(step))));
  }
  return table;
}

class T5Bias final : public PositionScheme {
 public:
  // `bias` is [buckets, n_heads].
  T5Bias(const std::vector<int64_t>& buckets, const std::vector<float>& bias, int64_t n_heads)
      : last_(static_cast<int64_t>(buckets.size()) - 1) {
    for (int64_t head = 0; head < n_heads; ++head)
      for (const int64_t bucket : buckets) by_distance_.push_back(bias[static_cast<size_t>(bucket * n_heads + head)]);
  }

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const float* bias = by_distance_.data() + site.head * (last_ + 1);
    for (size_t j = 0; j < scores.size(); ++j) scores[j] += bias[std::min(distance_back(site, j), last_)];
  }

 private:
  const int64_t last_;              // max_distance
  std::vector<float> by_distance_;  // [n_heads, max_distance + 1]
};

}  // namespace

SchemePtr make_t5_bias(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const int64_t buckets = params.whole("buckets", 32, 2, 1 << 16);
  const int64_t max_distance = params.whole("max_distance", 128, 1, 1 << 16);
  if (max_distance <= buckets / 2)
    params.refuse("max_distance", std::to_string(max_distance),
                  "more than half the buckets, " + std::to_string(buckets / 2));
  // Files made after GGUF keep the shared table with the first block.
  const bool in_block = tables.has("blk.0.attn_rel_b.weight") && !tables.has("attn_rel_b.weight");
  const SchemeTable bias = tables.read_one({in_block ? "blk.0.attn_rel_b.weight" : "attn_rel_b.weight",
                                            {buckets, shape.n_heads},
                                            falling_bias(shape.n_heads)});
  return std::make_unique<T5Bias>(make_buckets(buckets, max_distance), bias.values, shape.n_heads);
}

}  // namespace ordinal
