// kv_cache.cpp: see kv_cache.h.
#include "model/kv_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ordinal/error.h"

namespace ordinal {

KvCache::KvCache(const ModelConfig& config, int64_t capacity)
    : n_layers_(config.n_layers),
      n_kv_heads_(config.n_kv_heads),
      head_dim_(config.head_dim),
      capacity_((capacity + 31) / 32 * 32),
      value_panels_((config.head_dim + 31) / 32) {
  const Error too_large("a cache for " + std::to_string(capacity) + " tokens does not fit in memory",
                        "a capacity whose keys and values fit", std::to_string(capacity) + " tokens",
                        "a smaller --ctx");
  int64_t bytes;
  key_floats_ = capacity_ * head_dim_;
  if (__builtin_mul_overflow(capacity_, head_dim_ + value_panels_ * 32, &head_floats_) ||
      __builtin_mul_overflow(head_floats_, n_layers_ * n_kv_heads_, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(sizeof(float)), &bytes))
    throw too_large;
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw too_large;
  data_ = std::unique_ptr<float[], Unmap>(static_cast<float*>(memory), Unmap{bytes});
}

void KvCache::Unmap::operator()(float* p) const { munmap(p, static_cast<size_t>(bytes)); }

int64_t KvCache::bytes() const { return n_layers_ * n_kv_heads_ * head_floats_ * static_cast<int64_t>(sizeof(float)); }

const float* KvCache::keys(int64_t layer, int64_t kv_head) const {
  return data_.get() + (layer * n_kv_heads_ + kv_head) * head_floats_;
}

const float* KvCache::values(int64_t layer, int64_t kv_head) const { return keys(layer, kv_head) + key_floats_; }

void KvCache::store(int64_t layer, int64_t kv_head, int64_t t, const float* key, const float* value) {
  float* keys = data_.get() + (layer * n_kv_heads_ + kv_head) * head_floats_;
  float* lane = keys + t / 32 * key_panel_floats() + t % 32;
  for (int64_t c = 0; c < head_dim_; ++c) lane[c * 32] = key[c];
  float* row = keys + key_floats_ + t * 32;
  for (int64_t c = 0; c < head_dim_; c += 32)
    std::memcpy(row + c * capacity_, value + c,
                sizeof(float) * static_cast<size_t>(std::min<int64_t>(32, head_dim_ - c)));
}

void KvCache::copy_from(const KvCache& other, int64_t length) {
  const int64_t key_panels = (length + 31) / 32;
  for (int64_t head = 0; head < n_layers_ * n_kv_heads_; ++head) {
    const float* from = other.data_.get() + head * head_floats_;
    float* to = data_.get() + head * head_floats_;
    std::memcpy(to, from, sizeof(float) * static_cast<size_t>(key_panels * key_panel_floats()));
    for (int64_t panel = 0; panel < value_panels_; ++panel) {
      const int64_t offset = key_floats_ + panel * value_panel_floats();
      std::memcpy(to + offset, from + offset, sizeof(float) * static_cast<size_t>(length * 32));
    }
  }
}

}  // namespace ordinal
