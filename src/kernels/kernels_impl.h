// kernels_impl.h: the only source of the matrix product, over a small vector vocabulary that the including file
// supplies. Included once per instruction set, inside an anonymous namespace of ordinal.
//
// Vocabulary: type F (a vector of floats) and struct V with
//   kWidth, kTileRows             lanes of F; rows of the widest register tile
//   load store set                unaligned memory, broadcast
//   fma(a, b, c) = a * b + c rounded once; add sub mul div; larger(a, b) = a > b ? a : b; smaller(a, b) = a < b ? a : b
//   zero_where_less(x, bound, y)  0 where x < bound, else y
//   add_to_exponent(p, shifted)   adds the integer in the low bits of `shifted` to the exponent of p
//   load_f16 load_bf16            kWidth numbers of 16 bits, widened
// No function with a weak symbol may be called from here: the linker could hand one compiled for a newer processor to
// everybody. That rules out std:: templates; memcpy and built-ins are fine.

struct LoadF32 {
  static constexpr int64_t kBytes = 4;
  static F load(const std::byte* p) { return V::load(reinterpret_cast<const float*>(p)); }
};
struct LoadF16 {
  static constexpr int64_t kBytes = 2;
  static F load(const std::byte* p) { return V::load_f16(reinterpret_cast<const uint16_t*>(p)); }
};
struct LoadBf16 {
  static constexpr int64_t kBytes = 2;
  static F load(const std::byte* p) { return V::load_bf16(reinterpret_cast<const uint16_t*>(p)); }
};

// R rows of x against P neighbouring panels: R * P * 32 sums in registers, each over k in order. Rows of x are reached
// as groups of three from one pointer each, which fits the addressing modes; with R pointers they would spill.
template <class Load, int R, int P>
inline void tile(const PanelProduct& a, int64_t row, int64_t panel) {
  constexpr int vectors = kPanelLanes / V::kWidth;
  constexpr int groups = (R + 2) / 3;
  F sums[R][P][vectors];
  float* y = a.y + row * a.y_stride + panel * kPanelLanes;
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v)
        sums[r][p][v] = a.accumulate ? V::load(y + r * a.y_stride + p * kPanelLanes + v * V::kWidth) : V::set(0.0f);

  const float* x[groups];
  for (int g = 0; g < groups; ++g) x[g] = a.x + (row + 3 * g) * a.x_stride;
  const std::byte* weights[P];
  for (int p = 0; p < P; ++p) weights[p] = a.panels + (panel + p) * a.panel_stride;
  const int64_t stride = a.x_stride;

  for (int64_t k = 0; k < a.k; ++k) {
    F w[P][vectors];
    for (int p = 0; p < P; ++p) {
      for (int v = 0; v < vectors; ++v) w[p][v] = Load::load(weights[p] + v * V::kWidth * Load::kBytes);
      weights[p] += kPanelLanes * Load::kBytes;
    }
    for (int r = 0; r < R; ++r) {
      const F broadcast = V::set(x[r / 3][(r % 3) * stride]);
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v) sums[r][p][v] = V::fma(broadcast, w[p][v], sums[r][p][v]);
    }
    for (int g = 0; g < groups; ++g) ++x[g];
  }

  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v) V::store(y + r * a.y_stride + p * kPanelLanes + v * V::kWidth, sums[r][p][v]);
}

// Panels taken together for R rows: as many as the registers hold sums for, at most 4 streams.
template <int R>
constexpr int panels_at_once() {
  constexpr int fit = V::kTileRows / R;
  return fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

template <class Load, int R>
void tile_rows(const PanelProduct& a, int64_t row, int64_t first, int64_t last) {
  constexpr int P = panels_at_once<R>();
  int64_t panel = first;
  for (; panel + P <= last; panel += P) tile<Load, R, P>(a, row, panel);
  for (; panel < last; ++panel) tile<Load, R, 1>(a, row, panel);
}

template <class Load, int R>
inline void call_tile_rows(int64_t rows, const PanelProduct& a, int64_t row, int64_t first, int64_t last) {
  if (rows == R)
    tile_rows<Load, R>(a, row, first, last);
  else if constexpr (R > 1)
    call_tile_rows<Load, R - 1>(rows, a, row, first, last);
}

// Rows go in tiles of nearly equal height (13 as 7 and 6, not 12 and 1). With more than one tile, panels are the outer
// loop, so that a panel is read from memory once and from the cache for the other tiles.
template <class Load>
void product(const PanelProduct& a) {
  const int64_t tiles = (a.m + V::kTileRows - 1) / V::kTileRows;
  const int64_t step = tiles == 1 ? a.n_panels : panels_at_once<V::kTileRows>();
  for (int64_t panel = 0; panel < a.n_panels; panel += step) {
    const int64_t last = panel + step < a.n_panels ? panel + step : a.n_panels;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t row = a.m * t / tiles;
      call_tile_rows<Load, V::kTileRows>(a.m * (t + 1) / tiles - row, a, row, panel, last);
    }
  }
}

#include "kernels/functions_impl.h"
#include "kernels/quant_impl.h"

constexpr Kernels make_table(const char* name, bool (*runs_here)()) {
  return {name,
          runs_here,
          V::kTileRows,
          {product<LoadF32>, product<LoadF16>, product<LoadBf16>, quant_product<BlockQ8>, quant_product<BlockQ4>},
          quantize,
          integer_peak,
          layer_norm,
          rms_norm,
          softmax,
          gelu_tanh,
          gelu_erf,
          relu,
          silu,
          exponential_of,
          scale,
          add,
          multiply};
}
