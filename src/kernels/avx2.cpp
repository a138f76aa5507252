// avx2.cpp: the kernels for AVX2 with FMA and F16C: 8 lanes, 16 registers, a tile of 3 rows by one panel.
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using F = __m256;
using I = __m256i;

struct V {
  static constexpr int kWidth = 8;
  static constexpr int kTileRows = 3;
  static constexpr int kTilePanels = 1;
  static constexpr int64_t kPartOfK = 768;
  static constexpr int kQuantRows = 2;
  static constexpr int kQuantStreams = 4;
  static constexpr int kByteParts = 2, kByteZero = 0;
  static constexpr int64_t kNearBytes = 28 * 1024;
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

  // Pairs of byte products are added in 16 bits, which saturate: as many as fit are added there, and then widened once.
  // A pair is at most 2 * largest * 127, so weights of 4 bits fit eight times (30,480), and bytes not once.
  static constexpr int dots_together(int largest) { return 32767 / (2 * 127 * largest); }
  // Keeps GCC from taking all products first, which do not fit the registers, and adding them after.
  static I in_order(I sum) {
    asm volatile("" : "+x"(sum));
    return sum;
  }
  static I begin(I) { return _mm256_setzero_si256(); }
  static I dot(I dots, I w, I x) { return in_order(_mm256_add_epi16(dots, _mm256_maddubs_epi16(w, x))); }
  static I end(I acc, I dots) { return _mm256_add_epi32(acc, _mm256_madd_epi16(dots, _mm256_set1_epi16(1))); }
  // The even bytes, or the odd ones, as words: products of signed bytes would saturate, and to deal with signs costs
  // more.
  static I part_of_bytes(I a, int part) { return _mm256_srai_epi16(part == 0 ? _mm256_slli_epi16(a, 8) : a, 8); }
  static I dot_bytes(I acc, I w, I x) { return in_order(_mm256_add_epi32(acc, _mm256_madd_epi16(w, x))); }
  static I start(int32_t value) { return _mm256_set1_epi32(value); }
  static I load_bytes(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static I set4(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
  }
  static void store_bytes(std::byte* p, I a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
  static I shift_left(I a, int n) { return _mm256_slli_epi16(a, n); }
  static I shift_right(I a, int n) { return _mm256_srli_epi16(a, n); }
  static I mask(I a, int byte) { return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(byte))); }
  static I join(I a, I b) { return _mm256_or_si256(a, b); }
  static F load_i8(const std::byte* p) {
    return to_float(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static float largest_lane(F a) {
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
  }
  static float sum_of_lanes(F a) {
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
  }
  static void narrow_to_bytes(int8_t* p, F a) {
    const __m256i whole = _mm256_cvtps_epi32(a);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }
};

#include "kernels/kernels_impl.h"

// What clang before 17 has no word for.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool runs_here() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = make_table("avx2", runs_here);

}  // namespace ordinal
#endif
