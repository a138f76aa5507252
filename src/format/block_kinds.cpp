// block_kinds.cpp: see block_kinds.h; and how numbers are rounded to each kind.
#include "format/block_kinds.h"

#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr int64_t kStretchWeights = 32;

// Numbers as whole multiples of a scale, and what is lost.
struct Rounded {
  uint16_t scale = 0;
  float multiples[kStretchWeights] = {};
  float squared_error = 0;
};

// The multiples of `wanted` (as f16 has it) nearest to x, within [low, high].
Rounded round_stretch(const float* x, float wanted, float low, float high) {
  Rounded r;
  r.scale = f32_to_f16(wanted);
  const float scale = f16_to_f32(r.scale);
  const float inverse = scale == 0 ? 0 : 1 / scale;
  float errors[kStretchWeights];
  for (int i = 0; i < kStretchWeights; ++i) {
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
  for (int i = 0; i < kStretchWeights; ++i) found = std::abs(x[i]) > std::abs(found) ? x[i] : found;
  return found;
}

BlockNumbers numbers_of(const Rounded& rounded) {
  BlockNumbers block;
  block.d = rounded.scale;
  for (int i = 0; i < kStretchWeights; ++i) block.multiples[i] = static_cast<int8_t>(rounded.multiples[i]);
  return block;
}

BlockNumbers round_q8_0(const float* x) {
  return numbers_of(round_stretch(x, std::abs(extreme_of(x)) / 127.0f, -127, 127));
}

// The scale that fits given multiples best: sum(x q) / sum(q q).
float refitted(const float* x, const Rounded& r) {
  float product = 0, square = 0;
  for (int i = 0; i < kStretchWeights; ++i) {
    product += x[i] * r.multiples[i];
    square += r.multiples[i] * r.multiples[i];
  }
  return square == 0 ? 0 : product / square;
}

BlockNumbers round_q4_0(const float* x) {
  const float extreme = extreme_of(x);
  Rounded best = round_stretch(x, extreme / -8.0f, -8, 7);
  for (int step = 0; step < 9; ++step) {
    Rounded candidate = round_stretch(x, extreme / (-8.6f + 0.4f * static_cast<float>(step)), -8, 7);
    for (int round = 0; round < 2; ++round) {
      if (candidate.squared_error < best.squared_error) best = candidate;
      candidate = round_stretch(x, refitted(x, candidate), -8, 7);
    }
  }
  return numbers_of(best);
}

// The multiples nearest to x, from `low` to `high`, the scales and offsets of the block being settled.
void fit_multiples(BlockNumbers& block, const float* x, int items, float low, float high) {
  const float d = f16_to_f32(block.d), o = f16_to_f32(block.o);
  for (int i = 0; i < items; ++i) {
    const int part = i / block.per_scale;
    const float scale = d * static_cast<float>(block.scales[part]),
                offset = o * static_cast<float>(block.offsets[part]);
    const float whole = scale == 0 ? 0 : std::nearbyint((x[i] - offset) / scale);
    block.multiples[i] = static_cast<int8_t>(std::clamp(whole, low, high));
  }
}

BlockNumbers round_q4_1(const float* x) {
  const auto [least, most] = std::minmax_element(x, x + kStretchWeights);
  BlockNumbers block;
  block.d = f32_to_f16((*most - *least) / 15);
  block.o = f32_to_f16(*least);
  fit_multiples(block, x, kStretchWeights, 0, 15);
  return block;
}

// `wanted` in whole multiples of the largest of them over `top`; returns that unit.
template <int n>
float share_unit(const float (&wanted)[n], float top, int8_t* multiples) {
  const float largest =
      *std::max_element(wanted, wanted + n, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float unit = f16_to_f32(f32_to_f16(largest / top));
  for (int i = 0; i < n; ++i)
    multiples[i] = static_cast<int8_t>(unit == 0 ? 0 : std::clamp(std::nearbyint(wanted[i] / unit), -128.0f, 127.0f));
  return unit;
}

// Every 32 numbers from their least, or 0, up to their largest in `top` steps; steps and least numbers in 1/63 of the
// largest in the block.
BlockNumbers round_with_offsets(const float* x, float top) {
  float steps[8], least[8];
  for (int s = 0; s < 8; ++s) {
    const auto [low, high] = std::minmax_element(x + s * kStretchWeights, x + (s + 1) * kStretchWeights);
    least[s] = std::min(*low, 0.0f);
    steps[s] = std::max(*high - least[s], 0.0f) / top;
  }
  BlockNumbers block;
  block.d = f32_to_f16(share_unit(steps, 63, block.scales));
  block.o = f32_to_f16(share_unit(least, 63, block.offsets));
  fit_multiples(block, x, 8 * kStretchWeights, 0, top);
  return block;
}
BlockNumbers round_q4_k(const float* x) { return round_with_offsets(x, 15); }
BlockNumbers round_q5_k(const float* x) { return round_with_offsets(x, 31); }

// The largest magnitude of every 16 numbers at -32 steps; steps in 1/128 of the largest in the block.
BlockNumbers round_q6_k(const float* x) {
  float steps[16];
  for (int s = 0; s < 16; ++s)
    steps[s] = *std::max_element(x + 16 * s, x + 16 * (s + 1), [](float a, float b) {
      return std::abs(a) < std::abs(b);
    }) / -32;
  BlockNumbers block;
  block.per_scale = 16;
  block.d = f32_to_f16(share_unit(steps, -128, block.scales));
  fit_multiples(block, x, 8 * kStretchWeights, -32, 31);
  return block;
}

constexpr BlockKind kBlockKinds[] = {
    {Dtype::q8_0, 1, 1, 0, 0, 8, 0, round_q8_0},   //
    {Dtype::q4_0, 1, 1, 0, 0, 4, 8, round_q4_0},   //
    {Dtype::q4_1, 2, 1, 0, 0, 4, 0, round_q4_1},   //
    {Dtype::q4_k, 2, 8, 1, 1, 4, 0, round_q4_k},   //
    {Dtype::q5_k, 2, 8, 1, 1, 5, 0, round_q5_k},   //
    {Dtype::q6_k, 1, 8, 2, 0, 6, 32, round_q6_k},  //
};

std::string_view name_of(const BlockKind& kind) { return dtype_info(kind.dtype).name; }

}  // namespace

const BlockKind& block_kind(Dtype dtype) {
  const auto* const kind = std::ranges::find(kBlockKinds, dtype, &BlockKind::dtype);
  if (kind == std::end(kBlockKinds))
    throw Error("only block kinds are packed in blocks", joined(kBlockKinds, ", ", name_of),
                std::string(dtype_info(dtype).name));
  return *kind;
}

}  // namespace ordinal
