// kv_cache.h: the keys and values of one session, in panels, so that attention is the matrix kernel twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/share.h"
#include "ordinal/model_file.h"

namespace ordinal {

// Per layer and key/value head that this rank holds (T = capacity, d = head_dim):
//   keys    [ceil(T/32)][d][32]    key t in lane t % 32 of panel t / 32; again for each further view of the keys
//   values  [ceil(d/32)][T][32]    value t in row t of every panel
// Numbers are of a plain kind. A row is rounded once, when it is stored, and attention reads nothing but the cache, so
// a token sees the same keys whether they come from this pass or from an earlier one.
// Memory starts as zeros that the system hands out when first written, so an unused part costs nothing.
class KvCache {
 public:
  // Throws Error when the memory is not to be had.
  KvCache(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views = 1)
      : KvCache(config, capacity, dtype, key_views, {0, config.n_kv_heads}) {}
  KvCache(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views, Extent kv_heads);

  // What a cache of all heads, or of so many, takes once it is full. Throws Error when that is no number.
  static int64_t bytes_of(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views = 1) {
    return bytes_of(config, capacity, dtype, key_views, config.n_kv_heads);
  }
  static int64_t bytes_of(const ModelConfig& config, int64_t capacity, Dtype dtype, int64_t key_views,
                          int64_t n_kv_heads);

  int64_t bytes() const { return data_.get_deleter().bytes; }
  Dtype dtype() const { return dtype_; }

  // Stores the key [d] and value [d] of token t, rounded to the nearest number of the kind; what is too large becomes
  // the largest, since an infinite key would make every score a NaN. Tokens may be stored in any order and again.
  void store(int64_t layer, int64_t kv_head, int64_t t, const float* key, const float* value);

  // The same for another view of a key alone.
  void store_view(int64_t layer, int64_t kv_head, int64_t view, int64_t t, const float* key);

  const std::byte* keys(int64_t layer, int64_t kv_head, int64_t view = 0) const;
  const std::byte* values(int64_t layer, int64_t kv_head) const;
  int64_t row_bytes() const { return 32 * item_bytes_; }  // one row of 32 lanes of a panel
  int64_t key_panel_bytes() const { return head_dim_ * row_bytes(); }
  int64_t value_panel_bytes() const { return capacity_ * row_bytes(); }
  int64_t value_panels() const { return value_panels_; }

  // Copies the first `length` tokens of a cache of the same shape and kind.
  void copy_from(const KvCache& other, int64_t length);

 private:
  std::byte* at(int64_t layer, int64_t kv_head) const {
    return data_.get() + (layer * n_kv_heads_ + kv_head - first_kv_head_) * head_bytes_;
  }
  template <class Item>
  void store_key_as(std::byte* keys, int64_t t, const float* key);
  template <class Item>
  void store_value_as(std::byte* values, int64_t t, const float* value);

  Dtype dtype_;
  int64_t item_bytes_;
  int64_t n_layers_, first_kv_head_, n_kv_heads_, head_dim_, capacity_;
  int64_t value_panels_;  // ceil(d/32)
  int64_t key_views_;
  int64_t key_bytes_, head_bytes_;  // one view of the keys of one head; keys and values of one head
  struct Unmap {
    int64_t bytes;
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Unmap> data_;
};

}  // namespace ordinal
