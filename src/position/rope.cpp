// rope: pairs of channels of every query and key head are turned by an angle proportional to the position, so that a
// score depends on the distance of query and key only.
// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, section 3.2 (arXiv:2104.09864).
//
//   angle(p, i) = p * theta^(-2i/r)                  i = 0 .. r/2 - 1, r = rotary_dim; channels from r on pass through
//   (a, b) -> (a cos - b sin, a sin + b cos)
//   pairing=half: (a, b) = (x[i], x[i + r/2])         GPT-NeoX, Hugging Face's Llama
//   pairing=interleaved: (x[2i], x[2i + 1])           RoFormer, Meta's Llama, GPT-J
//   scaling=linear: angle(p / factor, i)              position interpolation, Chen et al. 2023 (arXiv:2306.15595)
// Spec     rope[:pairing=half|interleaved,theta=10000,rotary_dim=head_dim,scaling=none|linear,factor=1]
// Acts on  q and k. Needs no tensors; has no last position. Angles are computed in double.
#include <cmath>
#include <vector>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Rope final : public PositionScheme {
 public:
  Rope(std::vector<double> frequencies, bool interleaved, int64_t head_dim)
      : frequencies_(std::move(frequencies)), interleaved_(interleaved), head_dim_(head_dim) {}

  void transform_query_key(int64_t, Positions positions, Rows q, Rows k) const override {
    const size_t pairs = frequencies_.size();
    for (size_t r = 0; r < positions.size(); ++r) {
      const std::span<float> query = q[static_cast<int64_t>(r)], key = k[static_cast<int64_t>(r)];
      for (size_t i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(positions[r]) * frequencies_[i];
        const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
        turn(query, i, cosine, sine);
        turn(key, i, cosine, sine);
      }
    }
  }

 private:
  void turn(std::span<float> row, size_t pair, float cosine, float sine) const {
    const size_t first = interleaved_ ? 2 * pair : pair;
    const size_t second = interleaved_ ? 2 * pair + 1 : pair + frequencies_.size();
    for (size_t head = 0; head < row.size(); head += static_cast<size_t>(head_dim_)) {
      const float a = row[head + first], b = row[head + second];
      row[head + first] = a * cosine - b * sine;
      row[head + second] = a * sine + b * cosine;
    }
  }

  const std::vector<double> frequencies_;  // [rotary_dim / 2], radians per position
  const bool interleaved_;
  const int64_t head_dim_;
};

}  // namespace

SchemePtr make_rope(ParamReader& params, const AttentionShape& shape, const TensorLookup&) {
  const bool interleaved = params.choice("pairing", {"half", "interleaved"}) == "interleaved";
  const double theta = params.positive("theta", 10000);
  const int64_t rotary_dim = params.whole("rotary_dim", shape.head_dim, 2, shape.head_dim);
  const bool linear = params.choice("scaling", {"none", "linear"}) == "linear";
  const double factor = linear ? params.positive("factor", 1) : 1;
  if (theta <= 1) throw Error("rope needs a theta above 1", "theta > 1", "theta=" + std::to_string(theta));
  if (rotary_dim % 2 != 0)
    throw Error("rope turns channels in pairs", "an even rotary_dim", "rotary_dim " + std::to_string(rotary_dim),
                "rope:rotary_dim=" + std::to_string(rotary_dim - 1) + " (the last channel then passes through)");
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rotary_dim / 2; ++i)
    frequencies.push_back(std::pow(theta, -static_cast<double>(2 * i) / static_cast<double>(rotary_dim)) / factor);
  return std::make_unique<Rope>(std::move(frequencies), interleaved, shape.head_dim);
}

}  // namespace ordinal
