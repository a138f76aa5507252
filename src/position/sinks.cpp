// sinks: a query sees the first keys of the text and a window of the newest, nothing between, and positions are counted
// among what it sees.
// Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023, section 3 (arXiv:2309.17453), and
// their code.
//
//   key j seen by query i when j < S or i - j < W            S: first, W: window, the query itself counted
//   positions as in a cache of S + W keys: sinks stand at j, the query at min(i, S + W - 1); near distances are true
// In two views of q: near (0) and, once keys are left out, for the sinks (1). Keys are scored as they were cached; what
// no row of a tile sees is never multiplied. It keeps a model going; it does not lengthen its memory.
// Spec     SPEC;with=sinks[:first=4,window=512]
// Acts on  which keys are seen, and where SPEC sees the sinks stand.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

class Sinks final : public BothEnds {
 public:
  Sinks(SharedScheme base, int64_t first, int64_t window) : BothEnds(std::move(base)), first_(first), window_(window) {}

  Views views() const override { return {.queries = 2, .keys = 1}; }

  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    if (view != 1) return;
    for (size_t r = 0; r < positions.size(); ++r) {
      const int64_t place = std::min(positions[r], first_ + window_ - 1), row = static_cast<int64_t>(r);
      base().transform_query_key(layer, {&place, 1}, q.slice(row, 1), k.slice(row, 1));
    }
  }

  int key_runs(int64_t, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    size_t count = 0;
    if (cuts(query_position)) {
      if (first_ > 0) runs[count++] = {.end = first_, .query = 1, .key = 0};
      runs[count++] = {.end = query_position - window_ + 1, .query = KeyRun::kUnseen, .key = 0};
    }
    runs[count++] = {.end = kUnlimited, .query = 0, .key = 0};
    return static_cast<int>(count);
  }

 private:
  bool cuts(int64_t query_position) const { return query_position >= first_ + window_; }

  std::optional<Ends> ends_of(int64_t query_position) const override {
    if (!cuts(query_position)) return std::nullopt;
    return Ends{.far_end = first_,
                .near_begin = query_position - window_ + 1,
                .query_place = first_ + window_ - 1,
                .far_places = {}};
  }

  const int64_t first_, window_;
};

}  // namespace

SchemePtr make_with_sinks(ParamReader& params, const AttentionShape&, TableReader&, SharedScheme base) {
  const int64_t first = params.whole("first", 4, 0, 1 << 20);
  const int64_t window = params.whole("window", 512, 1, int64_t{1} << 40);
  refuse_views(params, *base);
  return std::make_unique<Sinks>(std::move(base), first, window);
}

}  // namespace ordinal
