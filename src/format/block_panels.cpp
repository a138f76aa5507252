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
  int multiples[kBlock] = {};
  double squared_error = 0;
};

// The multiples of `wanted` (as f16 has it) nearest to x, within [low, high].
Rounded round_block(const float* x, int64_t n, double wanted, int low, int high) {
  Rounded r;
  r.scale = f32_to_f16(static_cast<float>(wanted));
  const double scale = f16_to_f32(r.scale);
  for (int64_t i = 0; i < n; ++i) {
    const double steps = scale == 0 ? 0 : std::nearbyint(x[i] / scale);
    r.multiples[i] = static_cast<int>(std::clamp(steps, static_cast<double>(low), static_cast<double>(high)));
    const double error = x[i] - scale * r.multiples[i];
    r.squared_error += error * error;
  }
  return r;
}

float largest_magnitude(const float* x, int64_t n) {
  const float* found = std::max_element(x, x + n, [](float a, float b) { return std::abs(a) < std::abs(b); });
  return *found;
}

Rounded round_q8(const float* x, int64_t n) {
  return round_block(x, n, std::abs(largest_magnitude(x, n)) / 127.0, -127, 127);
}

// The scale that fits given multiples best: sum(x q) / sum(q q).
double refitted(const float* x, int64_t n, const Rounded& r) {
  double product = 0, square = 0;
  for (int64_t i = 0; i < n; ++i) {
    product += static_cast<double>(x[i]) * r.multiples[i];
    square += static_cast<double>(r.multiples[i]) * r.multiples[i];
  }
  return square == 0 ? 0 : product / square;
}

Rounded round_q4(const float* x, int64_t n) {
  const double extreme = largest_magnitude(x, n);
  Rounded best = round_block(x, n, extreme / -8.0, -8, 7);
  for (double divisor = -8.6; divisor < -5.3; divisor += 0.2) {
    Rounded candidate = round_block(x, n, extreme / divisor, -8, 7);
    for (int round = 0; round < 2; ++round) {
      if (candidate.squared_error < best.squared_error) best = candidate;
      candidate = round_block(x, n, refitted(x, n, candidate), -8, 7);
    }
  }
  return best;
}

}  // namespace

double pack_block_panel(Dtype dtype, const float* rows, int64_t count, int64_t k, std::byte* panel) {
  const DtypeInfo& info = dtype_info(dtype);
  if (info.block_items != kBlock)
    throw Error("only block kinds are packed in blocks", "q8_0 or q4_0", std::string(info.name));
  const bool four_bits = dtype == Dtype::q4_0;
  const int64_t block_bytes = info.block_bytes * kPanelLanes, blocks = (k + kBlock - 1) / kBlock;
  double squared_error = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    std::byte* block = panel + b * block_bytes;
    // Numbers of 4 bits are stored 8 higher: a number that stands for nothing is 8 in both halves of its byte.
    std::memset(block, 0, static_cast<size_t>(block_bytes));
    if (four_bits) std::memset(block + 2 * kPanelLanes, 0x88, static_cast<size_t>(block_bytes - 2 * kPanelLanes));
    const int64_t n = std::min(kBlock, k - b * kBlock);
    for (int64_t lane = 0; lane < count; ++lane) {
      const float* x = rows + lane * k + b * kBlock;
      const Rounded r = four_bits ? round_q4(x, n) : round_q8(x, n);
      squared_error += r.squared_error;
      std::memcpy(block + 2 * lane, &r.scale, 2);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t group = i / 4;
        std::byte& at = block[2 * kPanelLanes + ((four_bits ? group % 4 : group) * kPanelLanes + lane) * 4 + i % 4];
        const auto stored = static_cast<uint8_t>(four_bits ? r.multiples[i] + 8 : r.multiples[i]);
        if (!four_bits)
          at = std::byte{stored};
        else if (group < 4)
          at = (at & std::byte{0xf0}) | std::byte{stored};
        else
          at = (at & std::byte{0x0f}) | (std::byte{stored} << 4);
      }
    }
  }
  return squared_error;
}

}  // namespace ordinal
