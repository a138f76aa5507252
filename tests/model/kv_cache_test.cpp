// kv_cache_test.cpp: where keys and values lie in the cache, and how they are rounded.
#include "model/kv_cache.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/random_model.h"
#include "support.h"

namespace {

using ordinal::Dtype;
using ordinal::KvCache;

ordinal::ModelConfig config_of(int64_t head_dim) {
  ordinal::ModelConfig config = test::small_config();
  config.n_layers = 2;
  config.n_kv_heads = 3;
  config.head_dim = head_dim;
  return config;
}

float number(const KvCache& cache, const std::byte* data, int64_t index) {
  std::array<float, 1> value;
  ordinal::widen(cache.dtype(), data, index, value);
  return value[0];
}

TEST_CASE("kv cache: every number is in its place, rounded once, in every kind and after a copy") {
  const int64_t d = 37, capacity = 70;
  const ordinal::ModelConfig config = config_of(d);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    CAPTURE(dtype_info(dtype).name);
    const int64_t item = dtype_info(dtype).block_bytes;
    KvCache cache(config, capacity, dtype), copy(config, capacity, dtype);
    CHECK(cache.bytes() == 2 * 3 * 96 * (d + 64) * item);
    CHECK(KvCache::bytes_of(config, capacity, dtype) == cache.bytes());
    test::Random random(11);
    std::vector<std::vector<float>> rows;  // key and value of each layer, head and token
    for (int64_t i = 0; i < 2 * 3 * capacity * 2; ++i) rows.push_back(random.normals(static_cast<size_t>(d), 3.0f));
    const auto row = [&](int64_t layer, int64_t head, int64_t t, int64_t which) -> const std::vector<float>& {
      return rows[static_cast<size_t>((((layer * 3 + head) * capacity) + t) * 2 + which)];
    };
    for (int64_t layer = 0; layer < 2; ++layer)
      for (int64_t head = 0; head < 3; ++head)
        for (int64_t t = capacity - 1; t >= 0; --t)
          cache.store(layer, head, t, row(layer, head, t, 0).data(), row(layer, head, t, 1).data());
    copy.copy_from(cache, capacity);
    int64_t wrong = 0;
    for (const KvCache* found : {&cache, &copy})
      for (int64_t layer = 0; layer < 2; ++layer)
        for (int64_t head = 0; head < 3; ++head)
          for (int64_t t = 0; t < capacity; ++t)
            for (int64_t c = 0; c < d; ++c) {
              const auto rounded = [&](float value) {
                std::array<std::byte, 4> bytes;
                ordinal::narrow(dtype, {&value, 1}, bytes.data());
                return number(*found, bytes.data(), 0);
              };
              const std::byte* keys = found->keys(layer, head) + t / 32 * found->key_panel_bytes();
              const std::byte* values = found->values(layer, head) + c / 32 * found->value_panel_bytes();
              const auto at = static_cast<size_t>(c);
              wrong += number(*found, keys, c * 32 + t % 32) != rounded(row(layer, head, t, 0)[at]);
              wrong += number(*found, values, t * 32 + c % 32) != rounded(row(layer, head, t, 1)[at]);
            }
    CHECK(wrong == 0);
  }
}

TEST_CASE("kv cache: numbers too large for a kind become its largest, and NaN stays NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 4> row = {1e6f, -3.4e38f, nan, -infinity};
  const auto stored = [&](Dtype dtype, int64_t c) {
    KvCache cache(config_of(4), 1, dtype);
    cache.store(1, 2, 0, row.data(), row.data());
    return number(cache, cache.keys(1, 2), c * 32);
  };
  CHECK(stored(Dtype::f16, 0) == 65504.0f);
  CHECK(stored(Dtype::f16, 1) == -65504.0f);
  CHECK(std::isnan(stored(Dtype::f16, 2)));
  CHECK(stored(Dtype::f16, 3) == -65504.0f);
  CHECK(stored(Dtype::bf16, 1) == -0x1.fep127f);
  CHECK(std::isnan(stored(Dtype::bf16, 2)));
  CHECK(stored(Dtype::f32, 1) == -3.4e38f);
  CHECK(stored(Dtype::f32, 3) == -infinity);
}

TEST_CASE("kv cache: sizes that are no number are refused") {
  CHECK(test::mentions(test::error_of([] { KvCache(config_of(64), INT64_MAX, Dtype::f16); }), {"--ctx"}));
  CHECK(test::mentions(test::error_of([] { KvCache(config_of(64), INT64_MAX / 64, Dtype::f32); }), {"--ctx"}));
}

TEST_CASE("kv cache: another view of the keys lies apart from the first and from the values, and is copied with them") {
  const int64_t d = 37, capacity = 70, tokens = 45;
  const ordinal::ModelConfig config = config_of(d);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    KvCache cache(config, capacity, dtype, 2), copy(config, capacity, dtype, 2);
    CHECK(cache.bytes() == 2 * 3 * 96 * (2 * d + 64) * dtype_info(dtype).block_bytes);
    CHECK(KvCache::bytes_of(config, capacity, dtype, 2) == cache.bytes());
    // Small whole numbers, the same in every kind: which head, view and token a row is of.
    const auto row = [&](int64_t head, int64_t which, int64_t t) {
      return std::vector<float>(static_cast<size_t>(d), static_cast<float>((head * 3 + which) * 100 + t));
    };
    for (int64_t head = 0; head < 6; ++head)
      for (int64_t t = 0; t < tokens; ++t) {
        cache.store(head / 3, head % 3, t, row(head, 0, t).data(), row(head, 1, t).data());
        cache.store_view(head / 3, head % 3, 1, t, row(head, 2, t).data());
      }
    copy.copy_from(cache, tokens);
    for (const KvCache* found : {&cache, &copy})
      for (int64_t head = 0; head < 6; ++head)
        for (int64_t t = 0; t < tokens; ++t)
          for (const int64_t c : {int64_t{0}, d - 1}) {
            const int64_t lane = (t / 32 * d + c) * 32 + t % 32, value = (c / 32 * 96 + t) * 32 + c % 32;
            CHECK(number(*found, found->keys(head / 3, head % 3), lane) == row(head, 0, t)[0]);
            CHECK(number(*found, found->keys(head / 3, head % 3, 1), lane) == row(head, 2, t)[0]);
            CHECK(number(*found, found->values(head / 3, head % 3), value) == row(head, 1, t)[0]);
          }
  }
}

}  // namespace
