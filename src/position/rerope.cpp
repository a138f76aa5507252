// rerope: keys up to a window back stand where rope puts them; all farther ones stand at the window's edge, so no
// distance is larger than those that a model was trained on.
// Su, "ReRoPE", 2023 (kexue.fm/archives/9708), and his code.
//
//   distance(i, j) = min(i - j, window)
//   near (view 0): query at i, key at j; far (view 1): query at `window`, key at 0
// His code also scales queries with length=4096: rope;with=rerope:window=512;with=logn:length=4096.
// Spec     rope:...;with=rerope[:window=(half the trained length)]
// Acts on  q and k in two views: the cache holds every key twice. For texts of any length.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

class ReRope final : public FarKeys {
 public:
  ReRope(const ParamReader& params, SharedScheme base, int64_t window) : FarKeys(params, std::move(base), window) {}

 private:
  double query_place(int view, int64_t position) const override {
    return static_cast<double>(view == 0 ? position : window());
  }
  double key_place(int view, int64_t position) const override { return view == 0 ? static_cast<double>(position) : 0; }
};

}  // namespace

SchemePtr make_with_rerope(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t half = std::max<int64_t>(1, shape.trained_length / 2);
  const int64_t window = params.whole("window", half, 1, int64_t{1} << 40);
  return std::make_unique<ReRope>(params, std::move(base), window);
}

}  // namespace ordinal
