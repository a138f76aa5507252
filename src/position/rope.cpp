// rope: pairs of channels of every query and key head are turned by an angle proportional to the position, so that a
// score depends on the distance of query and key only.
// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, section 3.2 (arXiv:2104.09864).
//
//   angle(p, i) = p * theta^(-2i/r)                  i = 0 .. r/2 - 1, r = rotary_dim; channels from r on pass through
//   (a, b) -> (a cos - b sin, a sin + b cos)
//   pairing=half: (a, b) = (x[i], x[i + r/2])         GPT-NeoX, Hugging Face's Llama
//   pairing=interleaved: (x[2i], x[2i + 1])           RoFormer, Meta's Llama, GPT-J
//   fraction=f: of the r/2 pairs the first f r/2, rounded down, turn; the others do not (p-RoPE: Barbero et al. 2024,
//   arXiv:2410.06205, section 6). Not rotary_dim=f r: exponents and partners are those of all pairs
//   rope_freqs.weight [r/2], when the model has it: angle i is divided by its number i (as in GGUF)
// Spec     rope[:theta=10000,pairing=half|interleaved,rotary_dim=(head_dim),fraction=1,scaling=none|..., and what the
//          scaling has]. The scalings are in rope_scaling.cpp.
// Acts on  q and k. Has no last position. Angles are computed in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "position/rope_scaling.h"

namespace ordinal {
namespace {

constexpr size_t kMostKept = size_t{1} << 19;  // cosines in the table: 2 MB of them, and as many sines
constexpr size_t kAtOnce = 64;                 // pairs whose cosines are computed together past the table

class Rope final : public TurningScheme {
 public:
  Rope(RopeAngles angles, bool interleaved, const AttentionShape& shape)
      : angles_(std::move(angles)), interleaved_(interleaved), head_dim_(static_cast<size_t>(shape.head_dim)) {
    const size_t pairs = angles_.frequencies.size();
    kept_ = static_cast<int64_t>(std::min(static_cast<size_t>(shape.length), kMostKept / pairs));
    cosines_.resize(static_cast<size_t>(kept_) * pairs);
    sines_.resize(cosines_.size());
    for (int64_t p = 0; p < kept_; ++p) {
      const size_t at = static_cast<size_t>(p) * pairs;
      compute(static_cast<double>(p), 0, {cosines_.data() + at, pairs}, sines_.data() + at);
    }
  }

  void transform_query_key(int64_t, Positions positions, Rows q, Rows k) const override {
    for (size_t r = 0; r < positions.size(); ++r)
      turn_two(static_cast<double>(positions[r]), q[static_cast<int64_t>(r)], k[static_cast<int64_t>(r)]);
  }

  void turn(double position, std::span<float> heads) const override { turn_two(position, heads, {}); }

 private:
  // One row of q and one of k, or of either.
  void turn_two(double position, std::span<float> query, std::span<float> key) const {
    const size_t pairs = angles_.frequencies.size();
    const bool known = position < static_cast<double>(kept_) && position == std::floor(position);
    const size_t row = known ? static_cast<size_t>(position) * pairs : 0;
    std::array<float, kAtOnce> cosines, sines;
    for (size_t first = 0; first < pairs; first += kAtOnce) {
      const size_t count = std::min(kAtOnce, pairs - first);
      if (!known) compute(position, first, {cosines.data(), count}, sines.data());
      const std::span<const float> cosine{known ? cosines_.data() + row + first : cosines.data(), count};
      const float* sine = known ? sines_.data() + row + first : sines.data();
      turn_pairs(query, first, cosine, sine);
      turn_pairs(key, first, cosine, sine);
    }
  }

  // Cosines and sines of the pairs from `first` on, at one position.
  void compute(double p, size_t first, std::span<float> cosines, float* sines) const {
    for (size_t i = 0; i < cosines.size(); ++i) {
      const double angle = p * angles_.frequencies[first + i];
      cosines[i] = static_cast<float>(angles_.magnitude * std::cos(angle));
      sines[i] = static_cast<float>(angles_.magnitude * std::sin(angle));
    }
  }

  void turn_pairs(std::span<float> row, size_t first, std::span<const float> cosines, const float* sines) const {
    const size_t step = interleaved_ ? 2 : 1, apart = interleaved_ ? 1 : angles_.frequencies.size();
    for (size_t head = 0; head < row.size(); head += head_dim_) {
      float* x = row.data() + head + first * step;
      for (size_t i = 0; i < cosines.size(); ++i, x += step) {
        const float a = x[0], b = x[apart];
        x[0] = a * cosines[i] - b * sines[i];
        x[apart] = a * sines[i] + b * cosines[i];
      }
    }
  }

  const RopeAngles angles_;
  const bool interleaved_;
  const size_t head_dim_;
  int64_t kept_ = 0;                    // positions below this are in the table
  std::vector<float> cosines_, sines_;  // [kept, rotary_dim / 2]
};

}  // namespace

SchemePtr make_rope(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  RopeAngles angles;
  angles.theta = params.positive("theta", 10000);
  const bool interleaved = params.choice("pairing", {"half", "interleaved"}) == "interleaved";
  angles.rotary_dim = params.whole("rotary_dim", shape.head_dim, 2, shape.head_dim);
  const double fraction = rope_fraction(params);
  std::vector<std::string_view> names;
  for (const RopeScaling& scaling : rope_scaling_table()) names.push_back(scaling.info.name);
  const std::string name = params.choice("scaling", names);
  if (angles.theta <= 1) params.refuse("theta", number_text(angles.theta), "a number above 1");
  if (angles.rotary_dim % 2 != 0)
    throw Error("rope turns channels in pairs", "an even rotary_dim", "rotary_dim " + std::to_string(angles.rotary_dim),
                "rope:rotary_dim=" + std::to_string(angles.rotary_dim - 1) + " (the last channel then passes through)");
  angles.frequencies = rope_frequencies(angles.theta, angles.rotary_dim);

  const auto scaling = std::ranges::find_if(rope_scaling_table(), [&](const auto& s) { return s.info.name == name; });
  scaling->apply(angles, params, shape, tables);
  const std::vector<double> divisors = factors_of(
      tables.read_one(
          {.name = "rope_freqs.weight", .shape = {angles.rotary_dim / 2}, .made_up = {}, .is_optional = true}),
      params);
  for (size_t i = 0; i < divisors.size(); ++i) angles.frequencies[i] /= divisors[i];
  if (!divisors.empty()) params.remark("angles divided by rope_freqs.weight");
  keep_fraction(angles, fraction);
  if (fraction < 1)
    params.remark(
        std::to_string(static_cast<int64_t>(angles.frequencies.size()) - std::ranges::count(angles.frequencies, 0.0)) +
        " of " + std::to_string(angles.frequencies.size()) + " pairs turn");
  return std::make_unique<Rope>(std::move(angles), interleaved, shape);
}

}  // namespace ordinal
