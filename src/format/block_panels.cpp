// block_panels.cpp: see block_panels.h.
#include "format/block_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr int64_t kBlock = 32;  // numbers that share a scale

// A block of one row: its scale in f16 and its whole multiples.
struct Rounded {
  uint16_t scale = 0;
  float multiples[kBlock] = {};
  float squared_error = 0;
};

// The multiples of `wanted` (as f16 has it) nearest to x, within [low, high]. x is filled up with zeros.
Rounded round_block(const float* x, float wanted, float low, float high) {
  Rounded r;
  r.scale = f32_to_f16(wanted);
  const float scale = f16_to_f32(r.scale);
  const float inverse = scale == 0 ? 0 : 1 / scale;
  float errors[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    const float whole = (x[i] * inverse + 12582912.0f) - 12582912.0f;  // 1.5 * 2^23: to the nearest, ties to even
    r.multiples[i] = whole < low ? low : whole > high ? high : whole;
    errors[i] = x[i] - scale * r.multiples[i];
  }
  for (const float error : errors) r.squared_error += error * error;
  return r;
}

// The number of largest magnitude, sign and all.
float extreme_of(const float* x) {
  float found = 0;
  for (int i = 0; i < kBlock; ++i) found = std::abs(x[i]) > std::abs(found) ? x[i] : found;
  return found;
}

Rounded round_q8(const float* x) { return round_block(x, std::abs(extreme_of(x)) / 127.0f, -127, 127); }

// The scale that fits given multiples best: sum(x q) / sum(q q).
float refitted(const float* x, const Rounded& r) {
  float product = 0, square = 0;
  for (int i = 0; i < kBlock; ++i) {
    product += x[i] * r.multiples[i];
    square += r.multiples[i] * r.multiples[i];
  }
  return square == 0 ? 0 : product / square;
}

Rounded round_q4(const float* x) {
  const float extreme = extreme_of(x);
  Rounded best = round_block(x, extreme / -8.0f, -8, 7);
  for (int step = 0; step < 9; ++step) {
    Rounded candidate = round_block(x, extreme / (-8.6f + 0.4f * static_cast<float>(step)), -8, 7);
    for (int round = 0; round < 2; ++round) {
      if (candidate.squared_error < best.squared_error) best = candidate;
      candidate = round_block(x, refitted(x, candidate), -8, 7);
    }
  }
  return best;
}

// The kind, which must be one of blocks.
const DtypeInfo& block_info(Dtype dtype) {
  const DtypeInfo& info = dtype_info(dtype);
  if (info.block_items != kBlock)
    throw Error("only block kinds are packed in blocks", "q8_0 or q4_0", std::string(info.name));
  return info;
}

// The byte of a block that holds number i of a lane: all of it, or with 4 bits its lower half for i < 16.
int64_t byte_of(bool four_bits, int64_t lane, int64_t i) {
  const int64_t group = i / 4;
  return 2 * kPanelLanes + ((four_bits ? group % 4 : group) * kPanelLanes + lane) * 4 + i % 4;
}

}  // namespace

double pack_block_panel(Dtype dtype, const float* rows, int64_t count, int64_t k, std::byte* panel) {
  const bool four_bits = dtype == Dtype::q4_0;
  const int64_t block_bytes = block_info(dtype).block_bytes * kPanelLanes, blocks = (k + kBlock - 1) / kBlock;
  double squared_error = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    std::byte* block = panel + b * block_bytes;
    // Numbers of 4 bits are stored 8 higher: a number that stands for nothing is 8 in both halves of its byte.
    std::memset(block, 0, static_cast<size_t>(block_bytes));
    if (four_bits) std::memset(block + 2 * kPanelLanes, 0x88, static_cast<size_t>(block_bytes - 2 * kPanelLanes));
    const int64_t n = std::min(kBlock, k - b * kBlock);
    for (int64_t lane = 0; lane < count; ++lane) {
      float x[kBlock] = {};
      std::copy_n(rows + lane * k + b * kBlock, n, x);
      const Rounded r = four_bits ? round_q4(x) : round_q8(x);
      squared_error += r.squared_error;
      std::memcpy(block + 2 * lane, &r.scale, 2);
      for (int64_t i = 0; i < n; ++i) {
        std::byte& at = block[byte_of(four_bits, lane, i)];
        const int multiple = static_cast<int>(r.multiples[i]);
        const auto stored = static_cast<uint8_t>(four_bits ? multiple + 8 : multiple);
        if (!four_bits)
          at = std::byte{stored};
        else if (i < kBlock / 2)
          at = (at & std::byte{0xf0}) | std::byte{stored};
        else
          at = (at & std::byte{0x0f}) | (std::byte{stored} << 4);
      }
    }
  }
  return squared_error;
}

void unpack_block_panel(Dtype dtype, const std::byte* panel, int64_t k, int64_t first, int64_t count, float* rows) {
  const bool four_bits = dtype == Dtype::q4_0;
  const int64_t block_bytes = block_info(dtype).block_bytes * kPanelLanes;
  for (int64_t row = 0; row < count; ++row)
    for (int64_t start = 0; start < k; start += kBlock) {
      const std::byte* block = panel + start / kBlock * block_bytes;
      uint16_t scale_bits = 0;
      std::memcpy(&scale_bits, block + 2 * (first + row), 2);
      const float scale = f16_to_f32(scale_bits);
      for (int64_t i = 0; i < std::min(kBlock, k - start); ++i) {
        const auto stored = static_cast<uint8_t>(block[byte_of(four_bits, first + row, i)]);
        const int half = i < kBlock / 2 ? stored & 15 : stored >> 4;
        rows[row * k + start + i] = scale * static_cast<float>(four_bits ? half - 8 : static_cast<int8_t>(stored));
      }
    }
}

}  // namespace ordinal
