// attention.cpp: causal self-attention over the cache, and how keys and values come into it: for many query heads,
// grouped ones or a single key/value head.
// Vaswani et al. 2017, section 3.2 (arXiv:1706.03762); grouped heads: Ainslie et al. 2023 (arXiv:2305.13245).
//
// Attention is cut into tiles: up to 12 (row, query head) pairs that share a key/value head. A tile multiplies its
// queries with the key panels, softmaxes each row over the keys that row may see, and multiplies the weights with the
// value panels. A row's sum over values ends at its own last key: first the keys that all rows of the tile see, then,
// row by row, the sum goes on over the others; the order of a row's sum is the same as if it were alone. In a layer
// with a window a row's first key is its own too, and what lies before it is never touched.
//
// Under a scheme with several views of queries and keys a row's scores come from as many products, each over the keys
// that some row of the tile sees so; a row takes from each what is its own, and a score is the same product as in any
// tile.
#include <algorithm>
#include <array>
#include <limits>

#include "kernels/kernels.h"
#include "model/forward.h"

namespace ordinal {
namespace {

constexpr int64_t kTile = Workspace::ThreadScratch::kTileRows;

// The pairs [first, last) of one part and key/value head; pair p is row p / group, query head p % group of the group:
// the heads [first_head, first_head + group) read that key/value head here, some of them elsewhere where ranks share
// it.
struct Tile {
  const PassPart& part;
  int64_t layer, kv_head, first_head, group, first, last;
};

// A row's keys by how it sees them; `end` counts places in the cache.
struct RowRuns {
  std::array<KeyRun, KeyRun::kMost> runs;
  int count = 0;

  // Calls visit(run, begin) for each that is not empty; the first begins at `first`.
  template <class Visit>
  void for_each(int64_t first, const Visit& visit) const {
    for (int i = 0; i < count; ++i) {
      const KeyRun& run = runs[static_cast<size_t>(i)];
      if (run.end > first) visit(run, first);
      first = std::max(first, run.end);
    }
  }
};

RowRuns runs_of(const SessionState& session, int64_t layer, int64_t end) {
  RowRuns row;
  const int64_t start = session.positions.front();
  row.count = session.scheme->key_runs(layer, session.positions[static_cast<size_t>(end - 1)], row.runs);
  for (KeyRun& run : row.runs) run.end = run.end >= start + end ? end : std::max<int64_t>(0, run.end - start);
  return row;
}

void attend_tile(const Tile& tile, Rows q, Rows mix, Workspace::ThreadScratch& scratch) {
  const PassPart& part = tile.part;
  const SessionState& session = *part.session;
  const ModelConfig& c = session.model->config();
  const KvCache& cache = session.cache;
  const Kernels& kernel = kernels();
  const auto product = kernel.product[static_cast<size_t>(cache.dtype())];
  const int64_t d = c.head_dim, pairs = tile.last - tile.first;
  const auto row_of = [&](int64_t p) { return (tile.first + p) / tile.group; };
  const auto head_of = [&](int64_t p) { return tile.first_head + (tile.first + p) % tile.group; };
  // Pair p sees the keys [first_key(p), end_of(p)); all pairs see [common, fewest) if that is not empty.
  const int64_t window = c.window_of(tile.layer);
  const auto end_of = [&](int64_t p) { return part.past + row_of(p) + 1; };
  const auto first_key = [&](int64_t p) { return window == 0 ? 0 : std::max<int64_t>(0, end_of(p) - window); };
  const int64_t fewest = end_of(0), most = end_of(pairs - 1), common = std::min(first_key(pairs - 1), fewest);

  // q [views, pairs, d], scores [pairs, whole panels of keys], mix [pairs, whole panels of d]
  const Views views = session.scheme->views();
  const int64_t scores_stride = scratch.make_room(d, session.options.capacity, most, views),
                mix_stride = whole_panels(d);
  const int64_t q_stride = whole_panels(c.n_heads * d);  // from one view of a row to the next
  for (int64_t view = 0; view < views.queries; ++view)
    for (int64_t p = 0; p < pairs; ++p)
      std::copy_n(q[part.first_row + row_of(p)].data() + view * q_stride + head_of(p) * d, d,
                  scratch.q.data() + (view * pairs + p) * d);

  // Scores of all pairs over whole panels of keys, from the one that holds key `begin` to the one before key `end`.
  const auto score = [&](int64_t query, int64_t key, int64_t begin, int64_t end, std::vector<float>& scores) {
    const int64_t first = begin / kPanelLanes;
    product({.x = scratch.q.data() + query * pairs * d,
             .x_stride = d,
             .m = pairs,
             .panels = cache.keys(tile.layer, tile.kv_head, key) + first * cache.key_panel_bytes(),
             .panel_stride = cache.key_panel_bytes(),
             .n_panels = panels_of(end) - first,
             .k = d,
             .y = scores.data() + first * kPanelLanes,
             .y_stride = scores_stride});
  };
  std::array<RowRuns, kTile> rows;
  if (!views.several()) {
    score(0, 0, first_key(0), most, scratch.scores);
  } else {
    for (int64_t p = 0; p < pairs; ++p) rows[static_cast<size_t>(p)] = runs_of(session, tile.layer, end_of(p));
    for (int query = 0; query < views.queries; ++query)
      for (int key = 0; key < views.keys; ++key) {
        const auto for_own_runs = [&](const auto& visit) {  // of this pair of views: visit(p, begin, end)
          for (int64_t p = 0; p < pairs; ++p)
            rows[static_cast<size_t>(p)].for_each(first_key(p), [&](const KeyRun& run, int64_t begin) {
              if (run.query == query && run.key == key) visit(p, begin, run.end);
            });
        };
        int64_t begin = most, end = 0;
        for_own_runs([&](int64_t, int64_t first, int64_t last) {
          begin = std::min(begin, first);
          end = std::max(end, last);
        });
        if (begin >= end) continue;
        score(query, key, begin, end, scratch.view);
        for_own_runs([&](int64_t p, int64_t first, int64_t last) {
          std::copy_n(scratch.view.data() + p * scores_stride + first, last - first,
                      scratch.scores.data() + p * scores_stride + first);
        });
      }
  }
  // What pair p does not see, in scores [first_key(p), end_of(p)).
  const auto hide_unseen = [&](int64_t p, float* row) {
    rows[static_cast<size_t>(p)].for_each(first_key(p), [&](const KeyRun& run, int64_t begin) {
      if (run.query == KeyRun::kUnseen) std::fill(row + begin, row + run.end, -std::numeric_limits<float>::infinity());
    });
  };

  const float scale = c.attention_scale[static_cast<size_t>(tile.layer)];
  const auto site_of = [&](int64_t p) {
    return AttentionSite{
        .layer = tile.layer,
        .head = head_of(p),
        .query_position = session.positions[static_cast<size_t>(end_of(p) - 1)],
        .key_positions = std::span(session.positions)
                             .subspan(static_cast<size_t>(first_key(p)), static_cast<size_t>(end_of(p) - first_key(p))),
        .scale = scale};
  };
  // An observer sees all keys up to the row's own; those out of the window, with `outside`.
  const auto tell = [&](std::string_view name, int64_t p, float* row, float outside) {
    if (!session.options.observer) return;
    std::fill_n(row, first_key(p), outside);
    session.options.observer(
        {name, tile.layer, head_of(p), part.first_row + row_of(p), {row, 1, end_of(p), end_of(p)}});
  };
  for (int64_t p = 0; p < pairs; ++p) {
    float* row = scratch.scores.data() + p * scores_stride;
    float* scores = row + first_key(p);
    const int64_t keys = end_of(p) - first_key(p);
    kernel.scale(scores, scale, keys);
    if (c.attention_softcap > 0) kernel.soft_cap(scores, c.attention_softcap, keys);
    if (views.several()) hide_unseen(p, row);
    session.scheme->add_to_scores(site_of(p), {scratch.q.data() + p * d, static_cast<size_t>(d)},
                                  {scores, static_cast<size_t>(keys)});
    tell("scores", p, row, -std::numeric_limits<float>::infinity());
    kernel.softmax(scores, keys);
    tell("weights", p, row, 0.0f);
  }

  // Adds the values of keys [begin, end), weighted, for `count` pairs from `p` on.
  const auto sum_values = [&](int64_t p, int64_t count, int64_t begin, int64_t end, bool goes_on) {
    if (begin >= end) return;
    product({.x = scratch.scores.data() + p * scores_stride + begin,
             .x_stride = scores_stride,
             .m = count,
             .panels = cache.values(tile.layer, tile.kv_head) + begin * cache.row_bytes(),
             .panel_stride = cache.value_panel_bytes(),
             .n_panels = cache.value_panels(),
             .k = end - begin,
             .y = scratch.mix.data() + p * mix_stride,
             .y_stride = mix_stride,
             .accumulate = goes_on});
  };
  const bool have_own_start = first_key(0) < common;
  for (int64_t p = 0; have_own_start && p < pairs; ++p) {
    std::fill_n(scratch.mix.data() + p * mix_stride, mix_stride, 0.0f);
    sum_values(p, 1, first_key(p), std::min(common, end_of(p)), true);
  }
  sum_values(0, pairs, common, fewest, have_own_start);
  for (int64_t p = 0; p < pairs; ++p) {
    const int64_t first = first_key(p), end = end_of(p);
    float* out = scratch.mix.data() + p * mix_stride;
    sum_values(p, 1, std::max(first, fewest), end, common < fewest || have_own_start);
    session.scheme->add_to_values(site_of(p),
                                  {scratch.scores.data() + p * scores_stride + first, static_cast<size_t>(end - first)},
                                  {out, static_cast<size_t>(d)});
    std::copy_n(out, d, mix[part.first_row + row_of(p)].data() + head_of(p) * d);
  }
}

}  // namespace

void turn_and_store(std::span<const PassPart> parts, int64_t layer, Rows q, Rows k, Rows v) {
  for (const PassPart& part : parts) {
    SessionState& session = *part.session;
    const ModelConfig& c = session.model->config();
    const Positions positions(session.positions.data() + part.past, part.tokens.size());
    const int64_t count = static_cast<int64_t>(part.tokens.size());
    const Views views = session.scheme->views();
    const auto view_of = [](Rows rows, int64_t row, int view, bool wanted) {
      return Rows{rows.data + row * rows.stride + view * whole_panels(rows.cols), 1, wanted ? rows.cols : 0,
                  rows.stride};
    };
    // A panel of keys at a time, head by head: the tokens of a panel are neighbours in memory.
    const int64_t first_panel = part.past / kPanelLanes,
                  panels = (part.past + count - 1) / kPanelLanes - first_panel + 1;
    parallel_for(count < 8 ? 1 : parts.front().session->options.n_threads, panels, [&](int64_t panel, int) {
      const int64_t begin = (first_panel + panel) * kPanelLanes - part.past;
      const int64_t first = std::max<int64_t>(0, begin), last = std::min(count, begin + kPanelLanes);
      for (int64_t r = first, row = part.first_row + r; r < last; ++r, ++row) {
        const Positions position = positions.subspan(static_cast<size_t>(r), 1);
        for (int view = 1; view < std::max(views.queries, views.keys); ++view) {
          const Rows query = view_of(q, row, view, view < views.queries),
                     key = view_of(k, row, view, view < views.keys);
          std::copy_n(q[row].begin(), query.cols, query.data);
          std::copy_n(k[row].begin(), key.cols, key.data);
          session.scheme->transform_view(layer, view, position, query, key);
        }
        session.scheme->transform_query_key(layer, position, q.slice(row, 1), k.slice(row, 1));
      }
      for (int64_t g = session.heads.kv.first; g < session.heads.kv.last; ++g)
        for (int64_t r = first, row = part.first_row + r; r < last; ++r, ++row) {
          session.cache.store(layer, g, part.past + r, k[row].data() + g * c.head_dim, v[row].data() + g * c.head_dim);
          for (int view = 1; view < views.keys; ++view)
            session.cache.store_view(layer, g, view, part.past + r, view_of(k, row, view, true).data + g * c.head_dim);
        }
    });
  }
}

void attend(std::span<const PassPart> parts, int64_t layer, Rows q, Rows mix, Workspace& workspace) {
  const SessionState& lead = *parts.front().session;
  const ModelConfig& c = lead.model->config();
  // Calls visit(part, kv_head, query heads that read it, pairs) for what the sessions attend with.
  const auto for_each_head = [&](const auto& visit) {
    const int64_t group = c.n_heads / c.n_kv_heads;
    for (const PassPart& part : parts) {
      const Heads& own = part.session->heads;
      for (int64_t g = own.kv.first; g < own.kv.last; ++g) {
        const Extent heads = {std::max(own.query.first, g * group), std::min(own.query.last, (g + 1) * group)};
        if (visit(part, g, heads, static_cast<int64_t>(part.tokens.size()) * heads.count())) return;
      }
    }
  };
  int64_t units = 0, work = 0;
  for_each_head([&](const PassPart& part, int64_t, Extent, int64_t pairs) {
    units += (pairs + kTile - 1) / kTile;
    const int64_t window = c.window_of(layer), keys = part.past + static_cast<int64_t>(part.tokens.size());
    work += pairs * (window == 0 ? keys : std::min(keys, window)) * c.head_dim * 2;
    return false;
  });
  parallel_for(work < (1 << 17) ? 1 : lead.options.n_threads, units, [&](int64_t unit, int thread) {
    for_each_head([&](const PassPart& part, int64_t kv_head, Extent heads, int64_t pairs) {
      const int64_t tiles = (pairs + kTile - 1) / kTile, first = unit * kTile;
      const bool here = unit < tiles;
      if (here)
        attend_tile({part, layer, kv_head, heads.first, heads.count(), first, std::min(first + kTile, pairs)}, q, mix,
                    workspace.threads[static_cast<size_t>(thread)]);
      unit -= tiles;
      return here;
    });
  });
}

}  // namespace ordinal
