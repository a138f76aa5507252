// lambda: a query sees a window of the newest keys and the first keys of the text, these all at the window's distance.
// Han et al., "LM-Infinite: Zero-Shot Extreme Length Generalization for Large Language Models", 2024, section 4
// (arXiv:2308.16137), and their code.
//
//   i - j < W: as SPEC has it;  i - j >= W: seen when j < G, at distance W whatever j is      G: first, W: window
// In two views: near (0); far (1), the query at W and the key at 0. The authors' optional choice of some keys between,
// by their scores, is left out.
// Spec     SPEC;with=lambda[:first=10,window=(the trained length)]
// Acts on  which keys are seen, and where SPEC sees the first ones stand. The cache holds every key twice, but of the
//          second, unturned copy only the first G are ever read.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

class Lambda final : public BothEnds {
 public:
  Lambda(SharedScheme base, int64_t first, int64_t window)
      : BothEnds(std::move(base)), first_(first), window_(window), starts_(static_cast<size_t>(first), 0) {}

  Views views() const override { return {.queries = 2, .keys = 2}; }

  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    if (view != 1) return;
    const Rows no_query{q.data, 1, 0, q.stride}, no_key{k.data, 1, 0, k.stride};
    const int64_t start = 0;
    for (size_t r = 0; r < positions.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      base().transform_query_key(layer, {&window_, 1}, q.slice(row, 1), no_key);
      base().transform_query_key(layer, {&start, 1}, no_query, k.slice(row, 1));
    }
  }

  int key_runs(int64_t, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    size_t count = 0;
    const int64_t near = query_position - window_ + 1;
    if (near > 0) {
      if (first_ > 0) runs[count++] = {.end = std::min(first_, near), .query = 1, .key = 1};
      if (near > first_) runs[count++] = {.end = near, .query = KeyRun::kUnseen, .key = 0};
    }
    runs[count++] = {.end = kUnlimited, .query = 0, .key = 0};
    return static_cast<int>(count);
  }

 private:
  std::optional<Ends> ends_of(int64_t query_position) const override {
    const int64_t near = query_position - window_ + 1;
    if (near <= 0) return std::nullopt;
    return Ends{.far_end = std::min(first_, near), .near_begin = near, .query_place = window_, .far_places = starts_};
  }

  const int64_t first_, window_;
  const std::vector<int64_t> starts_;  // [first]: 0, where the far keys stand
};

}  // namespace

SchemePtr make_with_lambda(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t first = params.whole("first", 10, 0, 1 << 20);
  const int64_t window = params.whole("window", std::max<int64_t>(1, shape.trained_length), 1, int64_t{1} << 40);
  refuse_views(params, *base);
  if (window >= base->max_positions())
    throw Error("lambda lets queries stand at its window's distance",
                "a window of fewer positions than the scheme has, " + std::to_string(base->max_positions()),
                "window=" + std::to_string(window));
  return std::make_unique<Lambda>(std::move(base), first, window);
}

}  // namespace ordinal
