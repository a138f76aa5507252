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
//   load_bytes, store_bytes   4 bytes a lane from and to memory
//   load_i8                   a signed byte a lane, as a float
//   set4                      the same 4 bytes in every lane
//   ready_q8(w)               signed bytes as dot_q8 wants them
//   start_q8(sum)             where a sum of dots starts, from the sum of those numbers of the row
//   dot_q8(acc, w, x)         adds 4 products of signed bytes a lane; w made ready, acc begun at start_q8
//   dot_unsigned(acc, w, x)   the same, w being 0 .. 127
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
  static I start(int32_t sum) { return Bits == 8 ? V::start_q8(sum) : V::start(-Zero * sum); }
  static F scales(At at, int scale, int vector) { return times_small(half(at, 0, vector), at, scale, vector); }
  static F offsets(At at, int vector) { return times_small(half(at, 1, vector), at, kScales, vector); }
  static I weights(At at, int group, int vector) {
    if constexpr (Bits == 8) return V::ready_q8(cell(at, group, vector));
    const I pair = cell(at, group % 4, vector), lower = V::mask(group < 4 ? pair : V::shift_right(pair, 4), 15);
    if constexpr (Bits == 4) return lower;
    constexpr int extra = Bits - 4;
    const int bit = group * extra % 8;  // of the upper bits, which go to bit 4
    const I upper = cell(at, 4 + group * extra / 8, vector);
    return V::join(lower, V::mask(bit < 4 ? V::shift_left(upper, 4 - bit) : V::shift_right(upper, bit - 4),
                                  ((1 << extra) - 1) << 4));
  }
  static I dot(I acc, I w, I x) { return Bits == 8 ? V::dot_q8(acc, w, x) : V::dot_unsigned(acc, w, x); }

 private:
  static F half(At at, int which, int vector) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(at.block) + which * kPanelLanes + vector * V::kWidth);
  }
  static F times_small(F number, At at, int which, int vector) {
    if constexpr (Small == 0) return number;
    return V::mul(number, V::load_i8(at.stretch + which * kPanelLanes + vector * V::kWidth));
  }
  static I cell(At at, int which, int vector) {
    return V::load_bytes(at.stretch + kPanelLanes * (Small + 4 * which) + vector * V::kWidth * 4);
  }
};

// By Dtype, from q8_0 on.
using BlockQ8 = Block<1, 1, 0, 8, 0>;
using BlockQ4 = Block<1, 1, 0, 4, 8>;
using BlockQ4One = Block<2, 1, 0, 4, 0>;
using BlockQ4K = Block<2, 8, 2, 4, 0>;
using BlockQ5K = Block<2, 8, 2, 5, 0>;
using BlockQ6K = Block<1, 8, 2, 6, 32>;

// Blocks taken apart once, for many tiles: 32 weights each, scales and offsets in f32, then bytes as dot wants them.
template <class Block>
struct Apart {
  static constexpr bool kFromMemory = false;
  static constexpr bool kHasOffsets = Block::kHasOffsets;
  static constexpr int kScales = Block::kScales, kFloats = kScales + kHasOffsets;
  static constexpr int64_t kBytes = kPanelLanes * (4 * kFloats + 32), kStep = kBytes;

  struct At {
    const std::byte* block;
  };
  static At at(const std::byte* panel, int64_t b) { return {panel + b * kBytes}; }
  static I start(int32_t sum) { return Block::start(sum); }
  static F scales(At at, int scale, int vector) {
    return V::load(reinterpret_cast<const float*>(at.block) + scale * kPanelLanes + vector * V::kWidth);
  }
  static F offsets(At at, int vector) { return scales(at, kScales, vector); }
  static I weights(At at, int group, int vector) { return V::load_bytes(at.block + weights_at(group, vector)); }
  static I dot(I acc, I w, I x) { return Block::dot(acc, w, x); }

  static void take(const std::byte* panel, int64_t blocks, std::byte* to) {
    for (int64_t b = 0; b < blocks; ++b, to += kBytes) {
      const auto from = Block::at(panel, b);
      float* floats = reinterpret_cast<float*>(to);
      for (int vector = 0; vector < kPanelLanes / V::kWidth; ++vector, floats += V::kWidth) {
        for (int scale = 0; scale < kScales; ++scale)
          V::store(floats + scale * kPanelLanes, Block::scales(from, scale, vector));
        if constexpr (kHasOffsets) V::store(floats + kScales * kPanelLanes, Block::offsets(from, vector));
        for (int group = 0; group < 8; ++group)
          V::store_bytes(to + weights_at(group, vector), Block::weights(from, group, vector));
      }
    }
  }

 private:
  static constexpr int64_t weights_at(int group, int vector) {
    return kPanelLanes * 4 * kFloats + (group * kPanelLanes + vector * V::kWidth) * 4;
  }
};

template <class Block, int R, int P>
[[gnu::noinline]] void quant_tile(const PanelProduct& a, int64_t row, int64_t panel) {
  constexpr int vectors = kPanelLanes / V::kWidth;
  const int64_t blocks = (a.k + 31) / 32, x_blocks = a.x_stride / 32;
  F sums[R][P][vectors];
  float* y = a.y + row * a.y_stride + panel * kPanelLanes;
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v)
        sums[r][p][v] = a.accumulate ? V::load(y + r * a.y_stride + p * kPanelLanes + v * V::kWidth) : V::set(0.0f);

  for (int64_t b = 0; b < blocks; ++b) {
    typename Block::At at[P];
    for (int p = 0; p < P; ++p) at[p] = Block::at(a.panels + (panel + p) * a.panel_stride, b);
    const int8_t* x = a.x_bytes + (row * x_blocks + b) * 32;
    const int32_t* x_sums = a.x_sums + (row * x_blocks + b) * 2;
    const float* x_scales = a.x_scales + row * x_blocks + b;
    if constexpr (Block::kFromMemory) {
      constexpr int64_t blocks_ahead = kAhead / P / Block::kStep > 1 ? kAhead / P / Block::kStep : 1;
      const int64_t ahead = b + blocks_ahead < blocks ? blocks_ahead * Block::kStep : 0;
      for (int p = 0; p < P; ++p)
        for (int line = 0; line < Block::kStep; line += 64)
          __builtin_prefetch(at[p].stretch - (Block::kStep - Block::kStretchBytes) + ahead + line);
    }
    constexpr int groups = 8 / Block::kScales;
#pragma GCC unroll 2
    for (int scale = 0; scale < Block::kScales; ++scale) {
      I acc[R][P][vectors];
      for (int r = 0; r < R; ++r) {
        const int32_t* sum = x_sums + r * x_blocks * 2;
        const I start = Block::start(Block::kScales == 1 ? sum[0] + sum[1] : sum[scale]);
        for (int p = 0; p < P; ++p)
          for (int v = 0; v < vectors; ++v) acc[r][p][v] = start;
      }
#pragma GCC unroll 8
      for (int group = 0; group < groups; ++group)
        for (int p = 0; p < P; ++p)
          for (int v = 0; v < vectors; ++v) {
            const I w = Block::weights(at[p], scale * groups + group, v);
            for (int r = 0; r < R; ++r)
              acc[r][p][v] = Block::dot(acc[r][p][v], w, V::set4(x + r * a.x_stride + (scale * groups + group) * 4));
          }
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v) {
          const F weight_scale = Block::scales(at[p], scale, v);
          for (int r = 0; r < R; ++r) {
            const F both = V::mul(weight_scale, V::set(x_scales[r * x_blocks]));
            sums[r][p][v] = V::fma(V::to_float(acc[r][p][v]), both, sums[r][p][v]);
          }
        }
    }
    if constexpr (Block::kHasOffsets)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v) {
          const F offset = Block::offsets(at[p], v);
          for (int r = 0; r < R; ++r) {
            const int32_t* sum = x_sums + r * x_blocks * 2;
            const F of_x = V::set(x_scales[r * x_blocks] * static_cast<float>(sum[0] + sum[1]));
            sums[r][p][v] = V::fma(offset, of_x, sums[r][p][v]);
          }
        }
  }

  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v) V::store(y + r * a.y_stride + p * kPanelLanes + v * V::kWidth, sums[r][p][v]);
}

template <class Block, int R, int P>
void quant_rows(const PanelProduct& a, int64_t row, int64_t panel = 0) {
  for (; panel + P <= a.n_panels; panel += P) quant_tile<Block, R, P>(a, row, panel);
  if constexpr (P > 1) quant_rows<Block, R, P - 1>(a, row, panel);
}

template <class Block, int R = V::kQuantRows>
inline void call_quant_rows(int64_t rows, const PanelProduct& a, int64_t row) {
  if (rows == R)
    quant_rows<Block, R, V::kQuantRows / R>(a, row);
  else if constexpr (R > 1)
    call_quant_rows<Block, R - 1>(rows, a, row);
}

// Tiles of rows as in product(): many of them pass over a part of one panel, taken apart, that stays in the nearest
// cache.
template <class Block>
void quant_product(const PanelProduct& a) {
  constexpr int64_t part_of_k = 768, tiles_worth_it = 5;  // whole blocks of every kind
  const int64_t tiles = (a.m + V::kQuantRows - 1) / V::kQuantRows;
  if (tiles <= 1) return call_quant_rows<Block>(a.m, a, 0);
  alignas(64) std::byte apart[part_of_k / 32 * Apart<Block>::kBytes];
  for (int64_t k = 0; k < a.k; k += part_of_k) {
    PanelProduct part = a;
    part.x_bytes += k;
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
// and the sums of its halves. The last block is filled up with zeros.
void quantize(const float* x, int64_t k, int8_t* bytes, float* scales, int32_t* sums) {
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
    scales[b] = scale;
    for (int half = 0; half < 2; ++half) sums[2 * b + half] = static_cast<int32_t>(V::sum_of_lanes(sum[half]));
  }
}

// What the integer units give at most: `rounds` times every pair of a few vectors of weights and of x, in registers, by
// the bare instruction (dot_unsigned; where signs cost more, q8_0 cannot get all of it). The weights differ between
// rounds and within them, so that no part of the work can be saved. Each dot with x i (from 1) comes to i.
int64_t integer_peak(int64_t rounds, float* sum) {
  // GCC 12 copies every VNNI sum once a round, so a round has many; of AVX2's it would keep many on the stack.
  constexpr int weights = V::kWidth > 8 ? 3 : 2, xs = weights + 1, turns = V::kWidth > 8 ? 8 : 1;
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
#pragma GCC unroll 8
    for (int turn = 0; turn < turns; ++turn)
      for (int w = 0; w < weights; ++w) {
        const I weight = V::load_bytes(reinterpret_cast<const std::byte*>(bytes[round % 8 + turn * weights + w]));
        for (int i = 0; i < xs; ++i) acc[w][i] = V::dot_unsigned(acc[w][i], weight, x[i]);
      }
  }
  F total = V::set(0.0f);
  for (int w = 0; w < weights; ++w)
    for (int i = 0; i < xs; ++i) total = V::add(total, V::to_float(acc[w][i]));
  float lanes[V::kWidth];
  V::store(lanes, total);
  *sum = lanes[0];
  return rounds * turns * weights * xs * V::kWidth * 4;
}
