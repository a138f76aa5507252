// sinusoidal: sines and cosines of the position at geometrically falling frequencies, added to the embedding.
// Vaswani et al., "Attention Is All You Need", 2017, section 3.5 (arXiv:1706.03762).
//
//   w[i] = base^(-2i/d)                i = 0 .. d/2 - 1, d = d_model; spacing=t2t: base^(-i/(d/2 - 1)) as tensor2tensor
//   x[p] += scale * (sin((p + first) w[0]), cos((p + first) w[0]), sin((p + first) w[1]), ...)
//   layout=concat puts all sines first, then all cosines (tensor2tensor, fairseq, Marian)
// Spec     sinusoidal[:layout=interleaved|concat,base=10000,spacing=paper|t2t,scale=1,first=0]
// Acts on  the embedding. Needs no tensors; has no last position.
#include <cmath>
#include <vector>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Sinusoidal final : public PositionScheme {
 public:
  Sinusoidal(std::vector<double> frequencies, bool concatenated, double scale, double first)
      : frequencies_(std::move(frequencies)), concatenated_(concatenated), scale_(scale), first_(first) {}

  void add_to_embedding(Positions positions, Rows x) const override {
    const size_t pairs = frequencies_.size();
    for (int64_t r = 0; r < x.rows; ++r) {
      const double p = static_cast<double>(positions[static_cast<size_t>(r)]) + first_;
      const std::span<float> row = x[r];
      for (size_t i = 0; i < pairs; ++i) {
        const double angle = p * frequencies_[i];
        row[concatenated_ ? i : 2 * i] += static_cast<float>(scale_ * std::sin(angle));
        row[concatenated_ ? pairs + i : 2 * i + 1] += static_cast<float>(scale_ * std::cos(angle));
      }
    }
  }

 private:
  const std::vector<double> frequencies_;  // [d_model / 2], radians per position
  const bool concatenated_;
  const double scale_, first_;
};

}  // namespace

SchemePtr make_sinusoidal(ParamReader& params, const AttentionShape& shape, TableReader&) {
  const bool concatenated = params.choice("layout", {"interleaved", "concat"}) == "concat";
  const double base = params.positive("base", 10000);
  const bool t2t = params.choice("spacing", {"paper", "t2t"}) == "t2t";
  const double scale = params.number("scale", 1);
  const int64_t first = params.whole("first", 0, 0, 1 << 20);
  if (base <= 1) params.refuse("base", number_text(base), "a number above 1");
  if (shape.d_model % 2 != 0 || (t2t && shape.d_model < 4))
    throw Error("sinusoidal positions come in pairs of a sine and a cosine",
                t2t ? "an even d_model of 4 or more" : "an even d_model", "d_model " + std::to_string(shape.d_model));
  const int64_t pairs = shape.d_model / 2;
  std::vector<double> frequencies;
  for (int64_t i = 0; i < pairs; ++i) {
    const double exponent = t2t ? static_cast<double>(i) / static_cast<double>(pairs - 1)
                                : static_cast<double>(2 * i) / static_cast<double>(shape.d_model);
    frequencies.push_back(std::pow(base, -exponent));
  }
  return std::make_unique<Sinusoidal>(std::move(frequencies), concatenated, scale, static_cast<double>(first));
}

}  // namespace ordinal
