// normalized: the position as a fraction of the text, added to every channel. A scheme for the laboratory: the second
// idea everyone has.
//
//   x[p] += p / n                         n = length: the same position is another number in a text of another length
// What all channels share is the mean that LayerNorm takes away, so models with it do not notice; those with RMSNorm
// do. Were n to follow the growing text, every earlier position would change with it and no cached key would be right.
// Spec     normalized[:length=(of the session)]
// Acts on  the embedding. Needs no tensors; its last position is length - 1.
#include "position/scheme.h"

namespace ordinal {
namespace {

class Normalized final : public PositionScheme {
 public:
  explicit Normalized(int64_t length) : length_(length) {}

  int64_t max_positions() const override { return length_; }
  LimitNote limit_note() const override {
    return {"positions are fractions of length " + std::to_string(length_), "normalized with a larger length"};
  }

  void add_to_embedding(Positions positions, Rows x) const override {
    for (int64_t r = 0; r < x.rows; ++r) {
      const double p = static_cast<double>(positions[static_cast<size_t>(r)]);
      const float fraction = static_cast<float>(p / static_cast<double>(length_));
      for (float& value : x[r]) value += fraction;
    }
  }

 private:
  const int64_t length_;
};

}  // namespace

SchemePtr make_normalized(ParamReader& params, const AttentionShape& shape, TableReader&) {
  const int64_t length = params.session_whole("length", shape.length, 1, int64_t{1} << 40);
  params.remark("lab: the step from one position to the next depends on the length, here 1/" + std::to_string(length));
  return std::make_unique<Normalized>(length);
}

}  // namespace ordinal
