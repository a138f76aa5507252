// gguf_kinds.cpp: see gguf_kinds.h. The layouts are those of ggml's quantised kinds (ggml-common.h, ggml-quants.c).
#include "convert/gguf/gguf_kinds.h"

#include <algorithm>
#include <iterator>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

// The numbers of a block, read from its bytes.
int byte_at(const std::byte* p) { return static_cast<int>(*p); }
uint16_t half_at(const std::byte* p) { return static_cast<uint16_t>(byte_at(p) | byte_at(p + 1) << 8); }
int bit_at(const std::byte* p, int bit) { return byte_at(p + bit / 8) >> bit % 8 & 1; }
uint16_t negated(uint16_t half) { return static_cast<uint16_t>(half ^ 0x8000); }

// Number i of 32 with 4 bits each: the lower halves of 16 bytes, then the upper ones.
int nibble(const std::byte* p, int i) { return i < 16 ? byte_at(p + i) & 15 : byte_at(p + i - 16) >> 4; }

// A block of 32 weights: d, then perhaps o, and what `multiple` says.
template <class Multiple>
BlockNumbers block_of_32(const std::byte* block, bool has_offset, const Multiple& multiple) {
  BlockNumbers numbers;
  numbers.d = half_at(block);
  if (has_offset) numbers.o = half_at(block + 2);
  for (int i = 0; i < 32; ++i) numbers.multiples[i] = static_cast<int8_t>(multiple(i));
  return numbers;
}

BlockNumbers take_q4_0(const std::byte* b) {
  return block_of_32(b, false, [&](int i) { return nibble(b + 2, i) - 8; });
}
BlockNumbers take_q4_1(const std::byte* b) {
  return block_of_32(b, true, [&](int i) { return nibble(b + 4, i); });
}
BlockNumbers take_q5_0(const std::byte* b) {
  return block_of_32(b, false, [&](int i) { return nibble(b + 6, i) + 16 * bit_at(b + 2, i) - 16; });
}
BlockNumbers take_q5_1(const std::byte* b) {
  return block_of_32(b, true, [&](int i) { return nibble(b + 8, i) + 16 * bit_at(b + 4, i); });
}
BlockNumbers take_q8_0(const std::byte* b) {
  return block_of_32(b, false, [&](int i) { return byte_at(b + 2 + i); });
}
BlockNumbers take_iq4_nl(const std::byte* b) {
  constexpr int kTable[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return block_of_32(b, false, [&](int i) { return kTable[nibble(b + 2, i)]; });
}

BlockNumbers take_q2_k(const std::byte* b) {
  BlockNumbers numbers;
  numbers.d = half_at(b + 80);
  numbers.o = negated(half_at(b + 82));
  numbers.per_scale = 16;
  for (int s = 0; s < 16; ++s) {
    numbers.scales[s] = static_cast<int8_t>(byte_at(b + s) & 15);
    numbers.offsets[s] = static_cast<int8_t>(byte_at(b + s) >> 4);
  }
  for (int i = 0; i < 256; ++i)
    numbers.multiples[i] = static_cast<int8_t>(byte_at(b + 16 + 32 * (i / 128) + i % 32) >> 2 * (i / 32 % 4) & 3);
  return numbers;
}

BlockNumbers take_q3_k(const std::byte* b) {
  BlockNumbers numbers;
  numbers.d = half_at(b + 108);
  numbers.per_scale = 16;
  const std::byte* packed = b + 96;  // the lower 4 bits of 16 scales, then their upper 2
  for (int s = 0; s < 16; ++s) {
    const int lower = s < 8 ? byte_at(packed + s) & 15 : byte_at(packed + s - 8) >> 4;
    const int upper = byte_at(packed + 8 + s % 4) >> 2 * (s / 4) & 3;
    numbers.scales[s] = static_cast<int8_t>(lower + 16 * upper - 32);
    numbers.offsets[s] = 1;
  }
  for (int i = 0; i < 256; ++i) {
    const int lower = byte_at(b + 32 + 32 * (i / 128) + i % 32) >> 2 * (i / 32 % 4) & 3;
    numbers.multiples[i] = static_cast<int8_t>(lower - (byte_at(b + i % 32) >> i / 32 & 1 ? 0 : 4));
  }
  return numbers;
}

// The 8 scales and offsets of 6 bits that Q4_K and Q5_K pack into 12 bytes.
void unpack_six_bits(const std::byte* packed, BlockNumbers& numbers) {
  for (int s = 0; s < 8; ++s) {
    const auto at = [&](int i) { return byte_at(packed + i); };
    const int scale = s < 4 ? at(s) & 63 : (at(s + 4) & 15) + 16 * (at(s - 4) >> 6);
    const int offset = s < 4 ? at(s + 4) & 63 : (at(s + 4) >> 4) + 16 * (at(s) >> 6);
    numbers.scales[s] = static_cast<int8_t>(scale);
    numbers.offsets[s] = static_cast<int8_t>(offset);
  }
}

// Q4_K, and Q5_K whose fifth bits are at `fifth`. Two stretches of 32 weights share 32 bytes.
BlockNumbers take_q45_k(const std::byte* b, const std::byte* nibbles, const std::byte* fifth) {
  BlockNumbers numbers;
  numbers.d = half_at(b);
  numbers.o = negated(half_at(b + 2));
  unpack_six_bits(b + 4, numbers);
  for (int i = 0; i < 256; ++i) {
    const int stretch = i / 32, pair = byte_at(nibbles + 32 * (stretch / 2) + i % 32);
    const int upper = fifth == nullptr ? 0 : byte_at(fifth + i % 32) >> stretch & 1;
    numbers.multiples[i] = static_cast<int8_t>((stretch % 2 == 0 ? pair & 15 : pair >> 4) + 16 * upper);
  }
  return numbers;
}
BlockNumbers take_q4_k(const std::byte* b) { return take_q45_k(b, b + 16, nullptr); }
BlockNumbers take_q5_k(const std::byte* b) { return take_q45_k(b, b + 48, b + 16); }

BlockNumbers take_q6_k(const std::byte* b) {
  BlockNumbers numbers;
  numbers.d = half_at(b + 208);
  numbers.per_scale = 16;
  for (int s = 0; s < 16; ++s) {
    numbers.scales[s] = static_cast<int8_t>(byte_at(b + 192 + s));
    numbers.offsets[s] = 1;
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, j = i / 32 % 4, l = i % 32;
    const int pair = byte_at(b + 64 * half + 32 * (j & 1) + l);
    const int upper = byte_at(b + 128 + 32 * half + l) >> 2 * j & 3;
    numbers.multiples[i] = static_cast<int8_t>((j < 2 ? pair & 15 : pair >> 4) + 16 * upper - 32);
  }
  return numbers;
}

constexpr GgufKind kGgufKinds[] = {
    {0, "F32", 1, 4, Dtype::f32, true},
    {1, "F16", 1, 2, Dtype::f16, true},
    {30, "BF16", 1, 2, Dtype::bf16, true},
    {8, "Q8_0", 32, 34, Dtype::q8_0, true, take_q8_0},
    {2, "Q4_0", 32, 18, Dtype::q4_0, true, take_q4_0},
    {6, "Q5_0", 32, 22, Dtype::q8_0, true, take_q5_0},
    {20, "IQ4_NL", 32, 18, Dtype::q8_0, true, take_iq4_nl},
    {3, "Q4_1", 32, 20, Dtype::q4_1, true, take_q4_1},
    {7, "Q5_1", 32, 24, Dtype::f16, false, take_q5_1},
    {10, "Q2_K", 256, 84, Dtype::f16, false, take_q2_k},
    {11, "Q3_K", 256, 110, Dtype::q6_k, true, take_q3_k},
    {12, "Q4_K", 256, 144, Dtype::q4_k, true, take_q4_k},
    {13, "Q5_K", 256, 176, Dtype::q5_k, true, take_q5_k},
    {14, "Q6_K", 256, 210, Dtype::q6_k, true, take_q6_k},
};

// Kinds that exist and are not read.
struct UnreadKind {
  uint32_t number;
  std::string_view name;
};
constexpr UnreadKind kUnreadKinds[] = {
    {4, "Q4_2"},        {5, "Q4_3"},      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"},    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},    {19, "IQ1_S"},    {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},     {24, "I8"},
    {25, "I16"},        {26, "I32"},      {27, "I64"},   {28, "F64"},   {29, "IQ1_M"},      {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"}, {34, "TQ1_0"}, {35, "TQ2_0"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"}, {39, "MXFP4"}};

}  // namespace

// These are kept as they lie: ours were laid out after them.
bool GgufKind::is_same_bytes() const {
  return take_apart == take_q8_0 || take_apart == take_q4_0 || take_apart == take_q4_1;
}

const GgufKind& gguf_kind(uint32_t number, const std::string& tensor) {
  const auto* const kind = std::ranges::find(kGgufKinds, number, &GgufKind::number);
  if (kind != std::end(kGgufKinds)) return *kind;
  const auto* const unread = std::ranges::find(kUnreadKinds, number, &UnreadKind::number);
  throw Error(tensor + " is of a kind of number that is not read", joined(kGgufKinds, ", ", &GgufKind::name),
              unread == std::end(kUnreadKinds) ? "kind " + std::to_string(number) : std::string(unread->name),
              "a file of the same model in another kind, Q4_K_M or Q8_0 say");
}

}  // namespace ordinal::convert
