// block_panels.h: how rows of floats become panels of the block kinds, q8_0 and q4_0, and come back.
#pragma once

#include <cstdint>

#include "ordinal/tensor.h"

namespace ordinal {

// Packs `count` <= 32 rows of k numbers as one panel of `dtype` (a block kind); lanes past `count` and numbers past k
// hold 0. The bytes are described in README.md. Returns the sum of squared errors that rounding made.
//   q8_0  scale = largest magnitude / 127, as f16; numbers to the nearest multiple
//   q4_0  the scale, among those that put the largest magnitude at -8.6 to -5.4 steps, each refitted once by least
//         squares, that leaves the smallest squared error; multiples from -8 to 7
double pack_block_panel(Dtype dtype, const float* rows, int64_t count, int64_t k, std::byte* panel);

// The numbers that lanes `first` .. `first + count` of such a panel stand for: exact.
void unpack_block_panel(Dtype dtype, const std::byte* panel, int64_t k, int64_t first, int64_t count, float* rows);

}  // namespace ordinal
