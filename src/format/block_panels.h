// block_panels.h: weights in blocks: the numbers of a block, its bytes as a row has them, and panels of 32 rows.
#pragma once

#include <cstdint>

#include "ordinal/tensor.h"

namespace ordinal {

// A block of one row, taken apart. Weight i is
//   (d * scales[i / per_scale]) * multiples[i] + o * offsets[i / per_scale]
// in f32: in every kind the products of d and of o are exact there, so that a weight is rounded once.
struct BlockNumbers {
  static constexpr uint16_t kNoOffset = 0x8000;  // minus zero: adding it changes nothing, not even the sign of a zero

  uint16_t d = 0, o = kNoOffset;  // f16
  int per_scale = 32;             // weights that share a scale and an offset
  int8_t scales[16] = {1}, offsets[16] = {1};
  int8_t multiples[256] = {};
};

// The first `items` weights.
void block_weights(const BlockNumbers& block, int64_t items, float* out);

// A block in a row of its own, dtype_info(dtype).block_bytes long, and back. README.md describes the bytes. `dtype` is
// a block kind; what the kind has no room for is not looked at.
void write_block(Dtype dtype, const BlockNumbers& numbers, std::byte* block);
BlockNumbers read_block(Dtype dtype, const std::byte* block);

// Puts `count` <= 32 rows of such blocks, ceil(k / block_items) each, side by side as one panel. Lanes past `count`
// hold zeros.
void join_block_panel(Dtype dtype, const std::byte* rows, int64_t count, int64_t k, std::byte* panel);

// Packs `count` <= 32 rows of k numbers as one panel of `dtype`; lanes past `count` hold 0, and multiples past k.
// Returns the sum of squared errors that rounding made.
//   q8_0  scale = largest magnitude / 127, as f16; numbers to the nearest multiple
//   q4_0  the scale, among those that put the largest magnitude at -8.6 to -5.4 steps, each refitted once by least
//         squares, that leaves the smallest squared error; multiples from -8 to 7
//   q4_1, q4_k, q5_k, q6_k   plainly (block_kinds.cpp): these are for files that come in such kinds
double pack_block_panel(Dtype dtype, const float* rows, int64_t count, int64_t k, std::byte* panel);

// The numbers that lanes `first` .. `first + count` of such a panel stand for: exact.
void unpack_block_panel(Dtype dtype, const std::byte* panel, int64_t k, int64_t first, int64_t count, float* rows);

}  // namespace ordinal
