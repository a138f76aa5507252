// xpos: rope, and every pair of a query grows with its position while that of a key shrinks by as much, so that scores
// fall with the distance, fast pairs sooner than slow ones.
// Sun et al., "A Length-Extrapolatable Transformer", 2022, section 3.2 (arXiv:2212.10554), and its authors' torchscale.
//
//   z[m] = (2m/D + gamma) / (1 + gamma)                              m = 0 .. D/2 - 1, D = head_dim
//   q: rope's turn, then pair m times z[m]^((p - c) / base); k: the same with the exponent's sign turned
//   so score(i, j) = sum over m of z[m]^((i - j) / base) times rope's part: c, the centre, drops out
// The factors explode far from c: keys grow up to 1 / z[0]^((p - c) / base), and the last position is where that would
// come near what a float holds. c=auto is half of the session's length, so that they part evenly.
// Spec     xpos[:theta=10000,pairing=interleaved|half,gamma=0.4,base=512,center=auto]
// Acts on  q and k. Needs no tensors. Angles and factors are computed in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "position/rope_scaling.h"

namespace ordinal {
namespace {

constexpr double kMostGrowth = 0x1p100;           // of a key: with room for its own size within a float
constexpr size_t kMostFactors = size_t{1} << 19;  // kept of each of the four kinds: 2 MB

struct XposShape {
  std::vector<double> frequencies, decays;  // [head_dim / 2]: radians, and z, per position
  double base = 512;
  int64_t center = 0, end = 0;  // end: one past the last position
  bool interleaved = true;
};

class Xpos final : public PositionScheme {
 public:
  Xpos(XposShape shape, int64_t length) : shape_(std::move(shape)) {
    const size_t pairs = shape_.frequencies.size();
    kept_ = std::min(length, static_cast<int64_t>(kMostFactors / pairs));
    factors_.resize(static_cast<size_t>(kept_) * pairs);
    for (size_t at = 0; at < factors_.size(); ++at)
      factors_[at] = factors(static_cast<int64_t>(at / pairs), at % pairs);
  }

  int64_t max_positions() const override { return shape_.end; }
  LimitNote limit_note() const override {
    return {"past it the keys of xpos are too large for a float", "a larger base, or center=auto"};
  }

  void transform_query_key(int64_t, Positions positions, Rows q, Rows k) const override {
    const size_t pairs = shape_.frequencies.size();
    for (size_t r = 0; r < positions.size(); ++r)
      for (size_t m = 0; m < pairs; ++m) {
        const int64_t p = positions[r];
        const Factors f = p < kept_ ? factors_[static_cast<size_t>(p) * pairs + m] : factors(p, m);
        turn(q[static_cast<int64_t>(r)], m, f.query_cosine, f.query_sine);
        turn(k[static_cast<int64_t>(r)], m, f.key_cosine, f.key_sine);
      }
  }

 private:
  struct Factors {
    float query_cosine, query_sine, key_cosine, key_sine;
  };

  Factors factors(int64_t p, size_t m) const {
    const double angle = static_cast<double>(p) * shape_.frequencies[m];
    const double growth = std::pow(shape_.decays[m], static_cast<double>(p - shape_.center) / shape_.base);
    const double cosine = std::cos(angle), sine = std::sin(angle);
    return {static_cast<float>(growth * cosine), static_cast<float>(growth * sine), static_cast<float>(cosine / growth),
            static_cast<float>(sine / growth)};
  }

  // Pair m of every head.
  void turn(std::span<float> row, size_t m, float cosine, float sine) const {
    const size_t pairs = shape_.frequencies.size();
    const size_t step = shape_.interleaved ? 2 : 1, apart = shape_.interleaved ? 1 : pairs;
    for (size_t head = m * step; head < row.size(); head += 2 * pairs) {
      const float a = row[head], b = row[head + apart];
      row[head] = a * cosine - b * sine;
      row[head + apart] = a * sine + b * cosine;
    }
  }

  const XposShape shape_;
  int64_t kept_ = 0;              // positions below this are in the table
  std::vector<Factors> factors_;  // [kept, head_dim / 2]
};

}  // namespace

SchemePtr make_xpos(ParamReader& params, const AttentionShape& shape, TableReader&) {
  XposShape made;
  const double theta = params.positive("theta", 10000);
  made.interleaved = params.choice("pairing", {"interleaved", "half"}) == "interleaved";
  const double gamma = params.positive("gamma", 0.4);
  made.base = params.positive("base", 512);
  const std::optional<int64_t> center = params.whole_or("center", "auto", 0, int64_t{1} << 40);
  made.center = center.value_or(shape.length / 2);
  if (shape.head_dim % 2 != 0)
    throw Error("xpos turns channels in pairs", "an even head_dim", "head_dim " + std::to_string(shape.head_dim));
  made.frequencies = rope_frequencies(theta, shape.head_dim);
  for (int64_t m = 0; m < shape.head_dim / 2; ++m)
    made.decays.push_back((2.0 * static_cast<double>(m) / static_cast<double>(shape.head_dim) + gamma) / (1 + gamma));

  const double rate = -std::log(made.decays.front()) / made.base;  // of the fastest pair, per position
  const auto reach = static_cast<int64_t>(std::min(std::log(kMostGrowth) / rate, 0x1p40));
  made.end = (center ? *center : reach) + reach;
  const double growth = std::exp(rate * static_cast<double>(std::max(shape.length - made.center, made.center)));
  params.remark("keys grow up to " + number_text(std::floor(growth)) +
                " times: an f16 cache holds numbers up to 65504");
  return std::make_unique<Xpos>(std::move(made), shape.length);
}

}  // namespace ordinal
