// avx2.cpp: the kernels for AVX2 with FMA and F16C: 8 lanes, 16 registers, a tile of 3 rows by one panel.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using F = __m256;

struct V {
  static constexpr int width = 8;
  static constexpr int tile_rows = 3;
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static F set(float a) { return _mm256_set1_ps(a); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F larger(F a, F b) { return _mm256_max_ps(a, b); }
  static F smaller(F a, F b) { return _mm256_min_ps(a, b); }
  static F zero_where_less(F x, F bound, F y) { return _mm256_and_ps(_mm256_cmp_ps(x, bound, _CMP_NLT_UQ), y); }
  static F add_to_exponent(F p, F shifted) {
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), n));
  }
  static F load_f16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static F load_bf16(const uint16_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
};

#include "kernels/kernels_impl.h"

bool runs_here() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = make_table("avx2", runs_here);

}  // namespace ordinal
#endif
