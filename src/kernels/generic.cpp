// generic.cpp: the kernels in plain C++, for any processor: the twin that the others are tested against.
// Where the baseline has a fused multiply-add (arm64) the compiler turns these loops into vector code; on x86-64 each
// one is a call of the C library's fmaf: slow, and right.
#include "kernels/kernels.h"

namespace ordinal {
namespace {

struct F {
  float lane[8];
};
struct I {
  int32_t lane[8];
};

// Applies `expression` to every lane i of the result c.
#define LANES(expression)                                  \
  F c;                                                     \
  for (int i = 0; i < kWidth; ++i) c.lane[i] = expression; \
  return c

struct V {
  static constexpr int kWidth = 8;
  static constexpr int kTileRows = 3;
  static constexpr int kTilePanels = 1;
  static constexpr int64_t kPartOfK = 256;
  static constexpr int kQuantRows = 1;
  static constexpr int kQuantStreams = 1;
  static constexpr int kByteParts = 1, kByteZero = 0;
  static constexpr int64_t kNearBytes = 30 * 1024;
  static F load(const float* p) { LANES(p[i]); }
  static void store(float* p, F a) {
    for (int i = 0; i < kWidth; ++i) p[i] = a.lane[i];
  }
  static F set(float a) { LANES(a); }
  static F fma(F a, F b, F d) { LANES(__builtin_fmaf(a.lane[i], b.lane[i], d.lane[i])); }
  static F add(F a, F b) { LANES(a.lane[i] + b.lane[i]); }
  static F sub(F a, F b) { LANES(a.lane[i] - b.lane[i]); }
  static F mul(F a, F b) { LANES(a.lane[i] * b.lane[i]); }
  static F div(F a, F b) { LANES(a.lane[i] / b.lane[i]); }
  static F larger(F a, F b) { LANES(a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]); }
  static F smaller(F a, F b) { LANES(a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]); }
  static F zero_where_less(F x, F bound, F y) { LANES(x.lane[i] < bound.lane[i] ? 0.0f : y.lane[i]); }
  static F add_to_exponent(F p, F shifted) { LANES(float_of(bits_of(p.lane[i]) + (bits_of(shifted.lane[i]) << 23))); }
  static F load_f16(const uint16_t* p) { LANES(widen_f16(p[i])); }
  static F load_bf16(const uint16_t* p) { LANES(float_of(static_cast<uint32_t>(p[i]) << 16)); }

  static I start(int32_t value) {
    I c;
    for (int32_t& lane : c.lane) lane = value;
    return c;
  }
  static I load_bytes(const std::byte* p) {
    I c;
    __builtin_memcpy(&c, p, sizeof c);
    return c;
  }
  static I set4(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return start(four);
  }
  static void store_bytes(std::byte* p, I a) { __builtin_memcpy(p, &a, sizeof a); }
  static constexpr int dots_together(int) { return 8; }
  static I begin(I acc) { return acc; }
  static I dot(I dots, I w, I x) {
    for (int i = 0; i < kWidth; ++i)
      for (int byte = 0; byte < 4; ++byte) dots.lane[i] += signed_byte(w.lane[i], byte) * signed_byte(x.lane[i], byte);
    return dots;
  }
  static I end(I, I dots) { return dots; }
  static I part_of_bytes(I a, int) { return a; }
  static I dot_bytes(I acc, I w, I x) { return dot(acc, w, x); }
  static I shift_left(I a, int n) {
    for (int32_t& lane : a.lane) lane = static_cast<int32_t>(static_cast<uint32_t>(lane) << n);
    return a;
  }
  static I shift_right(I a, int n) {
    for (int32_t& lane : a.lane) lane = static_cast<int32_t>(static_cast<uint32_t>(lane) >> n);
    return a;
  }
  static I mask(I a, int byte) {
    for (int32_t& lane : a.lane) lane &= 0x01010101 * byte;
    return a;
  }
  static I join(I a, I b) {
    for (int i = 0; i < kWidth; ++i) a.lane[i] |= b.lane[i];
    return a;
  }
  static F load_i8(const std::byte* p) { LANES(static_cast<float>(static_cast<int8_t>(p[i]))); }
  static F to_float(I a) { LANES(static_cast<float>(a.lane[i])); }
  static float largest_lane(F a) {
    float largest = a.lane[0];
    for (const float lane : a.lane) largest = lane > largest ? lane : largest;
    return largest;
  }
  static float sum_of_lanes(F a) {
    float sum = 0.0f;
    for (const float lane : a.lane) sum += lane;
    return sum;
  }
  static void narrow_to_bytes(int8_t* p, F a) {
    for (int i = 0; i < kWidth; ++i) p[i] = static_cast<int8_t>(a.lane[i]);
  }

 private:
  static int32_t signed_byte(int32_t four, int byte) {
    int8_t bytes[4];
    __builtin_memcpy(bytes, &four, 4);
    return bytes[byte];
  }
  static uint32_t bits_of(float a) {
    uint32_t bits;
    __builtin_memcpy(&bits, &a, 4);
    return bits;
  }
  static float float_of(uint32_t bits) {
    float a;
    __builtin_memcpy(&a, &bits, 4);
    return a;
  }
  static float widen_f16(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 31) return float_of(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
    return float_of(sign | bits_of(static_cast<float>(fraction) * 0x1p-24f));
  }
};
#undef LANES

#include "kernels/kernels_impl.h"

bool runs_here() { return true; }

}  // namespace

extern const Kernels kGenericKernels;
const Kernels kGenericKernels = make_table("generic", runs_here);

}  // namespace ordinal
