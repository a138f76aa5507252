// agreement.cpp: whether two schemes do the same to a model, found by trying their hooks on made-up numbers.
//
// Reports need to know it before anything runs: a scheme that agrees with the trained one below the trained length is
// as good as trained there, whatever it is called (rope and rope:scaling=dynamic; learned and learned:beyond=wrap).
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "position/scheme.h"

namespace ordinal {
namespace {

// Numbers without a pattern, the same in every call.
std::vector<float> made_up(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int64_t>(seed >> 40) - (1 << 23)) * 0x1p-22f;
  }
  return values;
}

std::vector<float> row_of(size_t width, uint64_t seed, bool wanted) {
  return wanted ? made_up(width, seed) : std::vector<float>{};
}

Rows rows_in(std::vector<float>& row) {
  const auto width = static_cast<int64_t>(row.size());
  return {row.data(), 1, width, width};
}

// q and k of one position in one view.
struct Turned {
  std::vector<float> q, k;
};
Turned turned(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer, int64_t position, int view) {
  const Views views = scheme.views();
  Turned t{row_of(static_cast<size_t>(shape.n_heads * shape.head_dim), 2, view < views.queries),
           row_of(static_cast<size_t>(shape.n_kv_heads * shape.head_dim), 3, view < views.keys)};
  if (view == 0)
    scheme.transform_query_key(layer, {&position, 1}, rows_in(t.q), rows_in(t.k));
  else
    scheme.transform_view(layer, view, {&position, 1}, rows_in(t.q), rows_in(t.k));
  return t;
}

// Products of the last position's query with all keys, each in the view that its run has, of the first heads.
std::vector<float> products(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                            const std::vector<int64_t>& keys) {
  std::array<KeyRun, KeyRun::kMost> runs;
  const int count = scheme.key_runs(layer, keys.back(), runs);
  std::vector<float> all;
  int run = 0;
  for (const int64_t key : keys) {
    while (run + 1 < count && key >= runs[static_cast<size_t>(run)].end) ++run;
    const KeyRun& seen = runs[static_cast<size_t>(run)];
    float sum = seen.query == KeyRun::kUnseen ? -std::numeric_limits<float>::infinity() : 0.0f;
    if (seen.query != KeyRun::kUnseen) {
      const std::vector<float> q = turned(scheme, shape, layer, keys.back(), seen.query).q;
      const std::vector<float> k = turned(scheme, shape, layer, key, seen.key).k;
      for (int64_t c = 0; c < shape.head_dim; ++c) sum += q[static_cast<size_t>(c)] * k[static_cast<size_t>(c)];
    }
    all.push_back(sum);
  }
  return all;
}

// Everything that the hooks leave behind at one position, layer by layer and head by head; with several views in play,
// what these come to.
std::vector<float> traces(const PositionScheme& scheme, const AttentionShape& shape, const std::vector<int64_t>& keys,
                          bool several_views) {
  const Positions position(&keys.back(), 1);
  std::vector<float> all = made_up(static_cast<size_t>(shape.d_model), 1);
  scheme.add_to_embedding(position, {all.data(), 1, shape.d_model, shape.d_model});
  const auto keep = [&](const std::vector<float>& row) { all.insert(all.end(), row.begin(), row.end()); };
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    const Turned near = turned(scheme, shape, layer, keys.back(), 0);
    keep(near.q);
    if (several_views)
      keep(products(scheme, shape, layer, keys));
    else
      keep(near.k);
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      const AttentionSite site{
          .layer = layer, .head = head, .query_position = keys.back(), .key_positions = keys, .scale = 0.3f};
      const std::span<const float> query(near.q.data() + head * shape.head_dim, static_cast<size_t>(shape.head_dim));
      std::vector<float> scores = made_up(keys.size(), 4), out = made_up(query.size(), 5);
      scheme.add_to_scores(site, query, scores);
      scheme.add_to_values(site, made_up(keys.size(), 6), out);
      keep(scores);
      keep(out);
    }
  }
  return all;
}

}  // namespace

bool schemes_agree(const PositionScheme& a, const PositionScheme& b, const AttentionShape& shape, int64_t length) {
  if (std::min({a.max_positions(), b.max_positions(), length}) < length) return false;
  // 0, 1, 2, 3, 5, 7, 10 ...: near positions densely, far ones by ever larger steps, and the last.
  std::vector<int64_t> keys;
  for (int64_t p = 0; p < length; p = std::max(p + 1, p + p / 2 - 1)) keys.push_back(p);
  if (keys.empty() || keys.back() != length - 1) keys.push_back(length - 1);
  const bool views = a.views().several() || b.views().several();
  const auto same = [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); };
  for (size_t count = keys.size(); count > 0; --count) {
    const std::vector<int64_t> seen(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(count));
    const std::vector<float> of_a = traces(a, shape, seen, views), of_b = traces(b, shape, seen, views);
    if (!std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same)) return false;
  }
  return true;
}

}  // namespace ordinal
