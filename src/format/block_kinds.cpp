// block_kinds.cpp: see block_kinds.h; and how numbers are rounded to each kind.
#include "format/block_kinds.h"

#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr int64_t kStretch = 32;

// Numbers as whole multiples of a scale, and what is lost.
struct Rounded {
  uint16_t scale = 0;
  float multiples[kStretch] = {};
  float squared_error = 0;
};

// The multiples of `wanted` (as f16 has it) nearest to x, within [low, high].
Rounded round_stretch(const float* x, float wanted, float low, float high) {
  Rounded r;
  r.scale = f32_to_f16(wanted);
  const float scale = f16_to_f32(r.scale);
  const float inverse = scale == 0 ? 0 : 1 / scale;
  float errors[kStretch];
  for (int i = 0; i < kStretch; ++i) {
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
  for (int i = 0; i < kStretch; ++i) found = std::abs(x[i]) > std::abs(found) ? x[i] : found;
  return found;
}

BlockNumbers numbers_of(const Rounded& rounded) {
  BlockNumbers block;
  block.d = rounded.scale;
  for (int i = 0; i < kStretch; ++i) block.multiples[i] = static_cast<int8_t>(rounded.multiples[i]);
  return block;
}

BlockNumbers round_q8_0(const float* x) {
  return numbers_of(round_stretch(x, std::abs(extreme_of(x)) / 127.0f, -127, 127));
}

// The scale that fits given multiples best: sum(x q) / sum(q q).
float refitted(const float* x, const Rounded& r) {
  float product = 0, square = 0;
  for (int i = 0; i < kStretch; ++i) {
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

constexpr BlockKind kBlockKinds[] = {
    {Dtype::q8_0, 1, 1, 0, 0, 8, 0, round_q8_0},
    {Dtype::q4_0, 1, 1, 0, 0, 4, 8, round_q4_0},
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
