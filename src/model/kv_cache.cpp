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

}  // namespace

int64_t KvCache::bytes_of(const ModelConfig& config, int64_t capacity, Dtype dtype) {
  int64_t bytes;
  if (capacity > INT64_MAX - 31 ||
      __builtin_mul_overflow(whole_panels(capacity), config.head_dim + whole_panels(config.head_dim), &bytes) ||
      __builtin_mul_overflow(bytes, config.n_layers * config.n_kv_heads, &bytes) ||
      __builtin_mul_overflow(bytes, dtype_info(dtype).block_bytes, &bytes))
    throw Error("a cache for " + std::to_string(capacity) + " tokens does not fit in memory",
                "a capacity whose keys and values fit", std::to_string(capacity) + " tokens", "a smaller --ctx");
  return bytes;
}

KvCache::KvCache(const ModelConfig& config, int64_t capacity, Dtype dtype)
    : dtype_(dtype),
      item_bytes_(dtype_info(dtype).block_bytes),
      n_layers_(config.n_layers),
      n_kv_heads_(config.n_kv_heads),
      head_dim_(config.head_dim),
      value_panels_(panels_of(config.head_dim)) {
  const int64_t bytes = bytes_of(config, capacity, dtype);  // refuses what the next lines could not count
  capacity_ = whole_panels(capacity);
  key_bytes_ = capacity_ * head_dim_ * item_bytes_;
  head_bytes_ = key_bytes_ + value_panels_ * value_panel_bytes();
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("the memory for the keys and values of " + std::to_string(capacity) + " tokens is not to be had",
                std::to_string(bytes) + " bytes", "the system refuses", "a smaller --ctx, or --kv-dtype f16");
  data_ = std::unique_ptr<std::byte[], Unmap>(static_cast<std::byte*>(memory), Unmap{bytes});
}

void KvCache::Unmap::operator()(std::byte* p) const { munmap(p, static_cast<size_t>(bytes)); }

const std::byte* KvCache::keys(int64_t layer, int64_t kv_head) const {
  return data_.get() + (layer * n_kv_heads_ + kv_head) * head_bytes_;
}

const std::byte* KvCache::values(int64_t layer, int64_t kv_head) const { return keys(layer, kv_head) + key_bytes_; }

template <class Item>
void KvCache::store_as(std::byte* head, int64_t t, const float* key, const float* value) {
  Item* lane = reinterpret_cast<Item*>(head + t / 32 * key_panel_bytes()) + t % 32;
  std::byte* row = head + key_bytes_ + t * row_bytes();
  if constexpr (sizeof(Item) == sizeof(float)) {  // nothing to round
    for (int64_t c = 0; c < head_dim_; ++c) std::memcpy(lane + c * 32, key + c, sizeof(float));
    for (int64_t c = 0; c < head_dim_; c += 32)
      std::memcpy(row + c / 32 * value_panel_bytes(), value + c,
                  static_cast<size_t>(std::min<int64_t>(32, head_dim_ - c)) * sizeof(float));
    return;
  }
  const float largest = kLargest[static_cast<size_t>(dtype_)];
  const auto rounded = [&](const float* from, int64_t count) {  // up to 32 numbers
    std::array<float, 32> within;
    std::array<Item, 32> items;
    std::transform(from, from + count, within.begin(), [&](float x) { return std::clamp(x, -largest, largest); });
    narrow(dtype_, {within.data(), static_cast<size_t>(count)}, reinterpret_cast<std::byte*>(items.data()));
    return items;
  };
  for (int64_t c = 0; c < head_dim_; c += 32) {
    const int64_t count = std::min<int64_t>(32, head_dim_ - c);
    const std::array<Item, 32> keys = rounded(key + c, count), values = rounded(value + c, count);
    for (int64_t i = 0; i < count; ++i) lane[(c + i) * 32] = keys[static_cast<size_t>(i)];
    std::memcpy(row + c / 32 * value_panel_bytes(), values.data(), static_cast<size_t>(count) * sizeof(Item));
  }
}

void KvCache::store(int64_t layer, int64_t kv_head, int64_t t, const float* key, const float* value) {
  std::byte* head = data_.get() + (layer * n_kv_heads_ + kv_head) * head_bytes_;
  if (item_bytes_ == 4)
    store_as<uint32_t>(head, t, key, value);
  else
    store_as<uint16_t>(head, t, key, value);
}

void KvCache::copy_from(const KvCache& other, int64_t length) {
  const int64_t key_panels = panels_of(length);
  for (int64_t head = 0; head < n_layers_ * n_kv_heads_; ++head) {
    const std::byte* from = other.data_.get() + head * head_bytes_;
    std::byte* to = data_.get() + head * head_bytes_;
    std::memcpy(to, from, static_cast<size_t>(key_panels * key_panel_bytes()));
    for (int64_t panel = 0; panel < value_panels_; ++panel) {
      const int64_t offset = key_bytes_ + panel * value_panel_bytes();
      std::memcpy(to + offset, from + offset, static_cast<size_t>(length * row_bytes()));
    }
  }
}

}  // namespace ordinal
