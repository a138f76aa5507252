// dca: a text is cut into chunks; keys stand where they are in their chunk, and a query stands at one place for its own
// chunk, at another for the chunk before, and at a third for all others (Dual Chunk Attention).
// An et al., "Training-Free Long-Context Scaling of Large Language Models", 2024, section 3 (arXiv:2402.17463), and
// their code.
//
//   key at j mod s; query of position i, s: chunk, c: limit
//   same chunk (view 0): i mod s;  the chunk before (view 1): min(i mod s + s, c - 1);  earlier ones (view 2): c - 1
// So the first c - s queries of a chunk see the chunk before at true distances, and no distance exceeds c - 1. The
// authors' code, and vLLM's, caps at c in the last two, top=limit, and has chunk=2816,limit=3072 for a model of 4096.
// Spec     rope:...;with=dca[:chunk=(3/4 of the trained length),limit=(the trained length),top=limit-1|limit]
// Acts on  q in three views, k in one: the cache holds what it always does. Chunks are counted from position 0: it
//          counts where a text starts.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

class DualChunk final : public MovedKeys {
 public:
  DualChunk(const ParamReader& params, SharedScheme base, int64_t chunk, int64_t top)
      : MovedKeys(params, std::move(base), {.queries = 3, .keys = 1}), chunk_(chunk), top_(top) {}

  int key_runs(int64_t, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    const int64_t own = query_position / chunk_;
    int count = 0;
    const auto add = [&](int64_t end, int view) {
      runs[static_cast<size_t>(count++)] = {.end = end, .query = view, .key = 0};
    };
    if (own > 1) add((own - 1) * chunk_, 2);
    if (own > 0) add(own * chunk_, 1);
    add(kUnlimited, 0);
    return count;
  }

 private:
  double query_place(int view, int64_t position) const override {
    const int64_t here = position % chunk_;
    return static_cast<double>(view == 0 ? here : view == 1 ? std::min(here + chunk_, top_) : top_);
  }
  double key_place(int, int64_t position) const override { return static_cast<double>(position % chunk_); }

  const int64_t chunk_, top_;
};

}  // namespace

SchemePtr make_with_dca(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t trained = std::max<int64_t>(2, shape.trained_length);
  const int64_t chunk = params.whole("chunk", std::max<int64_t>(1, trained * 3 / 4), 1, int64_t{1} << 40);
  const int64_t limit = params.whole("limit", trained, 2, int64_t{1} << 40);
  const bool at_limit = params.choice("top", {"limit-1", "limit"}) == "limit";
  if (limit <= chunk) params.refuse("limit", std::to_string(limit), "more than the chunk, " + std::to_string(chunk));
  return std::make_unique<DualChunk>(params, std::move(base), chunk, at_limit ? limit : limit - 1);
}

}  // namespace ordinal
