// alibi: each score loses a penalty that grows in proportion to the distance, at a slope of its own per head.
// Press, Smith, Lewis, "Train Short, Test Long", 2022, section 3 (arXiv:2108.12409), and its authors' code.
//
//   score(i, j) -= slope[h] * (i - j)      i, j: positions of query and key; h: query head, 0 .. H - 1
//   slope[h] = 2^(-max_bias (h + 1) / H)   for a power of two H; otherwise the slopes of the power of two below, then
//                                          the first, third, fifth ... slope of the power of two above
//   slopes=naive                           that formula for every H, as in faulty code: for the laboratory
//   scale                                  multiplies every slope (a model that adds the penalty before it scales
//   scores) rounding=bf16                          b(p) = round(round(slope) p) to bfloat16, and score -= scale (b(i) -
//   b(j)), as
//                                          models compute that were trained so
// Spec     alibi[:slopes=standard|naive,max_bias=8,scale=1,rounding=none|bf16]
// Acts on  scores. Needs no tensors; has no last position.
#include <bit>
#include <cmath>

#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

std::vector<float> make_slopes(int64_t n_heads, double max_bias, bool naive) {
  const int64_t below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n_heads)));
  const double first_lot = static_cast<double>(naive ? n_heads : below);
  std::vector<float> slopes;
  for (int64_t h = 0; h < n_heads; ++h) {
    const double step = naive || h < below ? static_cast<double>(h + 1) / first_lot
                                           : (static_cast<double>(h - below) + 0.5) / first_lot;
    slopes.push_back(static_cast<float>(std::exp2(-max_bias * step)));
  }
  return slopes;
}

float to_bf16_and_back(float value) {
  std::byte bytes[2];
  narrow(Dtype::bf16, {&value, 1}, bytes);
  widen(Dtype::bf16, bytes, 0, {&value, 1});
  return value;
}

class Alibi final : public PositionScheme {
 public:
  Alibi(std::vector<float> slopes, float scale, bool rounds)
      : slopes_(std::move(slopes)), scale_(scale), rounds_(rounds) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const float slope = slopes_[static_cast<size_t>(site.head)];
    if (!rounds_) {
      for (size_t j = 0; j < scores.size(); ++j)
        scores[j] -= slope * scale_ * static_cast<float>(distance_back(site, j));
      return;
    }
    const auto rounded = [step = to_bf16_and_back(slope)](int64_t position) {
      return to_bf16_and_back(step * static_cast<float>(position));
    };
    const float here = rounded(site.query_position);
    for (size_t j = 0; j < scores.size(); ++j) scores[j] -= scale_ * (here - rounded(site.key_positions[j]));
  }

 private:
  const std::vector<float> slopes_;  // [n_heads]
  const float scale_;
  const bool rounds_;
};

}  // namespace

SchemePtr make_alibi(ParamReader& params, const AttentionShape& shape, TableReader&) {
  const bool naive = params.choice("slopes", {"standard", "naive"}) == "naive";
  const double max_bias = params.positive("max_bias", 8);
  const auto scale = static_cast<float>(params.positive("scale", 1));
  const bool rounds = params.choice("rounding", {"none", "bf16"}) == "bf16";
  if (naive) params.remark("lab: naive slopes, which no checkpoint should have been trained with");
  std::vector<float> slopes = make_slopes(shape.n_heads, max_bias, naive);
  params.remark("slopes by head: " + joined(slopes, ", ", number_text));
  return std::make_unique<Alibi>(std::move(slopes), scale, rounds);
}

}  // namespace ordinal
