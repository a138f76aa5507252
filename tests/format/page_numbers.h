// page_numbers.h: numbers of block panels by the words of src/format/README.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ordinal/tensor.h"

namespace page {

// The page's table of block kinds.
struct Row {
  ordinal::Dtype dtype;
  int64_t weights, bytes, halves, small;
  int bits, higher;
};
inline constexpr Row kRows[] = {
    {ordinal::Dtype::q8_0, 32, 1088, 1, 0, 8, 0},  {ordinal::Dtype::q4_0, 32, 576, 1, 0, 4, 8},
    {ordinal::Dtype::q4_1, 32, 640, 2, 0, 4, 0},   {ordinal::Dtype::q4_k, 256, 4736, 2, 2, 4, 0},
    {ordinal::Dtype::q5_k, 256, 5760, 2, 2, 5, 0}, {ordinal::Dtype::q6_k, 256, 6720, 1, 2, 6, 32}};

inline const Row& row_of(ordinal::Dtype dtype) { return *std::ranges::find(kRows, dtype, &Row::dtype); }

// Number k of a lane of a panel.
inline float number_of(ordinal::Dtype dtype, const std::byte* panel, int64_t lane, int64_t k) {
  const Row& row = row_of(dtype);
  const std::byte* block = panel + k / row.weights * row.bytes;
  const auto half = [&](int64_t which) {
    uint16_t bits;
    std::memcpy(&bits, block + 64 * which + 2 * lane, 2);
    return ordinal::f16_to_f32(bits);
  };
  const std::byte* stretch = block + 64 * row.halves + k % row.weights / 32 * (32 * row.small + 128 * row.bits);
  const auto small = [&](int64_t which) { return static_cast<float>(static_cast<int8_t>(stretch[32 * which + lane])); };
  const std::byte* multiples = stretch + 32 * row.small;
  const auto byte = [&](int64_t group, int64_t i) { return static_cast<int>(multiples[(group * 32 + lane) * 4 + i]); };
  const int64_t g = k % 32 / 4, i = k % 4;
  int q = row.bits == 8 ? static_cast<int8_t>(byte(g, i)) : g < 4 ? byte(g, i) & 15 : byte(g - 4, i) >> 4;
  if (row.bits == 5) q += 16 * (byte(4, i) >> g & 1);
  if (row.bits == 6) q += 16 * (byte(4 + g / 4, i) >> 2 * (g % 4) & 3);
  q -= row.higher;
  const bool has_offset = row.halves == 2;
  const float c = row.small == 0 ? 1 : small(!has_offset && k % 32 >= 16 ? 1 : 0);
  const float weight = half(0) * c * static_cast<float>(q);
  return has_offset ? weight + half(1) * (row.small == 0 ? 1 : small(1)) : weight;
}

}  // namespace page
