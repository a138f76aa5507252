// gguf_kinds.h: the kinds of numbers that GGUF's tensors are made of, one row each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/block_panels.h"
#include "ordinal/tensor.h"

namespace ordinal::convert {

struct GgufKind {
  uint32_t number;
  std::string_view name;
  int64_t items, bytes;  // of a block
  Dtype dtype;           // how a model file keeps them
  bool exact;            // whether that is exact
  // Takes a block apart; nullptr for plain kinds, which are what `dtype` says.
  BlockNumbers (*take_apart)(const std::byte* block) = nullptr;

  bool is_plain() const { return take_apart == nullptr; }
  bool is_same_bytes() const;  // a block is byte for byte one of a row of `dtype`
};

// Throws Error for a kind that is not read, by its name where it has one. `tensor` is whose it is, for the message.
const GgufKind& gguf_kind(uint32_t number, const std::string& tensor);

}  // namespace ordinal::convert
