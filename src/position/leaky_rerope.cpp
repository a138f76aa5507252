// leaky_rerope: past a window distances go on growing, only more slowly: rerope that still tells far keys apart.
// Su, "ReRoPE", 2023 (kexue.fm/archives/9708), and his code.
//
//   distance(i, j) = i - j up to the window w, w + (i - j - w) / factor beyond
//   near (view 0): query at i, key at j; far (view 1): query at i / factor + w (1 - 1 / factor), key at j / factor
// Spec     rope:...;with=leaky_rerope[:window=(half the trained length),factor=16]
// Acts on  q and k in two views: the cache holds every key twice. Distances stay below the trained length L up to
//          w + factor (L - 1 - w) + 1 tokens.
#include <algorithm>
#include <cmath>

#include "position/modifier.h"

namespace ordinal {
namespace {

class LeakyReRope final : public FarKeys {
 public:
  LeakyReRope(const ParamReader& params, SharedScheme base, int64_t window, double factor)
      : FarKeys(params, std::move(base), window), factor_(factor) {}

 private:
  double query_place(int view, int64_t position) const override {
    const auto p = static_cast<double>(position), w = static_cast<double>(window());
    return view == 0 ? p : (p + w * (factor_ - 1)) / factor_;
  }
  double key_place(int view, int64_t position) const override {
    return static_cast<double>(position) / (view == 0 ? 1 : factor_);
  }

  const double factor_;
};

}  // namespace

SchemePtr make_with_leaky_rerope(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t trained = shape.trained_length, half = std::max<int64_t>(1, trained / 2);
  const int64_t window = params.whole("window", half, 1, int64_t{1} << 40);
  const double factor = params.at_least("factor", 1, 16);
  if (window < trained)
    params.remark(
        "context " + std::to_string(trained) + " -> " +
        number_text(static_cast<double>(window) + 1 + std::floor(factor * static_cast<double>(trained - 1 - window))));
  return std::make_unique<LeakyReRope>(params, std::move(base), window, factor);
}

}  // namespace ordinal
