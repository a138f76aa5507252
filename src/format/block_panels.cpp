// block_panels.cpp: see block_panels.h.
#include "format/block_panels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "format/block_kinds.h"

namespace ordinal {
namespace {

constexpr int64_t kMostItems = 256;  // weights of a block
constexpr int64_t kMostBytes = 256;

// Where the multiple of weight i of a stretch begins: byte and bit, for the lower four bits and for those above.
struct CodePlace {
  int byte, shift, upper_byte, upper_shift;
};

CodePlace place_of(int bits, int i) {
  const int upper = i / 4 * (bits - 4);
  return {i % 16, i < 16 ? 0 : 4, 16 + upper / 8 * 4 + i % 4, upper % 8};
}

// Calls visit(at, width) for every cell of a block: `width` bytes that stay together, `at` bytes into a row's block. In
// a panel's block the cells of 32 rows lie side by side, the first at 32 * at.
template <class Visit>
void for_each_cell(const BlockKind& kind, const Visit& visit) {
  for (int at = 0; at < kind.head_bytes(); at += 2) visit(at, std::integral_constant<int, 2>());
  for (int s = 0, at = kind.head_bytes(); s < kind.stretches; ++s, at += kind.stretch_bytes()) {
    const int codes = kind.scales + kind.offsets;
    for (int i = 0; i < codes; ++i) visit(at + i, std::integral_constant<int, 1>());
    for (int i = codes; i < kind.stretch_bytes(); i += 4) visit(at + i, std::integral_constant<int, 4>());
  }
}

}  // namespace

void block_weights(const BlockNumbers& block, int64_t items, float* out) {
  const float d = f16_to_f32(block.d), o = f16_to_f32(block.o);
  for (int64_t i = 0, part = 0; i < items; ++part) {
    const float scale = d * static_cast<float>(block.scales[part]);
    const float offset = o * static_cast<float>(block.offsets[part]);
    for (const int64_t stop = std::min(items, i + block.per_scale); i < stop; ++i)
      out[i] = scale * static_cast<float>(block.multiples[i]) + offset;
  }
}

void write_block(Dtype dtype, const BlockNumbers& numbers, std::byte* block) {
  const BlockKind& kind = block_kind(dtype);
  std::memset(block, 0, static_cast<size_t>(dtype_info(dtype).block_bytes));
  std::memcpy(block, &numbers.d, 2);
  if (kind.halves == 2) std::memcpy(block + 2, &numbers.o, 2);
  std::byte* at = block + kind.head_bytes();
  for (int s = 0; s < kind.stretches; ++s) {
    for (int i = 0; i < kind.scales; ++i) *at++ = static_cast<std::byte>(numbers.scales[s * kind.scales + i]);
    for (int i = 0; i < kind.offsets; ++i) *at++ = static_cast<std::byte>(numbers.offsets[s * kind.offsets + i]);
    const int8_t* multiples = numbers.multiples + kPanelLanes * s;
    for (int i = 0; i < kPanelLanes; ++i) {
      const auto code = static_cast<uint8_t>(multiples[i] + kind.zero);
      if (kind.bits == 8) {
        at[i] = std::byte{code};
        continue;
      }
      const CodePlace place = place_of(kind.bits, i);
      at[place.byte] |= std::byte(code & 15) << place.shift;
      if (kind.bits > 4) at[place.upper_byte] |= std::byte(code >> 4) << place.upper_shift;
    }
    at += 4 * kind.bits;
  }
}

BlockNumbers read_block(Dtype dtype, const std::byte* block) {
  const BlockKind& kind = block_kind(dtype);
  BlockNumbers numbers;
  std::memcpy(&numbers.d, block, 2);
  if (kind.halves == 2) std::memcpy(&numbers.o, block + 2, 2);
  if (kind.scales > 1) numbers.per_scale = static_cast<int>(kPanelLanes) / kind.scales;
  const std::byte* at = block + kind.head_bytes();
  for (int s = 0; s < kind.stretches; ++s) {
    for (int i = 0; i < kind.scales; ++i) numbers.scales[s * kind.scales + i] = static_cast<int8_t>(*at++);
    for (int i = 0; i < kind.offsets; ++i) numbers.offsets[s * kind.offsets + i] = static_cast<int8_t>(*at++);
    int8_t* multiples = numbers.multiples + kPanelLanes * s;
    for (int i = 0; i < kPanelLanes; ++i) {
      if (kind.bits == 8) {
        multiples[i] = static_cast<int8_t>(at[i]);
        continue;
      }
      const CodePlace place = place_of(kind.bits, i);
      int code = static_cast<int>(at[place.byte] >> place.shift) & 15;
      if (kind.bits > 4)
        code |= (static_cast<int>(at[place.upper_byte] >> place.upper_shift) & ((1 << (kind.bits - 4)) - 1)) << 4;
      multiples[i] = static_cast<int8_t>(code - kind.zero);
    }
    at += 4 * kind.bits;
  }
  return numbers;
}

void join_block_panel(Dtype dtype, const std::byte* rows, int64_t count, int64_t k, std::byte* panel) {
  const BlockKind& kind = block_kind(dtype);
  const auto [name, items, block_bytes] = dtype_info(dtype);
  const int64_t blocks = (k + items - 1) / items;
  std::byte nothing[kMostBytes];
  BlockNumbers zeros;
  zeros.o = 0;
  write_block(dtype, zeros, nothing);
  for (int64_t b = 0; b < blocks; ++b, panel += block_bytes * kPanelLanes)
    for (int64_t lane = 0; lane < kPanelLanes; ++lane) {
      const std::byte* block = lane < count ? rows + (lane * blocks + b) * block_bytes : nothing;
      for_each_cell(
          kind, [&](int at, auto width) { std::memcpy(panel + at * kPanelLanes + lane * width, block + at, width); });
    }
}

double pack_block_panel(Dtype dtype, const float* rows, int64_t count, int64_t k, std::byte* panel) {
  const BlockKind& kind = block_kind(dtype);
  const auto [name, items, block_bytes] = dtype_info(dtype);
  const int64_t blocks = (k + items - 1) / items;
  std::vector<std::byte> packed(static_cast<size_t>(count * blocks * block_bytes));
  double squared_error = 0;
  for (int64_t row = 0; row < count; ++row)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t n = std::min(items, k - b * items);
      float x[kMostItems] = {}, back[kMostItems];
      std::copy_n(rows + row * k + b * items, n, x);
      BlockNumbers numbers = kind.round(x);
      std::fill(numbers.multiples + n, numbers.multiples + items, int8_t{0});
      write_block(dtype, numbers, packed.data() + (row * blocks + b) * block_bytes);
      block_weights(numbers, n, back);
      float error = 0;
      for (int64_t i = 0; i < n; ++i) error += (x[i] - back[i]) * (x[i] - back[i]);
      squared_error += error;
    }
  join_block_panel(dtype, packed.data(), count, k, panel);
  return squared_error;
}

void unpack_block_panel(Dtype dtype, const std::byte* panel, int64_t k, int64_t first, int64_t count, float* rows) {
  const BlockKind& kind = block_kind(dtype);
  const auto [name, items, block_bytes] = dtype_info(dtype);
  std::byte block[kMostBytes];
  for (int64_t row = 0; row < count; ++row)
    for (int64_t start = 0; start < k; start += items) {
      const std::byte* from = panel + start / items * block_bytes * kPanelLanes;
      for_each_cell(kind, [&](int at, auto width) {
        std::memcpy(block + at, from + at * kPanelLanes + (first + row) * width, width);
      });
      block_weights(read_block(dtype, block), std::min(items, k - start), rows + row * k + start);
    }
}

}  // namespace ordinal
