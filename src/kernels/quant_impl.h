// quant_impl.h: the panel product for q8_0 and q4_0, over the vector vocabulary of the including file.
// Included once per instruction set, inside an anonymous namespace, by kernels_impl.h.
//
// Rows of x are rounded to 8 bits, block by block of 32 along K, before the product (quantize below), each row by
// itself: a row's bits never depend on the rows beside it. Within a block everything is an integer, so exact; between
// blocks one fused multiply-add a lane, in order: the same bits on every instruction set.
//
// Vocabulary, beside that of kernels_impl.h: type I (a vector of 32-bit integers, as wide as F) and in V
//   kQuantRows                rows of the widest register tile
//   load_bytes, store_bytes   4 bytes a lane from and to memory
//   set4                      the same 4 bytes in every lane
//   ready_q8(w)               signed bytes as dot_q8 wants them
//   start_q8(sum)             where the sum of a block starts, from the sum of the row's 32 numbers
//   dot_q8(acc, w, x)         adds 4 products of signed bytes a lane; w made ready, acc begun at start_q8
//   dot_q4(acc, w, x)         the same, w being unsigned 0 .. 15
//   low_nibbles, high_nibbles of every byte
//   start(value), to_float
//   largest_lane(a), sum_of_lanes(a)   over all lanes; no NaN, and sums that are exact in any order
//   narrow_to_bytes(p, a)     kWidth whole numbers from -127 to 127 as bytes

// One block of 32 k of a panel: 32 scales in f16, then the weights as [8 groups of 4 k][32 lanes][4 k] signed bytes.
struct BlockQ8 {
  static constexpr int64_t kBytes = kPanelLanes * (2 + 32);
  static constexpr bool kFromMemory = true;
  static I start(int32_t sum) { return V::start_q8(sum); }
  static F scales(const std::byte* block, int vector) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(block) + vector * V::kWidth);
  }
  static I weights(const std::byte* block, int group, int vector) {
    return V::ready_q8(V::load_bytes(block + 64 + (group * 32 + vector * V::kWidth) * 4));
  }
  static I dot(I acc, I w, I x) { return V::dot_q8(acc, w, x); }
};

// The same with half a byte a weight, 8 + weight: groups 0 to 3 in the low halves, 4 to 7 in the high ones.
struct BlockQ4 {
  static constexpr int64_t kBytes = kPanelLanes * (2 + 16);
  static constexpr bool kFromMemory = true;
  static I start(int32_t sum) { return V::start(-8 * sum); }
  static F scales(const std::byte* block, int vector) { return BlockQ8::scales(block, vector); }
  static I weights(const std::byte* block, int group, int vector) {
    const I pair = V::load_bytes(block + 64 + (group % 4 * 32 + vector * V::kWidth) * 4);
    return group < 4 ? V::low_nibbles(pair) : V::high_nibbles(pair);
  }
  static I dot(I acc, I w, I x) { return V::dot_q4(acc, w, x); }
};

// A block taken apart once, for many tiles: scales in f32, then the weights as dot wants them.
template <class Block>
struct Apart {
  static constexpr int64_t kBytes = kPanelLanes * (4 + 32);
  static constexpr bool kFromMemory = false;
  static I start(int32_t sum) { return Block::start(sum); }
  static F scales(const std::byte* block, int vector) {
    return V::load(reinterpret_cast<const float*>(block) + vector * V::kWidth);
  }
  static I weights(const std::byte* block, int group, int vector) {
    return V::load_bytes(block + 128 + (group * 32 + vector * V::kWidth) * 4);
  }
  static I dot(I acc, I w, I x) { return Block::dot(acc, w, x); }

  static void take(const std::byte* from, int64_t blocks, std::byte* to) {
    for (int64_t b = 0; b < blocks; ++b, from += Block::kBytes, to += kBytes)
      for (int vector = 0; vector < kPanelLanes / V::kWidth; ++vector) {
        V::store(reinterpret_cast<float*>(to) + vector * V::kWidth, Block::scales(from, vector));
        for (int group = 0; group < 8; ++group)
          V::store_bytes(to + 128 + (group * 32 + vector * V::kWidth) * 4, Block::weights(from, group, vector));
      }
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
    const std::byte* block[P];
    for (int p = 0; p < P; ++p) block[p] = a.panels + (panel + p) * a.panel_stride + b * Block::kBytes;
    I acc[R][P][vectors];
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v) acc[r][p][v] = Block::start(a.x_sums[(row + r) * x_blocks + b]);
    const int8_t* x = a.x_bytes + (row * x_blocks + b) * 32;
    if constexpr (Block::kFromMemory) {
      constexpr int64_t blocks_ahead = kAhead / P / Block::kBytes > 1 ? kAhead / P / Block::kBytes : 1;
      const int64_t ahead = b + blocks_ahead < blocks ? blocks_ahead * Block::kBytes : 0;
      for (int p = 0; p < P; ++p)
        for (int line = 0; line < Block::kBytes; line += 64) __builtin_prefetch(block[p] + ahead + line);
    }
#pragma GCC unroll 8
    for (int group = 0; group < 8; ++group)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < vectors; ++v) {
          const I w = Block::weights(block[p], group, v);
          for (int r = 0; r < R; ++r)
            acc[r][p][v] = Block::dot(acc[r][p][v], w, V::set4(x + r * a.x_stride + group * 4));
        }
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v) {
        const F scale = Block::scales(block[p], v);
        for (int r = 0; r < R; ++r) {
          const F both = V::mul(scale, V::set(a.x_scales[(row + r) * x_blocks + b]));
          sums[r][p][v] = V::fma(V::to_float(acc[r][p][v]), both, sums[r][p][v]);
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
  constexpr int64_t part_of_k = 768, tiles_worth_it = 5;
  const int64_t tiles = (a.m + V::kQuantRows - 1) / V::kQuantRows;
  if (tiles <= 1) return call_quant_rows<Block>(a.m, a, 0);
  alignas(64) std::byte apart[part_of_k / 32 * Apart<Block>::kBytes];
  for (int64_t k = 0; k < a.k; k += part_of_k) {
    PanelProduct part = a;
    part.x_bytes += k;
    part.x_scales += k / 32;
    part.x_sums += k / 32;
    part.k = a.k - k < part_of_k ? a.k - k : part_of_k;
    part.n_panels = 1;
    part.accumulate = a.accumulate || k > 0;
    for (int64_t panel = 0; panel < a.n_panels; ++panel) {
      part.panels = a.panels + panel * a.panel_stride + k / 32 * Block::kBytes;
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
// and their sum. The last block is filled up with zeros.
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
    F sum = V::set(0.0f);
    for (int v = 0; v < vectors; ++v) {
      // Adding the magic number rounds to a whole one, ties to even. A NaN becomes -127.
      F value = V::sub(V::add(V::mul(V::load(x + v * V::kWidth), inverse), magic), magic);
      value = V::smaller(V::larger(value, low), high);
      V::narrow_to_bytes(bytes + b * 32 + v * V::kWidth, value);
      sum = V::add(sum, value);
    }
    scales[b] = scale;
    sums[b] = static_cast<int32_t>(V::sum_of_lanes(sum));
  }
}

// What the integer units give at most: `rounds` times every pair of a few vectors of weights and of x, in registers, by
// the bare instruction (dot_q4; where signs cost more, q8_0 cannot get all of it). The weights differ between rounds
// and within them, so that no part of the work can be saved. Each dot with x i (from 1) comes to i.
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
        for (int i = 0; i < xs; ++i) acc[w][i] = V::dot_q4(acc[w][i], weight, x[i]);
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
