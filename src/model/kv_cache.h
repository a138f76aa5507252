// kv_cache.h: the keys and values of one session, in panels, so that attention is the matrix kernel twice.
#pragma once

#include <cstdint>
#include <memory>

#include "ordinal/model_file.h"

namespace ordinal {

// Per layer and key/value head (T = capacity, d = head_dim):
//   keys    [ceil(T/32)][d][32]    key t in lane t % 32 of panel t / 32
//   values  [ceil(d/32)][T][32]    value t in row t of every panel
// Memory starts as zeros that the system hands out when first written, so an unused part costs nothing.
class KvCache {
 public:
  // Throws Error when the memory is not to be had.
  KvCache(const ModelConfig& config, int64_t capacity);

  int64_t capacity() const { return capacity_; }
  int64_t bytes() const;

  // Stores the key [d] and value [d] of token t; tokens may be stored in any order and again.
  void store(int64_t layer, int64_t kv_head, int64_t t, const float* key, const float* value);

  const float* keys(int64_t layer, int64_t kv_head) const;
  const float* values(int64_t layer, int64_t kv_head) const;
  int64_t key_panel_floats() const { return head_dim_ * 32; }
  int64_t value_panel_floats() const { return capacity_ * 32; }
  int64_t value_panels() const { return value_panels_; }

  // Copies the first `length` tokens of a cache of the same shape.
  void copy_from(const KvCache& other, int64_t length);

 private:
  int64_t n_layers_, n_kv_heads_, head_dim_, capacity_;
  int64_t value_panels_;              // ceil(d/32)
  int64_t key_floats_, head_floats_;  // keys of one head; keys and values of one head
  struct Unmap {
    int64_t bytes;
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Unmap> data_;
};

}  // namespace ordinal
