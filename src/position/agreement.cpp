// agreement.cpp: whether two schemes do the same to a model, found by trying their hooks on made-up numbers.
//
// Reports need to know it before anything runs: a scheme that agrees with the trained one below the trained length is
// as good as trained there, whatever it is called (rope and rope:scaling=dynamic; learned and learned:beyond=wrap).
#include <algorithm>
#include <bit>

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

// Everything that the four hooks leave behind at one position, layer by layer and head by head.
std::vector<float> traces(const PositionScheme& scheme, const AttentionShape& shape, const std::vector<int64_t>& keys) {
  const Positions position(&keys.back(), 1);
  std::vector<float> all = made_up(static_cast<size_t>(shape.d_model), 1);
  scheme.add_to_embedding(position, {all.data(), 1, shape.d_model, shape.d_model});
  const auto keep = [&](const std::vector<float>& row) { all.insert(all.end(), row.begin(), row.end()); };
  const int64_t q_width = shape.n_heads * shape.head_dim, k_width = shape.n_kv_heads * shape.head_dim;
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    std::vector<float> q = made_up(static_cast<size_t>(q_width), 2), k = made_up(static_cast<size_t>(k_width), 3);
    scheme.transform_query_key(layer, position, {q.data(), 1, q_width, q_width}, {k.data(), 1, k_width, k_width});
    keep(q);
    keep(k);
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      const AttentionSite site{
          .layer = layer, .head = head, .query_position = keys.back(), .key_positions = keys, .scale = 0.3f};
      const std::span<const float> query(q.data() + head * shape.head_dim, static_cast<size_t>(shape.head_dim));
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
  const auto same = [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); };
  for (size_t count = keys.size(); count > 0; --count) {
    const std::vector<int64_t> seen(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(count));
    const std::vector<float> of_a = traces(a, shape, seen), of_b = traces(b, shape, seen);
    if (!std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same)) return false;
  }
  return true;
}

}  // namespace ordinal
