// kv_cache.cpp: see kv_cache.h.
#include "model/kv_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "ordinal/error.h"

namespace ordinal {
namespace {

// The largest number of each plain kind; in f32 every number is its own.
constexpr std::array kLargest = {std::numeric_limits<float>::infinity(), 65504.0f, 0x1.fep127f};

// Up to 32 numbers as they are kept in a 16-bit kind.
template <class Item>
std::array<Item, 32> rounded(Dtype dtype, const float* from, int64_t count) {
  const float largest = kLargest[static_cast<size_t>(dtype)];
  std::array<float, 32> within;
  std::array<Item, 32> items;
  std::transform(from, from + count, within.begin(), [&](float x) { return std::clamp(x, -largest, largest); });
  narrow(dtype, {within.data(), static_cast<size_t>(count)}, reinterpret_cast<std::byte*>(items.data()));
  return items;
}

}  // namespace

int64_t KvCache::bytes_of(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views,
                          int64_t n_kv_heads) {
  int64_t bytes;
  if (capacity > INT64_MAX - 31 ||
      __builtin_mul_overflow(whole_panels(capacity), key_views * config.head_dim + whole_panels(config.head_dim),
                             &bytes) ||
      __builtin_mul_overflow(bytes, config.n_layers * n_kv_heads, &bytes) ||
      __builtin_mul_overflow(bytes, dtype_info(dtype).block_bytes, &bytes))
    throw Error("a cache for " + std::to_string(capacity) + " tokens does not fit in memory",
                "a capacity whose keys and values fit", std::to_string(capacity) + " tokens", "a smaller --ctx");
  return bytes;
}

KvCache::KvCache(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views, Extent kv_heads)
    : dtype_(dtype),
      item_bytes_(dtype_info(dtype).block_bytes),
      n_layers_(config.n_layers),
      first_kv_head_(kv_heads.first),
      n_kv_heads_(kv_heads.count()),
      head_dim_(config.head_dim),
      value_panels_(panels_of(config.head_dim)),
      key_views_(key_views) {
  bytes_of(config, capacity, dtype, key_views);  // refuses what the next lines could not count
  // No heads, no memory; but for a byte, since the system gives nothing away in pieces of 0.
  const int64_t bytes = std::max<int64_t>(1, bytes_of(config, capacity, dtype, key_views, n_kv_heads_));
  capacity_ = whole_panels(capacity);
  key_bytes_ = capacity_ * head_dim_ * item_bytes_;
  head_bytes_ = key_views_ * key_bytes_ + value_panels_ * value_panel_bytes();
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("the memory for the keys and values of " + std::to_string(capacity) + " tokens is not to be had",
                std::to_string(bytes) + " bytes", "the system refuses", "a smaller --ctx, or --kv-dtype f16");
  data_ = std::unique_ptr<std::byte[], Unmap>(static_cast<std::byte*>(memory), Unmap{bytes});
  Ledger& kept = ledger();
  kept.cache_bytes += bytes;
  kept.most_cache_bytes = std::max(kept.most_cache_bytes, kept.cache_bytes);
}

void KvCache::Unmap::operator()(std::byte* p) const {
  ledger().cache_bytes -= bytes;
  munmap(p, static_cast<size_t>(bytes));
}

const std::byte* KvCache::keys(int64_t layer, int64_t kv_head, int64_t view) const {
  return at(layer, kv_head) + view * key_bytes_;
}

const std::byte* KvCache::values(int64_t layer, int64_t kv_head) const { return keys(layer, kv_head, key_views_); }

template <class Item>
void KvCache::store_key_as(std::byte* keys, int64_t t, const float* key) {
  Item* lane = reinterpret_cast<Item*>(keys + t / 32 * key_panel_bytes()) + t % 32;
  if constexpr (sizeof(Item) == sizeof(float)) {  // nothing to round
    for (int64_t c = 0; c < head_dim_; ++c) std::memcpy(lane + c * 32, key + c, sizeof(float));
    return;
  }
  for (int64_t c = 0; c < head_dim_; c += 32) {
    const int64_t count = std::min<int64_t>(32, head_dim_ - c);
    const std::array<Item, 32> items = rounded<Item>(dtype_, key + c, count);
    for (int64_t i = 0; i < count; ++i) lane[(c + i) * 32] = items[static_cast<size_t>(i)];
  }
}

template <class Item>
void KvCache::store_value_as(std::byte* values, int64_t t, const float* value) {
  std::byte* row = values + t * row_bytes();
  for (int64_t c = 0; c < head_dim_; c += 32) {
    const int64_t count = std::min<int64_t>(32, head_dim_ - c);
    std::byte* panel = row + c / 32 * value_panel_bytes();
    if constexpr (sizeof(Item) == sizeof(float)) {
      std::memcpy(panel, value + c, static_cast<size_t>(count) * sizeof(Item));
    } else {
      const std::array<Item, 32> items = rounded<Item>(dtype_, value + c, count);
      std::memcpy(panel, items.data(), static_cast<size_t>(count) * sizeof(Item));
    }
  }
}

void KvCache::store(int64_t layer, int64_t kv_head, int64_t t, const float* key, const float* value) {
  store_view(layer, kv_head, 0, t, key);
  std::byte* values = at(layer, kv_head) + key_views_ * key_bytes_;
  if (item_bytes_ == 4)
    store_value_as<uint32_t>(values, t, value);
  else
    store_value_as<uint16_t>(values, t, value);
}

void KvCache::store_view(int64_t layer, int64_t kv_head, int64_t view, int64_t t, const float* key) {
  std::byte* keys = at(layer, kv_head) + view * key_bytes_;
  if (item_bytes_ == 4)
    store_key_as<uint32_t>(keys, t, key);
  else
    store_key_as<uint16_t>(keys, t, key);
}

void KvCache::copy_from(const KvCache& other, int64_t length) {
  const int64_t key_panels = panels_of(length);
  for (int64_t head = 0; head < n_layers_ * n_kv_heads_; ++head) {
    const std::byte* from = other.data_.get() + head * head_bytes_;
    std::byte* to = data_.get() + head * head_bytes_;
    for (int64_t view = 0; view < key_views_; ++view)
      std::memcpy(to + view * key_bytes_, from + view * key_bytes_,
                  static_cast<size_t>(key_panels * key_panel_bytes()));
    for (int64_t panel = 0; panel < value_panels_; ++panel) {
      const int64_t offset = key_views_ * key_bytes_ + panel * value_panel_bytes();
      std::memcpy(to + offset, from + offset, static_cast<size_t>(length * row_bytes()));
    }
  }
}

}  // namespace ordinal
