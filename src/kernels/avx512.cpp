// avx512.cpp: the kernels for AVX-512 (F, BW, VL, DQ, VNNI): 16 lanes, 32 registers, a tile of 6 rows by two panels.
#if defined(__x86_64__)
// GCC 12 takes the "undefined" operands in its own header for mistakes (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using F = __m512;
using I = __m512i;

struct V {
  static constexpr int kWidth = 16;
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 2;
  static constexpr int64_t kPartOfK = 256;
  static constexpr int kQuantRows = 6;
  static constexpr int kQuantStreams = 1;
  static constexpr int kByteParts = 1, kByteZero = 128;
  static constexpr int64_t kNearBytes = 30 * 1024;
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static F set(float a) { return _mm512_set1_ps(a); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F larger(F a, F b) { return _mm512_max_ps(a, b); }
  static F smaller(F a, F b) { return _mm512_min_ps(a, b); }
  static F zero_where_less(F x, F bound, F y) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, bound, _CMP_NLT_UQ), y);
  }
  static F add_to_exponent(F p, F shifted) {
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), n));
  }
  static F load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_bf16(const uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }

  static I start(int32_t value) { return _mm512_set1_epi32(value); }
  static I load_bytes(const std::byte* p) { return _mm512_loadu_si512(p); }
  static void store_bytes(std::byte* p, I a) { _mm512_storeu_si512(p, a); }
  static I set4(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  // VNNI adds to 32 bits at once.
  static constexpr int dots_together(int) { return 8; }
  static I begin(I acc) { return acc; }
  static I dot(I dots, I w, I x) { return _mm512_dpbusd_epi32(dots, w, x); }
  static I end(I, I dots) { return dots; }
  // It multiplies unsigned by signed bytes.
  static I part_of_bytes(I a, int) { return _mm512_xor_si512(a, _mm512_set1_epi8(-128)); }
  static I dot_bytes(I acc, I w, I x) { return dot(acc, w, x); }
  static I shift_left(I a, int n) { return _mm512_slli_epi16(a, static_cast<unsigned>(n)); }
  static I shift_right(I a, int n) { return _mm512_srli_epi16(a, static_cast<unsigned>(n)); }
  static I mask(I a, int byte) { return _mm512_and_si512(a, _mm512_set1_epi8(static_cast<char>(byte))); }
  static I join(I a, I b) { return _mm512_or_si512(a, b); }
  static F load_i8(const std::byte* p) {
    return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static float largest_lane(F a) { return _mm512_reduce_max_ps(a); }
  static float sum_of_lanes(F a) { return _mm512_reduce_add_ps(a); }
  static void narrow_to_bytes(int8_t* p, F a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
  }
};

#include "kernels/kernels_impl.h"

bool runs_here() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = make_table("avx512", runs_here);

}  // namespace ordinal
#endif
