// quant_impl.h: the panel product for the block kinds, over the vector vocabulary of the including file.
// Included once per instruction set, inside an anonymous namespace, by kernels_impl.h.
//
// Rows of x are rounded to 8 bits, block by block of 32 along K, before the product (quantize below), each row by
// itself: a row's bits never depend on the rows beside it. What shares a scale is added as integers, so exactly; then
// one fused multiply-add a lane joins it, in order, and where weights have offsets one more every 32 weights: the same
// bits on every instruction set.
//
// Vocabulary, beside that of kernels_impl.h: type I (a vector of 32-bit integers, as wide as F) and in V
//   kQuantRows                rows of the widest register tile
//   kQuantStreams             panels that a tile reads from memory side by side, with registers for one at a time; or
//   1:
//                             as many as the registers hold sums for
//   kByteParts                1, or 2 where signed bytes are multiplied as words of 16 bits, two vectors of them
//   part_of_bytes(a, part)    4 signed bytes a lane as dot_bytes wants them, kByteZero higher than they are
//   dot_bytes(acc, w, x)      adds the products of a part of bytes and 4 signed bytes, or the same part of them
//   kNearBytes                taken apart weights that stay near: the nearest cache, less what else is in use
//   load_bytes, store_bytes   4 bytes a lane from and to memory
//   load_i8                   a signed byte a lane, as a float
//   set4(p)                   the same 4 bytes in every lane
//   begin(acc), dot(dots, w, x), end(acc, dots)
//                             acc plus the dots between begin and end: dot adds 4 products a lane, of bytes w >= 0
//                             and signed bytes x within 127
//   dots_together(largest)    the most dots between begin and end, for w up to `largest`
//   shift_left, shift_right(a, n), mask(a, byte), join(a, b)
//                             bits of every byte; what a shift moves in from the next byte is for mask to take off
//   start(value), to_float
//   largest_lane(a), sum_of_lanes(a)   over all lanes; no NaN, and sums that are exact in any order
//   narrow_to_bytes(p, a)     kWidth whole numbers from -127 to 127 as bytes

// A block kind in a panel, as src/format/README.md describes it: `Halves` times 32 numbers in f16 (scales, and units of
// offsets), then `Stretches` of 32 weights, each `Small` times 32 signed bytes (scales, then offsets), and the
// multiples of `Bits` bits, `Zero` higher than they are.
template <int Halves, int Stretches, int Small, int Bits, int Zero>
struct Block {
  static constexpr bool kFromMemory = true;
  static constexpr bool kHasOffsets = Halves == 2;
  static constexpr bool kIsBytes = Bits == 8;
  static constexpr int kParts = kIsBytes ? V::kByteParts : 1;
  static constexpr int kCells = 8 * kParts;  // vectors that 32 weights a lane are multiplied as
  static constexpr int kTogether = kIsBytes ? kCells : V::dots_together((1 << Bits) - 1);
  static constexpr int kScales = Small == 0 ? 1 : Small - kHasOffsets;  // of 32 weights
  static constexpr int64_t kHeadBytes = kPanelLanes * 2 * Halves, kStretchBytes = kPanelLanes * (Small + 4 * Bits);
  static constexpr int64_t kBytes = kHeadBytes + Stretches * kStretchBytes, kWeights = 32 * Stretches;
  static constexpr int64_t kStep =
      Stretches == 1 ? kBytes : kStretchBytes;  // from 32 weights to the next, nearly always

  struct At {
    const std::byte *block, *stretch;
  };
  // Where the weights from 32 * b on are.
  static At at(const std::byte* panel, int64_t b) {
    const std::byte* block = panel + b / Stretches * kBytes;
    return {block, block + kHeadBytes + b % Stretches * kStretchBytes};
  }
  static I start(int32_t sum) { return V::start(-(kIsBytes ? V::kByteZero : Zero) * sum); }
  static F scales(At at, int scale, int lane) { return times_small(half(at, 0, lane), at, scale, lane); }
  static F offsets(At at, int lane) { return times_small(half(at, 1, lane), at, kScales, lane); }
  // Multiples, higher than they are by what start() takes off; of bytes first all first parts.
  static I weights(At at, int number, int lane) {
    if constexpr (kIsBytes) return V::part_of_bytes(cell(at, number % 8, lane), number / 8);
    const I pair = cell(at, number % 4, lane), lower = V::mask(number < 4 ? pair : V::shift_right(pair, 4), 15);
    if constexpr (Bits == 4) return lower;
    constexpr int extra = Bits - 4;
    const int bit = number * extra % 8;  // of the upper bits, which go to bit 4
    const I upper = cell(at, 4 + number * extra / 8, lane);
    return V::join(lower, V::mask(bit < 4 ? V::shift_left(upper, 4 - bit) : V::shift_right(upper, bit - 4),
                                  ((1 << extra) - 1) << 4));
  }
  static I begin(I acc) { return kIsBytes ? acc : V::begin(acc); }
  static I dot(I dots, I w, I x) { return kIsBytes ? V::dot_bytes(dots, w, x) : V::dot(dots, w, x); }
  static I end(I acc, I dots) { return kIsBytes ? dots : V::end(acc, dots); }

 private:
  static F half(At at, int which, int lane) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(at.block) + which * kPanelLanes + lane);
  }
  static F times_small(F number, At at, int which, int lane) {
    if constexpr (Small == 0) return number;
    return V::mul(number, V::load_i8(at.stretch + which * kPanelLanes + lane));
  }
  static I cell(At at, int which, int lane) {
    return V::load_bytes(at.stretch + kPanelLanes * (Small + 4 * which) + lane * 4);
  }
};

// By Dtype, from q8_0 on.
using BlockQ8 = Block<1, 1, 0, 8, 0>;
using BlockQ4 = Block<1, 1, 0, 4, 8>;
using BlockQ4One = Block<2, 1, 0, 4, 0>;
using BlockQ4K = Block<2, 8, 2, 4, 0>;
using BlockQ5K = Block<2, 8, 2, 5, 0>;
using BlockQ6K = Block<1, 8, 2, 6, 32>;

// Blocks taken apart once, for many tiles: 32 weights each, scales and offsets in f32, then the weights as dot wants
// them.
template <class Block>
struct Apart {
  static constexpr bool kFromMemory = false;
  static constexpr bool kHasOffsets = Block::kHasOffsets;
  static constexpr int kScales = Block::kScales, kFloats = kScales + kHasOffsets;
  static constexpr int kParts = Block::kParts, kCells = Block::kCells, kTogether = Block::kTogether;
  static constexpr int64_t kBytes = kPanelLanes * 4 * (kFloats + kCells), kStep = kBytes;

  struct At {
    const std::byte* block;
  };
  static At at(const std::byte* panel, int64_t b) { return {panel + b * kBytes}; }
  static F scales(At at, int scale, int lane) {
    return V::load(reinterpret_cast<const float*>(at.block) + scale * kPanelLanes + lane);
  }
  static F offsets(At at, int lane) { return scales(at, kScales, lane); }
  static I weights(At at, int number, int lane) { return V::load_bytes(at.block + weights_at(number, lane)); }
  static I start(int32_t sum) { return Block::start(sum); }
  static I begin(I acc) { return Block::begin(acc); }
  static I dot(I dots, I w, I x) { return Block::dot(dots, w, x); }
  static I end(I acc, I dots) { return Block::end(acc, dots); }

  static void take(const std::byte* panel, int64_t blocks, std::byte* to) {
    for (int64_t b = 0; b < blocks; ++b, to += kBytes) {
      const auto from = Block::at(panel, b);
      float* floats = reinterpret_cast<float*>(to);
      for (int lane = 0; lane < kPanelLanes; lane += V::kWidth) {
        for (int scale = 0; scale < kScales; ++scale)
          V::store(floats + scale * kPanelLanes + lane, Block::scales(from, scale, lane));
        if constexpr (kHasOffsets) V::store(floats + kScales * kPanelLanes + lane, Block::offsets(from, lane));
        for (int number = 0; number < kCells; ++number)
          V::store_bytes(to + weights_at(number, lane), Block::weights(from, number, lane));
      }
    }
  }

 private:
  static constexpr int64_t weights_at(int number, int lane) {
    return ((kFloats + number) * kPanelLanes + lane) * int64_t{4};
  }
};

// R rows of x against S groups of P panels: those of a group share registers, the groups are read side by side, a block
// of each in turn, as that gets more out of the memory.
template <class Block, int R, int P, int S>
[[gnu::noinline]] void quant_tile(const PanelProduct& a, int64_t row, int64_t panel) {
  constexpr int vectors = kPanelLanes / V::kWidth, x_bytes = Block::kParts;
  const int64_t blocks = (a.k + 31) / 32, x_blocks = a.x_stride / 32;
  F all_sums[S][R][P][vectors];
  float* y = a.y + row * a.y_stride + panel * kPanelLanes;
  for (int s = 0; s < S; ++s)
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v)
          all_sums[s][r][p][v] =
              a.accumulate ? V::load(y + r * a.y_stride + (s * P + p) * kPanelLanes + v * V::kWidth) : V::set(0.0f);

  for (int64_t b = 0; b < blocks; ++b) {
    const int8_t* x = (Block::kParts == 2 ? a.x_words : a.x_bytes) + (row * x_blocks + b) * 32 * x_bytes;
    const int32_t* x_sums = a.x_sums + (row * x_blocks + b) * 2;
    const float* x_scales = a.x_scales + row * x_blocks + b;
#pragma GCC unroll 1
    for (int s = 0; s < S; ++s) {
      auto& sums = all_sums[s];
      typename Block::At at[P];
      for (int p = 0; p < P; ++p) at[p] = Block::at(a.panels + (panel + s * P + p) * a.panel_stride, b);
      if constexpr (Block::kFromMemory) {
        constexpr int64_t blocks_ahead = kAhead / (P * S) / Block::kStep > 1 ? kAhead / (P * S) / Block::kStep : 1;
        const int64_t ahead = b + blocks_ahead < blocks ? blocks_ahead * Block::kStep : 0;
        for (int p = 0; p < P; ++p)
          for (int line = 0; line < Block::kStep; line += 64)
            __builtin_prefetch(at[p].stretch - (Block::kStep - Block::kStretchBytes) + ahead + line);
      }
      constexpr int cells = Block::kCells / Block::kScales;
      constexpr int together = Block::kTogether < cells ? Block::kTogether : cells;
#pragma GCC unroll 2
      for (int scale = 0; scale < Block::kScales; ++scale) {
        I acc[R][P][vectors];
        for (int r = 0; r < R; ++r) {
          const int32_t* sum = x_sums + r * x_blocks * 2;
          const I start = Block::start(Block::kScales == 1 ? sum[0] + sum[1] : sum[scale]);
          for (int p = 0; p < P; ++p)
            for (int v = 0; v < vectors; ++v) acc[r][p][v] = start;
        }
#pragma GCC unroll 4
        for (int first = scale * cells; first < (scale + 1) * cells; first += together) {
          I dots[R][P][vectors];
          for (int r = 0; r < R; ++r)
            for (int p = 0; p < P; ++p)
              for (int v = 0; v < vectors; ++v) dots[r][p][v] = Block::begin(acc[r][p][v]);
#pragma GCC unroll 16
          for (int cell = first; cell < first + together; ++cell)
            for (int p = 0; p < P; ++p)
              for (int v = 0; v < vectors; ++v) {
                const I w = Block::weights(at[p], cell, v * V::kWidth);
                for (int r = 0; r < R; ++r)
                  dots[r][p][v] = Block::dot(dots[r][p][v], w, V::set4(x + r * a.x_stride * x_bytes + cell * 4));
              }
          for (int r = 0; r < R; ++r)
            for (int p = 0; p < P; ++p)
              for (int v = 0; v < vectors; ++v) acc[r][p][v] = Block::end(acc[r][p][v], dots[r][p][v]);
        }
        for (int p = 0; p < P; ++p)
          for (int v = 0; v < vectors; ++v) {
            const F weight_scale = Block::scales(at[p], scale, v * V::kWidth);
            for (int r = 0; r < R; ++r) {
              const F both = V::mul(weight_scale, V::set(x_scales[r * x_blocks]));
              sums[r][p][v] = V::fma(V::to_float(acc[r][p][v]), both, sums[r][p][v]);
            }
          }
      }
      if constexpr (Block::kHasOffsets)
        for (int p = 0; p < P; ++p)
          for (int v = 0; v < vectors; ++v) {
            const F offset = Block::offsets(at[p], v * V::kWidth);
            for (int r = 0; r < R; ++r) {
              const int32_t* sum = x_sums + r * x_blocks * 2;
              const F of_x = V::set(x_scales[r * x_blocks] * static_cast<float>(sum[0] + sum[1]));
              sums[r][p][v] = V::fma(offset, of_x, sums[r][p][v]);
            }
          }
    }
  }

  for (int s = 0; s < S; ++s)
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v)
          V::store(y + r * a.y_stride + (s * P + p) * kPanelLanes + v * V::kWidth, all_sums[s][r][p][v]);
}

template <class Block, int R, int P, int S = 1>
void quant_rows(const PanelProduct& a, int64_t row, int64_t panel = 0) {
  for (; panel + S * P <= a.n_panels; panel += S * P) quant_tile<Block, R, P, S>(a, row, panel);
  if constexpr (S > 1)
    quant_rows<Block, R, P, S / 2>(a, row, panel);
  else if constexpr (P > 1)
    quant_rows<Block, R, P - 1>(a, row, panel);
}

template <class Block, int R = V::kQuantRows>
inline void call_quant_rows(int64_t rows, const PanelProduct& a, int64_t row) {
  constexpr bool streams = V::kQuantStreams > 1;
  constexpr int panels = streams ? 1 : V::kQuantRows / R, groups = streams && Block::kFromMemory ? V::kQuantStreams : 1;
  if (rows == R)
    quant_rows<Block, R, panels, groups>(a, row);
  else if constexpr (R > 1)
    call_quant_rows<Block, R - 1>(rows, a, row);
}

// Tiles of rows as in product(): many of them pass over a part of one panel, taken apart, that stays in the nearest
// cache.
template <class Block>
void quant_product(const PanelProduct& a) {
  constexpr int64_t tiles_worth_it = 5;
  constexpr int64_t blocks = V::kNearBytes / (Apart<Block>::kBytes * Block::kWeights / 32),
                    part_of_k = blocks * Block::kWeights;
  const int64_t tiles = (a.m + V::kQuantRows - 1) / V::kQuantRows;
  if (tiles <= 1) return call_quant_rows<Block>(a.m, a, 0);
  alignas(64) std::byte apart[part_of_k / 32 * Apart<Block>::kBytes];
  for (int64_t k = 0; k < a.k; k += part_of_k) {
    PanelProduct part = a;
    part.x_bytes += k;
    if (Block::kParts == 2) part.x_words += 2 * k;  // elsewhere there are none
    part.x_scales += k / 32;
    part.x_sums += k / 16;
    part.k = a.k - k < part_of_k ? a.k - k : part_of_k;
    part.n_panels = 1;
    part.accumulate = a.accumulate || k > 0;
    for (int64_t panel = 0; panel < a.n_panels; ++panel) {
      part.panels = a.panels + panel * a.panel_stride + k / Block::kWeights * Block::kBytes;
      part.y = a.y + panel * kPanelLanes;
      const bool taken_apart = tiles >= tiles_worth_it;
      if (taken_apart) {
        Apart<Block>::take(part.panels, (part.k + 31) / 32, apart);
        part.panels = apart;
      }
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t row = a.m * t / tiles, rows = a.m * (t + 1) / tiles - row;
        if (taken_apart)
          call_quant_rows<Apart<Block>>(rows, part, row);
        else
          call_quant_rows<Block>(rows, part, row);
      }
    }
  }
}

// x [k] to 8 bits: per block of 32, scale = largest magnitude / 127, bytes = x / scale to the nearest (ties to even),
// and the sums of its halves; where bytes have two parts also those, in the order of Block::weights. The last block is
// filled up with zeros.
void quantize(const float* x, int64_t k, int8_t* bytes, int8_t* words, float* scales, int32_t* sums) {
  constexpr int vectors = 32 / V::kWidth;
  const F low = V::set(-127.0f), high = V::set(127.0f), magic = V::set(12582912.0f);  // 1.5 * 2^23
  float filled[32];
  for (int64_t b = 0; b * 32 < k; ++b, x += 32) {
    if (k - b * 32 < 32) {
      for (int64_t i = 0; i < 32; ++i) filled[i] = i < k - b * 32 ? x[i] : 0.0f;
      x = filled;  // the last round
    }
    F largest = V::set(0.0f);
    for (int v = 0; v < vectors; ++v) {
      const F number = V::load(x + v * V::kWidth);
      largest = V::larger(V::larger(number, V::sub(V::set(0.0f), number)), largest);
    }
    const float scale = V::largest_lane(largest) / 127.0f;
    // Below the smallest normal number a reciprocal would overflow; such a block rounds to zeros.
    const F inverse = V::set(scale > 1.2e-38f ? 1.0f / scale : 0.0f);
    F sum[2] = {V::set(0.0f), V::set(0.0f)};
    for (int v = 0; v < vectors; ++v) {
      // Adding the magic number rounds to a whole one, ties to even. A NaN becomes -127.
      F value = V::sub(V::add(V::mul(V::load(x + v * V::kWidth), inverse), magic), magic);
      value = V::smaller(V::larger(value, low), high);
      V::narrow_to_bytes(bytes + b * 32 + v * V::kWidth, value);
      sum[v * V::kWidth / 16] = V::add(sum[v * V::kWidth / 16], value);
    }
    for (int part = 0; V::kByteParts == 2 && part < 2; ++part) {
      const I four = V::load_bytes(reinterpret_cast<const std::byte*>(bytes + b * 32));
      V::store_bytes(reinterpret_cast<std::byte*>(words + b * 64 + part * 32), V::part_of_bytes(four, part));
    }
    scales[b] = scale;
    for (int half = 0; half < 2; ++half) sums[2 * b + half] = static_cast<int32_t>(V::sum_of_lanes(sum[half]));
  }
}

// What the integer units give at most: `rounds` times every pair of a few vectors of weights and of x, in registers,
// for weights of 4 bits (where bytes have two parts, q8_0 can get half of it). The weights differ between rounds and
// within them, so that no part of the work can be saved. Each dot with x i (from 1) comes to i.
int64_t integer_peak(int64_t rounds, float* sum) {
  // GCC 12 copies every VNNI sum once a round, so a round has many dots.
  constexpr int weights = V::kWidth > 8 ? 3 : 2, xs = weights + 1, turns = 8;
  constexpr int kinds = 8 + turns * weights;
  int8_t bytes[kinds][V::kWidth * 4];
  for (int kind = 0; kind < kinds; ++kind)
    for (int i = 0; i < V::kWidth * 4; ++i)
      bytes[kind][i] = static_cast<int8_t>(kind % 8 + (i % 4 == 0));  // of each four the first is 1 more
  I x[xs], acc[weights][xs];
  for (int i = 0; i < xs; ++i) {
    const int8_t by = static_cast<int8_t>(i + 1),
                 four[4] = {by, static_cast<int8_t>(-by), by, static_cast<int8_t>(-by)};
    x[i] = V::set4(four);
    for (int w = 0; w < weights; ++w) acc[w][i] = V::start(0);
  }
  for (int64_t round = 0; round < rounds; ++round) {
    I dots[weights][xs];
    for (int w = 0; w < weights; ++w)
      for (int i = 0; i < xs; ++i) dots[w][i] = V::begin(acc[w][i]);
#pragma GCC unroll 8
    for (int turn = 0; turn < turns; ++turn)
      for (int w = 0; w < weights; ++w) {
        const I weight = V::load_bytes(reinterpret_cast<const std::byte*>(bytes[round % 8 + turn * weights + w]));
        for (int i = 0; i < xs; ++i) dots[w][i] = V::dot(dots[w][i], weight, x[i]);
      }
    for (int w = 0; w < weights; ++w)
      for (int i = 0; i < xs; ++i) acc[w][i] = V::end(acc[w][i], dots[w][i]);
  }
  F total = V::set(0.0f);
  for (int w = 0; w < weights; ++w)
    for (int i = 0; i < xs; ++i) total = V::add(total, V::to_float(acc[w][i]));
  float lanes[V::kWidth];
  V::store(lanes, total);
  *sum = lanes[0];
  return rounds * turns * weights * xs * V::kWidth * 4;
}
