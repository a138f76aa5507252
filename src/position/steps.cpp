// steps: queries grow with the logarithm of their position, in steps of some thousand tokens.
// Llama 4's code (2025), in its layers without rope; Ministral 3's with first=0, every=16384.
//
//   q *= 1 + beta ln(1 + floor((p + first) / every))          p: the query's position from 0
// Spec     SPEC;with=steps[:beta=0.1,every=8192,first=1]      as a part of a longer one:
//          rope;layers=3,7:none;with=steps
// Acts on  q, after what SPEC does to it. Before the first step nothing changes, to the bit.
#include <cmath>

#include "position/modifier.h"

namespace ordinal {
namespace {

class Steps final : public ScaledQueries {
 public:
  Steps(SharedScheme base, double beta, int64_t every, int64_t first)
      : ScaledQueries(std::move(base)), beta_(beta), every_(every), first_(first) {}

 private:
  void scale(int64_t, int64_t position, std::span<float> query) const override {
    const int64_t step = (position + first_) / every_;
    if (step == 0) return;
    const auto factor = static_cast<float>(1 + beta_ * std::log1p(static_cast<double>(step)));
    for (float& number : query) number *= factor;
  }

  const double beta_;
  const int64_t every_, first_;
};

}  // namespace

SchemePtr make_with_steps(ParamReader& params, const AttentionShape&, TableReader&, SharedScheme base) {
  const double beta = params.positive("beta", 0.1);
  const int64_t every = params.whole("every", 8192, 1, int64_t{1} << 40);
  const int64_t first = params.whole("first", 1, 0, 1);
  return std::make_unique<Steps>(std::move(base), beta, every, first);
}

}  // namespace ordinal
