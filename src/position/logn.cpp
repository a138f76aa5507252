// logn: past the trained length every query grows with the logarithm of its position, so that attention stays as sharp
// as it was while the keys get more.
// Su, "log n scaling", 2021 (kexue.fm/archives/8823); the code of Qwen 1 and of ReRoPE.
//
//   q *= max(1, ln(p + 1) / ln L)          p: the query's position from 0; L: length
// Spec     SPEC;with=logn[:length=(trained length)]
// Acts on  q, after what SPEC does to it. Below L nothing changes, to the bit.
#include <cmath>

#include "position/modifier.h"

namespace ordinal {
namespace {

class LogN final : public ScaledQueries {
 public:
  LogN(SharedScheme base, int64_t length) : ScaledQueries(std::move(base)), length_(length) {}

 private:
  void scale(int64_t, int64_t position, std::span<float> query) const override {
    if (position < length_) return;
    const auto factor =
        static_cast<float>(std::log(static_cast<double>(position) + 1) / std::log(static_cast<double>(length_)));
    for (float& number : query) number *= factor;
  }

  const int64_t length_;
};

}  // namespace

SchemePtr make_with_logn(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t length = params.whole("length", std::max<int64_t>(2, shape.trained_length), 2, int64_t{1} << 40);
  return std::make_unique<LogN>(std::move(base), length);
}

}  // namespace ordinal
