// kernels_impl.h: the only source of the matrix product, over a small vector vocabulary that the including file
// supplies. Included once per instruction set, inside an anonymous namespace of ordinal.
//
// Vocabulary: type F (a vector of floats) and struct V with
//   kWidth                        lanes of F
//   kTileRows, kTilePanels        rows and panels of the widest register tile
//   kPartOfK                      numbers of a panel that many tiles of rows pass over before the next part comes
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

// What a tile reads from memory it asks for ahead, this many bytes over all its streams: that gets more out of the
// memory than the processor fetches by itself (tools/SPEED.md).
constexpr int64_t kAhead = 4096;

// R rows of x against P neighbouring panels: R * P * 32 sums in registers, each over k in order. Rows of x and panels
// are reached as groups of three from one pointer each, which fits the addressing modes; more pointers would spill. A
// function of its own, so that its loop is easy to find in the disassembly.
template <class Load, int R, int P, bool Ahead>
[[gnu::noinline]] void tile(const PanelProduct& a, int64_t row, int64_t panel) {
  constexpr int vectors = kPanelLanes / V::kWidth;
  constexpr int groups = (R + 2) / 3, panel_groups = (P + 2) / 3;
  F sums[R][P][vectors];
  float* y = a.y + row * a.y_stride + panel * kPanelLanes;
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v)
        sums[r][p][v] = a.accumulate ? V::load(y + r * a.y_stride + p * kPanelLanes + v * V::kWidth) : V::set(0.0f);

  const float* x[groups];
  for (int g = 0; g < groups; ++g) x[g] = a.x + (row + 3 * g) * a.x_stride;
  const std::byte* weights[panel_groups];
  for (int g = 0; g < panel_groups; ++g) weights[g] = a.panels + (panel + 3 * g) * a.panel_stride;
  const int64_t stride = a.x_stride, panel_stride = a.panel_stride;
  constexpr int64_t steps_ahead = kAhead / P / (kPanelLanes * Load::kBytes);

  for (int64_t k = 0; k < a.k; ++k) {
    if constexpr (Ahead) {
      const int64_t ahead = k + steps_ahead < a.k ? steps_ahead * kPanelLanes * Load::kBytes : 0;
      for (int p = 0; p < P; ++p)
        for (int line = 0; line < kPanelLanes * Load::kBytes; line += 64)
          __builtin_prefetch(weights[p / 3] + ahead + (p % 3) * panel_stride + line);
    }
    F w[P][vectors];
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v)
        w[p][v] = Load::load(weights[p / 3] + (p % 3) * panel_stride + v * V::kWidth * Load::kBytes);
    for (int g = 0; g < panel_groups; ++g) weights[g] += kPanelLanes * Load::kBytes;
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

// So many rows go in one tile, over one panel if need be: a pass over the weights is then enough.
constexpr int kNarrowRows = V::kTileRows * V::kTilePanels;

// Panels taken together for R rows: as many as the registers hold sums for, at most `most`.
template <int R>
constexpr int panels_at_once(int most) {
  const int fit = kNarrowRows / R;
  return fit < most ? fit : most;
}

// All panels for R rows, P at once, then the rest at once.
template <class Load, int R, int P, bool Ahead>
void tile_rows(const PanelProduct& a, int64_t row, int64_t panel = 0) {
  for (; panel + P <= a.n_panels; panel += P) tile<Load, R, P, Ahead>(a, row, panel);
  if constexpr (P > 1) tile_rows<Load, R, P - 1, Ahead>(a, row, panel);
}

template <class Load, int Most, bool Ahead, int R>
inline void call_tile_rows(int64_t rows, const PanelProduct& a, int64_t row) {
  if (rows == R)
    tile_rows<Load, R, panels_at_once<R>(Most), Ahead>(a, row);
  else if constexpr (R > 1)
    call_tile_rows<Load, Most, Ahead, R - 1>(rows, a, row);
}

// A part of k is so long that the panels of a tile, this part of them, stay near while every tile of rows passes over
// them.
constexpr int64_t kPartNumbers = V::kPartOfK * kPanelLanes;

// From so many tiles on a part is first copied, widened to f32, which is exact: the numbers are then converted once,
// not once a tile, and lie where neither pages nor cache sets collide. Measured: tools/SPEED.md.
template <class Load>
constexpr int64_t kTilesWorthCopying = Load::kBytes == 4 ? 12 : 5;

template <class Load>
inline void copy_part(const std::byte* part, int64_t k, float* wide) {
  for (int64_t i = 0; i < k * kPanelLanes; i += V::kWidth) V::store(wide + i, Load::load(part + i * Load::kBytes));
}

// Few rows read the panels side by side, once, as memory gives them, up to eight streams at a time. More rows go in
// tiles of nearly equal height (13 as 4, 4 and 5, not 6, 6 and 1), which pass one after the other over a part of a few
// panels: it is read from memory once, and that part of the rows stays near while the panels change. Between parts the
// sums rest in y.
template <class Load>
void product(const PanelProduct& a) {
  const int64_t tiles = (a.m + V::kTileRows - 1) / V::kTileRows;
  if (a.m <= kNarrowRows) return call_tile_rows<Load, 8, true, kNarrowRows>(a.m, a, 0);
  alignas(64) float wide[V::kTilePanels * kPartNumbers];
  for (int64_t k = 0; k < a.k; k += V::kPartOfK) {
    PanelProduct part = a;
    part.x += k;
    part.k = a.k - k < V::kPartOfK ? a.k - k : V::kPartOfK;
    part.accumulate = a.accumulate || k > 0;
    for (int64_t panel = 0; panel < a.n_panels; panel += V::kTilePanels) {
      part.n_panels = a.n_panels - panel < V::kTilePanels ? a.n_panels - panel : V::kTilePanels;
      part.panels = a.panels + panel * a.panel_stride + k * kPanelLanes * Load::kBytes;
      part.panel_stride = a.panel_stride;
      part.y = a.y + panel * kPanelLanes;
      const bool copied = tiles >= kTilesWorthCopying<Load>;
      if (copied) {
        for (int64_t p = 0; p < part.n_panels; ++p)
          copy_part<Load>(part.panels + p * a.panel_stride, part.k, wide + p * kPartNumbers);
        part.panels = reinterpret_cast<const std::byte*>(wide);
        part.panel_stride = kPartNumbers * 4;
      }
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t row = a.m * t / tiles, rows = a.m * (t + 1) / tiles - row;
        if (copied)
          call_tile_rows<LoadF32, V::kTilePanels, false, V::kTileRows>(rows, part, row);
        else if (t == 0)
          call_tile_rows<Load, V::kTilePanels, true, V::kTileRows>(rows, part, row);
        else
          call_tile_rows<Load, V::kTilePanels, false, V::kTileRows>(rows, part, row);
      }
    }
  }
}

// What the multiply-add units give at most: `rounds` times one step of a tile's worth of sums, on registers alone. Sum
// i begins at i and grows by 1, 2 or 3 a round.
int64_t multiply_add_peak(int64_t rounds, float* sum) {
  constexpr int sums = kNarrowRows * kPanelLanes / V::kWidth;
  F acc[sums], step[3] = {V::set(1.0f), V::set(2.0f), V::set(3.0f)};
#pragma GCC unroll 24
  for (int i = 0; i < sums; ++i) acc[i] = V::set(static_cast<float>(i));  // all different, or they would be one
  const F one = V::set(1.0f);
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 24
    for (int i = 0; i < sums; ++i) acc[i] = V::fma(step[i % 3], one, acc[i]);
  F total = V::set(0.0f);
#pragma GCC unroll 24
  for (int i = 0; i < sums; ++i) total = V::add(total, acc[i]);
  float lanes[V::kWidth];
  V::store(lanes, total);
  *sum = lanes[0];
  return rounds * sums * V::kWidth;
}

#include "kernels/functions_impl.h"
#include "kernels/quant_impl.h"

constexpr Kernels make_table(const char* name, bool (*runs_here)()) {
  return {name,
          runs_here,
          {product<LoadF32>, product<LoadF16>, product<LoadBf16>, quant_product<BlockQ8>, quant_product<BlockQ4>,
           quant_product<BlockQ4One>, quant_product<BlockQ4K>, quant_product<BlockQ5K>, quant_product<BlockQ6K>},
          quantize,
          V::kByteParts == 2,
          multiply_add_peak,
          integer_peak,
          layer_norm,
          rms_norm,
          softmax,
          gelu_tanh,
          gelu_erf,
          relu,
          silu,
          relu_squared,
          exponential_of,
          scale,
          soft_cap,
          clip,
          add,
          multiply};
}
