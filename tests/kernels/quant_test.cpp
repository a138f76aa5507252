// quant_test.cpp: the products over panels of block kinds against their definition in scalar code, to the bit, on every
// instruction set and for every count of rows.
#include <algorithm>
#include <cmath>

#include "format/block_panels.h"
#include "kernels/kernels.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr Dtype kBlockDtypes[] = {Dtype::q8_0, Dtype::q4_0, Dtype::q4_1, Dtype::q4_k, Dtype::q5_k, Dtype::q6_k};

// Random blocks of n rows, k numbers each, and the panels that they make. Scales of either sign, none and subnormal,
// every multiple that the kind has.
struct Blocks {
  int64_t n, k, panels, blocks, items;
  Dtype dtype;
  bool extreme;                       // all multiples of a block are the least, or all the greatest
  std::vector<BlockNumbers> numbers;  // [n, blocks]
  std::vector<std::byte> bytes;

  Blocks(test::Random& random, int64_t rows, int64_t cols, Dtype kind, bool all_extreme)
      : n(rows),
        k(cols),
        panels((rows + 31) / 32),
        items(dtype_info(kind).block_items),
        dtype(kind),
        extreme(all_extreme) {
    const int64_t block_bytes = dtype_info(kind).block_bytes;
    blocks = (k + items - 1) / items;
    std::vector<std::byte> lanes(static_cast<size_t>(panels * 32 * blocks * block_bytes));
    for (int64_t i = 0; i < n * blocks; ++i) {
      BlockNumbers& block = numbers.emplace_back(random_block(random));
      // What the kind has no room for goes.
      write_block(dtype, block, lanes.data() + i * block_bytes);
      block = read_block(dtype, lanes.data() + i * block_bytes);
    }
    bytes.resize(lanes.size());
    for (int64_t p = 0; p < panels; ++p)
      join_block_panel(dtype, lanes.data() + p * 32 * blocks * block_bytes, std::min<int64_t>(32, n - 32 * p), k,
                       bytes.data() + p * 32 * blocks * block_bytes);
  }

  BlockNumbers random_block(test::Random& random) const {
    struct Multiples {
      Dtype dtype;
      int low, high;
    };
    constexpr Multiples kMultiples[] = {{Dtype::q8_0, -128, 127}, {Dtype::q4_0, -8, 7}, {Dtype::q4_1, 0, 15},
                                        {Dtype::q4_k, 0, 15},     {Dtype::q5_k, 0, 31}, {Dtype::q6_k, -32, 31}};
    const auto* const of = std::ranges::find(kMultiples, dtype, &Multiples::dtype);
    const auto half = [&] {
      const int64_t which = random.below(8);
      return which == 0 ? uint16_t{0} : which == 1 ? uint16_t{0x8003} : f32_to_f16(random.normal() * 0.01f);
    };
    BlockNumbers block;
    block.d = half();
    block.o = half();
    for (int i = 0; i < 16; ++i) {
      block.scales[i] = static_cast<int8_t>(random.below(256) - 128);
      block.offsets[i] = static_cast<int8_t>(random.below(64));
    }
    const int side = random.below(2) == 0 ? of->low : of->high;
    for (int8_t& multiple : block.multiples)
      multiple = static_cast<int8_t>(extreme ? side : of->low + random.below(of->high - of->low + 1));
    return block;
  }
};

struct Rounded {
  std::vector<int8_t> bytes, words;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

Rounded round_rows(const Kernels& table, const std::vector<float>& x, int64_t m, int64_t k) {
  const int64_t blocks = (k + 31) / 32;
  Rounded r{std::vector<int8_t>(static_cast<size_t>(m * blocks * 32)),
            std::vector<int8_t>(static_cast<size_t>(m * blocks * 64)),
            std::vector<float>(static_cast<size_t>(m * blocks)),
            std::vector<int32_t>(static_cast<size_t>(m * blocks * 2))};
  for (int64_t row = 0; row < m; ++row)
    table.quantize(x.data() + row * k, k, r.bytes.data() + row * blocks * 32, r.words.data() + row * blocks * 64,
                   r.scales.data() + row * blocks, r.sums.data() + row * blocks * 2);
  return r;
}

// One output for one row of x, in plain code: what shares a scale as an integer, in order; then the offset of every 32.
float product_of(const Blocks& w, int64_t out, const Rounded& x, int64_t row, int64_t x_blocks) {
  float sum = 0;
  for (int64_t b = 0; b < x_blocks; ++b) {
    const BlockNumbers& block = w.numbers[static_cast<size_t>(out * w.blocks + b * 32 / w.items)];
    const int8_t* bytes = x.bytes.data() + (row * x_blocks + b) * 32;
    const float x_scale = x.scales[static_cast<size_t>(row * x_blocks + b)];
    const int64_t first = b * 32 % w.items;
    int32_t x_sum = 0;
    for (int64_t i = 0; i < 32;) {
      const int64_t part = (first + i) / block.per_scale;
      int32_t dot = 0;
      for (const int64_t stop = i + std::min(block.per_scale, 32); i < stop; ++i) {
        dot += block.multiples[first + i] * bytes[i];
        x_sum += bytes[i];
      }
      const float scale = f16_to_f32(block.d) * static_cast<float>(block.scales[part]);
      sum = std::fma(static_cast<float>(dot), scale * x_scale, sum);
    }
    if (block.o == BlockNumbers::kNoOffset) continue;
    const float offset = f16_to_f32(block.o) * static_cast<float>(block.offsets[first / block.per_scale]);
    sum = std::fma(offset, x_scale * static_cast<float>(x_sum), sum);
  }
  return sum;
}

TEST_CASE("kernels: the multiply-add peak does the steps that it counts") {
  for (const Kernels* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    float once = 0, often = 0;
    const int64_t few = table->multiply_add_peak(1, &once), many = table->multiply_add_peak(1000, &often);
    CHECK(many == 1000 * few);
    // 12 or 24 sums, which begin at 0, 1, 2, ... and grow by 1, 2, 3, 1, ...
    const float sums = once < 100 ? 12 : 24, begin = sums * (sums - 1) / 2;
    CHECK(once == begin + 2 * sums);
    CHECK(often == begin + 2000 * sums);
  }
}

TEST_CASE("kernels: the integer peak does the dots that it counts") {
  for (const Kernels* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    float once = 0, often = 0;
    const int64_t few = table->integer_peak(1, &once), many = table->integer_peak(1000, &often);
    CHECK(many == 1000 * few);
    // Vectors of weights meet x 1, 2, ...: 2 of them with 3, or 3 with 4, 8 times.
    CHECK((once == 8 * 2 * (1 + 2 + 3) || once == 8 * 3 * (1 + 2 + 3 + 4)));
    CHECK(often == 1000 * once);
  }
}

}  // namespace

TEST_CASE("kernels: rounding a row to 8 bits keeps each number within half a step, at any length") {
  test::Random random(21);
  for (const int64_t k : {1, 5, 31, 32, 33, 64, 100}) {
    std::vector<float> x = random.normals(static_cast<size_t>(k), 3.0f);
    if (k > 5) x[5] = -0.0f;
    const Rounded r = round_rows(kernels(), x, 1, k);
    for (int64_t i = 0; i < (k + 31) / 32 * 32; ++i) {
      const float scale = r.scales[static_cast<size_t>(i / 32)];
      if (i >= k)
        CHECK(r.bytes[static_cast<size_t>(i)] == 0);
      else
        CHECK(std::abs(r.bytes[static_cast<size_t>(i)] * scale - x[static_cast<size_t>(i)]) <= scale * 0.5001f);
    }
    for (size_t b = 0; b < r.sums.size(); ++b) {
      int sum = 0;
      for (size_t i = 0; i < 16; ++i) sum += r.bytes[b * 16 + i];
      CHECK(sum == r.sums[b]);
    }
  }
}

TEST_CASE("kernels: rows of zeros, tiny and huge numbers round without overflow, and alike on every table") {
  test::Random random(22);
  for (const float scale : {0.0f, 1e-45f, 1e-39f, 1e-37f, 1.0f, 1e30f, 3e38f}) {
    std::vector<float> x(70);
    for (float& v : x) v = scale * static_cast<float>(2 * random.uniform() - 1);
    const Rounded first = round_rows(*available_kernels().front(), x, 1, 70);
    for (const float s : first.scales) CHECK(std::isfinite(s));
    for (const Kernels* table : available_kernels()) {
      const Rounded other = round_rows(*table, x, 1, 70);
      CHECK(other.bytes == first.bytes);
      CHECK(test::same_bits(other.scales, first.scales));
      CHECK(other.sums == first.sums);
    }
  }
}

namespace {

// The product on every table against its definition, to the bit.
void check_products(const Blocks& w, const std::vector<float>& x, int64_t m) {
  const int64_t width = w.panels * 32, blocks = (w.k + 31) / 32;
  const Rounded rounded = round_rows(kernels(), x, m, w.k);
  std::vector<float> expected(static_cast<size_t>(m * width));
  for (int64_t row = 0; row < m; ++row)
    for (int64_t out = 0; out < w.n; ++out)
      expected[static_cast<size_t>(row * width + out)] = product_of(w, out, rounded, row, blocks);
  for (const Kernels* table : available_kernels()) {
    const Rounded r = round_rows(*table, x, m, w.k);
    std::vector<float> y(expected.size(), 3.0f);
    table->product[static_cast<size_t>(w.dtype)]({.x_stride = blocks * 32,
                                                  .x_bytes = r.bytes.data(),
                                                  .x_words = r.words.data(),
                                                  .x_scales = r.scales.data(),
                                                  .x_sums = r.sums.data(),
                                                  .m = m,
                                                  .panels = w.bytes.data(),
                                                  .panel_stride = static_cast<int64_t>(w.bytes.size()) / w.panels,
                                                  .n_panels = w.panels,
                                                  .k = w.k,
                                                  .y = y.data(),
                                                  .y_stride = width});
    CAPTURE(table->name);
    CAPTURE(dtype_info(w.dtype).name);
    CAPTURE(w.n);
    CAPTURE(w.k);
    CAPTURE(m);
    // Past the last output lie zeros of either sign.
    for (int64_t i = 0; i < m * width; ++i)
      if (i % width >= w.n && y[static_cast<size_t>(i)] == 0) y[static_cast<size_t>(i)] = 0;
    REQUIRE(test::same_bits(y, expected));
  }
}

}  // namespace

TEST_CASE("kernels: block products are exact integers joined by one fused step a scale, to the bit, on every table") {
  test::Random random(23);
  for (const Dtype kind : kBlockDtypes)
    for (const int64_t n : {1, 31, 32, 33, 128, 161})
      for (const int64_t k : {1, 31, 32, 33, 100, 256, 767, 769, 1601})
        for (const int64_t m : {1, 2, 3, 6, 7, 13, 25, 40}) {
          if ((k > 256 || m > 13) && n != 33) continue;  // long and many only once: the plain table is slow
          const Blocks w(random, n, k, kind, false);
          check_products(w, random.normals(static_cast<size_t>(m * k)), m);
        }
}

TEST_CASE("kernels: the largest sums of the largest products are exact on every table") {
  test::Random random(24);
  for (const Dtype kind : kBlockDtypes)
    for (const int64_t m : {1, 2, 13, 40}) {
      const Blocks w(random, 32, 512, kind, true);
      // Rounded to 127 or -127, sixteen of a sign together.
      std::vector<float> x(static_cast<size_t>(m * w.k));
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % 16 != 0 ? x[i - 1] : random.below(2) == 0 ? -3.0f : 3.0f;
      check_products(w, x, m);
    }
}
