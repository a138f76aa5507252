// attention.cpp: causal self-attention over the cache, and how keys and values come into it: for many query heads,
// grouped ones or a single key/value head.
// Vaswani et al. 2017, section 3.2 (arXiv:1706.03762); grouped heads: Ainslie et al. 2023 (arXiv:2305.13245).
//
// Attention is cut into tiles: up to 12 (row, query head) pairs that share a key/value head. A tile multiplies its
// queries with the key panels, softmaxes each row over the keys that row may see, and multiplies the weights with the
// value panels. A row's sum over values ends at its own last key: first the keys that all rows of the tile see, then,
// row by row, the sum goes on over the others; the order of a row's sum is the same as if it were alone.
#include <algorithm>

#include "kernels/kernels.h"
#include "model/forward.h"

namespace ordinal {
namespace {

constexpr int64_t kTile = Workspace::ThreadScratch::kTileRows;

// The pairs [first, last) of one part and key/value head; pair p is row p / group, query head p % group of the group.
struct Tile {
  const PassPart& part;
  int64_t layer, kv_head, first, last;
};

void attend_tile(const Tile& tile, Rows q, Rows mix, Workspace::ThreadScratch& scratch) {
  const PassPart& part = tile.part;
  const SessionState& session = *part.session;
  const ModelConfig& c = session.model->config();
  const KvCache& cache = session.cache;
  const Kernels& kernel = kernels();
  const auto product = kernel.product[static_cast<size_t>(cache.dtype())];
  const int64_t d = c.head_dim, group = c.n_heads / c.n_kv_heads, pairs = tile.last - tile.first;
  const auto row_of = [&](int64_t p) { return (tile.first + p) / group; };
  const auto head_of = [&](int64_t p) { return tile.kv_head * group + (tile.first + p) % group; };
  const auto keys_of = [&](int64_t p) { return part.past + row_of(p) + 1; };
  const int64_t fewest = keys_of(0), most = keys_of(pairs - 1);

  // q [pairs, d], scores [pairs, whole panels of keys], mix [pairs, whole panels of d]
  const int64_t scores_stride = scratch.make_room(d, session.options.capacity, most), mix_stride = whole_panels(d);
  for (int64_t p = 0; p < pairs; ++p)
    std::copy_n(q[part.first_row + row_of(p)].data() + head_of(p) * d, d, scratch.q.data() + p * d);

  product({.x = scratch.q.data(),
           .x_stride = d,
           .m = pairs,
           .panels = cache.keys(tile.layer, tile.kv_head),
           .panel_stride = cache.key_panel_bytes(),
           .n_panels = panels_of(most),
           .k = d,
           .y = scratch.scores.data(),
           .y_stride = scores_stride});

  const float scale = c.attention_scale[static_cast<size_t>(tile.layer)];
  const auto site_of = [&](int64_t p) {
    return AttentionSite{.layer = tile.layer,
                         .head = head_of(p),
                         .query_position = session.positions[static_cast<size_t>(keys_of(p) - 1)],
                         .key_positions = {session.positions.data(), static_cast<size_t>(keys_of(p))},
                         .scale = scale};
  };
  const auto tell = [&](std::string_view name, int64_t p, float* row) {
    if (session.options.observer)
      session.options.observer(
          {name, tile.layer, head_of(p), part.first_row + row_of(p), {row, 1, keys_of(p), keys_of(p)}});
  };
  for (int64_t p = 0; p < pairs; ++p) {
    float* scores = scratch.scores.data() + p * scores_stride;
    const int64_t keys = keys_of(p);
    kernel.scale(scores, scale, keys);
    session.scheme->add_to_scores(site_of(p), {scratch.q.data() + p * d, static_cast<size_t>(d)},
                                  {scores, static_cast<size_t>(keys)});
    tell("scores", p, scores);
    kernel.softmax(scores, keys);
    tell("weights", p, scores);
  }

  PanelProduct values{.x = scratch.scores.data(),
                      .x_stride = scores_stride,
                      .m = pairs,
                      .panels = cache.values(tile.layer, tile.kv_head),
                      .panel_stride = cache.value_panel_bytes(),
                      .n_panels = cache.value_panels(),
                      .k = fewest,
                      .y = scratch.mix.data(),
                      .y_stride = mix_stride};
  product(values);
  const PanelProduct shared = values;
  for (int64_t p = 0; p < pairs; ++p) {
    const int64_t keys = keys_of(p);
    float* out = scratch.mix.data() + p * mix_stride;
    if (keys > fewest) {
      values.x = shared.x + p * scores_stride + fewest;
      values.m = 1;
      values.panels = shared.panels + fewest * cache.row_bytes();
      values.k = keys - fewest;
      values.y = out;
      values.accumulate = true;
      product(values);
    }
    session.scheme->add_to_values(site_of(p), {scratch.scores.data() + p * scores_stride, static_cast<size_t>(keys)},
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
    // A panel of keys at a time, head by head: the tokens of a panel are neighbours in memory.
    const int64_t first_panel = part.past / kPanelLanes,
                  panels = (part.past + count - 1) / kPanelLanes - first_panel + 1;
    parallel_for(count < 8 ? 1 : parts.front().session->options.n_threads, panels, [&](int64_t panel, int) {
      const int64_t begin = (first_panel + panel) * kPanelLanes - part.past;
      const int64_t first = std::max<int64_t>(0, begin), last = std::min(count, begin + kPanelLanes);
      for (int64_t r = first, row = part.first_row + r; r < last; ++r, ++row)
        session.scheme->transform_query_key(layer, positions.subspan(static_cast<size_t>(r), 1), q.slice(row, 1),
                                            k.slice(row, 1));
      for (int64_t g = 0; g < c.n_kv_heads; ++g)
        for (int64_t r = first, row = part.first_row + r; r < last; ++r, ++row)
          session.cache.store(layer, g, part.past + r, k[row].data() + g * c.head_dim, v[row].data() + g * c.head_dim);
    });
  }
}

void attend(std::span<const PassPart> parts, int64_t layer, Rows q, Rows mix, Workspace& workspace) {
  const SessionState& lead = *parts.front().session;
  const ModelConfig& c = lead.model->config();
  const int64_t group = c.n_heads / c.n_kv_heads;
  const auto tiles_of = [&](const PassPart& part) {
    return (static_cast<int64_t>(part.tokens.size()) * group + kTile - 1) / kTile;
  };
  int64_t units = 0, work = 0;
  for (const PassPart& part : parts) {
    const int64_t rows = static_cast<int64_t>(part.tokens.size());
    units += tiles_of(part) * c.n_kv_heads;
    work += rows * (part.past + rows) * c.n_heads * c.head_dim * 2;
  }
  parallel_for(work < (1 << 17) ? 1 : lead.options.n_threads, units, [&](int64_t unit, int thread) {
    for (const PassPart& part : parts) {
      const int64_t tiles = tiles_of(part);
      if (unit >= tiles * c.n_kv_heads) {
        unit -= tiles * c.n_kv_heads;
        continue;
      }
      const int64_t first = unit % tiles * kTile, pairs = static_cast<int64_t>(part.tokens.size()) * group;
      return attend_tile({part, layer, unit / tiles, first, std::min(first + kTile, pairs)}, q, mix,
                         workspace.threads[static_cast<size_t>(thread)]);
    }
  });
}

}  // namespace ordinal
