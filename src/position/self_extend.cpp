// self_extend: keys up to a window back stand where rope puts them; farther back, neighbours of a group share a
// position.
// Jin et al., "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning", 2024, section 3 (arXiv:2401.01325),
// and their code.
//
//   near (view 0): query at i, key at j; far (view 1): query at floor(i/G) + W - floor(W/G), key at floor(j/G)
//   W: window, G: group. At the window's edge the distance is W, or W + 1 where a group ends there, and never falls.
// Their prefill divides W / G as a real number where their decoding rounds it down; both are the same when G divides W,
// and here it is always rounded down.
// Spec     rope:...;with=self_extend[:window=(a quarter of the trained length),group=4]
// Acts on  q and k in two views: the cache holds every key twice. Distances stay below the trained length L up to
//          W + G (L - W) tokens where G divides W. Groups are counted from position 0: it counts where a text starts.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

class SelfExtend final : public FarKeys {
 public:
  SelfExtend(const ParamReader& params, SharedScheme base, int64_t window, int64_t group)
      : FarKeys(params, std::move(base), window), group_(group) {}

 private:
  double query_place(int view, int64_t position) const override {
    return static_cast<double>(view == 0 ? position : position / group_ + window() - window() / group_);
  }
  double key_place(int view, int64_t position) const override {
    return static_cast<double>(view == 0 ? position : position / group_);
  }

  const int64_t group_;
};

}  // namespace

SchemePtr make_with_self_extend(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t trained = shape.trained_length;
  const int64_t window = params.whole("window", std::max<int64_t>(1, trained / 4), 1, int64_t{1} << 40);
  const int64_t group = params.whole("group", 4, 1, 1 << 20);
  if (window % group != 0)
    params.remark("group " + std::to_string(group) + " does not divide window " + std::to_string(window) +
                  ": the authors' prefill and decoding differ there");
  else if (window < trained)
    params.remark("context " + std::to_string(trained) + " -> " + std::to_string(window + group * (trained - window)));
  return std::make_unique<SelfExtend>(params, std::move(base), window, group);
}

}  // namespace ordinal
