// quant_test.cpp: the products over q8_0 and q4_0 panels against their definition in scalar code, to the bit, on every
// instruction set and for every count of rows.
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "support.h"

using namespace ordinal;

namespace {

// Random block panels [n, k] and the weights and scales that they stand for.
struct Blocks {
  int64_t n, k, panels, blocks;
  Dtype dtype;
  std::vector<std::byte> bytes;
  std::vector<int> weights;   // [panels * 32, blocks * 32]
  std::vector<float> scales;  // [panels * 32, blocks]

  Blocks(test::Random& random, int64_t rows, int64_t cols, Dtype kind)
      : n(rows), k(cols), panels((rows + 31) / 32), blocks((cols + 31) / 32), dtype(kind) {
    const bool four = kind == Dtype::q4_0;
    const int64_t block_bytes = four ? 64 + 512 : 64 + 1024;
    bytes.resize(static_cast<size_t>(panels * blocks * block_bytes));
    weights.resize(static_cast<size_t>(panels * 32 * blocks * 32));
    scales.resize(static_cast<size_t>(panels * 32 * blocks));
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t b = 0; b < blocks; ++b) {
        std::byte* block = bytes.data() + (panel * blocks + b) * block_bytes;
        for (int64_t lane = 0; lane < 32; ++lane) {
          const int64_t row = panel * 32 + lane;
          const uint16_t scale = row < n ? f32_to_f16(std::abs(random.normal()) * 0.01f) : uint16_t{0};
          std::memcpy(block + lane * 2, &scale, 2);
          scales[static_cast<size_t>(row * blocks + b)] = f16_to_f32(scale);
          for (int64_t i = 0; i < 32; ++i) {
            const bool inside = row < n && b * 32 + i < k;
            const int weight = !inside ? 0
                               : four  ? static_cast<int>(random.below(16)) - 8
                                       : static_cast<int>(random.below(255)) - 127;
            weights[static_cast<size_t>(row * blocks * 32 + b * 32 + i)] = weight;
            const int64_t group = i / 4, within = i % 4;
            if (!four) {
              block[64 + (group * 32 + lane) * 4 + within] = static_cast<std::byte>(static_cast<int8_t>(weight));
            } else {
              std::byte& pair = block[64 + (group % 4 * 32 + lane) * 4 + within];
              pair |= static_cast<std::byte>((weight + 8) << (group < 4 ? 0 : 4));
            }
          }
        }
      }
  }
};

struct Rounded {
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

Rounded round_rows(const Kernels& table, const std::vector<float>& x, int64_t m, int64_t k) {
  const int64_t blocks = (k + 31) / 32;
  Rounded r{std::vector<int8_t>(static_cast<size_t>(m * blocks * 32)),
            std::vector<float>(static_cast<size_t>(m * blocks)), std::vector<int32_t>(static_cast<size_t>(m * blocks))};
  for (int64_t row = 0; row < m; ++row)
    table.quantize(x.data() + row * k, k, r.bytes.data() + row * blocks * 32, r.scales.data() + row * blocks,
                   r.sums.data() + row * blocks);
  return r;
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
    // Vectors of weights meet x 1, 2, ...: 2 of them with 3, or 8 times 3 with 4.
    CHECK((once == 2 * (1 + 2 + 3) || once == 8 * 3 * (1 + 2 + 3 + 4)));
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
      for (size_t i = 0; i < 32; ++i) sum += r.bytes[b * 32 + i];
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

TEST_CASE("kernels: block products are exact integers joined by one fused step a block, to the bit, on every table") {
  test::Random random(23);
  for (const Dtype kind : {Dtype::q8_0, Dtype::q4_0})
    for (const int64_t n : {1, 31, 32, 33, 128, 161})
      for (const int64_t k : {1, 31, 32, 33, 100, 256, 767, 769, 1601})
        for (const int64_t m : {1, 2, 3, 6, 7, 13, 25, 40}) {
          if ((k > 256 || m > 13) && n != 33) continue;  // long and many only once: the plain table is slow
          const Blocks w(random, n, k, kind);
          const std::vector<float> x = random.normals(static_cast<size_t>(m * k));
          const Rounded r = round_rows(kernels(), x, m, k);
          const int64_t width = w.panels * 32, blocks = w.blocks;
          std::vector<float> expected(static_cast<size_t>(m * width));
          for (int64_t row = 0; row < m; ++row)
            for (int64_t out = 0; out < width; ++out) {
              float sum = 0;
              for (int64_t b = 0; b < blocks; ++b) {
                int32_t dot = 0;
                for (int64_t i = 0; i < 32; ++i)
                  dot += w.weights[static_cast<size_t>((out * blocks + b) * 32 + i)] *
                         r.bytes[static_cast<size_t>((row * blocks + b) * 32 + i)];
                const float both =
                    w.scales[static_cast<size_t>(out * blocks + b)] * r.scales[static_cast<size_t>(row * blocks + b)];
                sum = std::fma(static_cast<float>(dot), both, sum);
              }
              expected[static_cast<size_t>(row * width + out)] = sum;
            }
          for (const Kernels* table : available_kernels()) {
            std::vector<float> y(expected.size(), 3.0f);
            table->product[static_cast<size_t>(kind)]({.x_stride = w.blocks * 32,
                                                       .x_bytes = r.bytes.data(),
                                                       .x_scales = r.scales.data(),
                                                       .x_sums = r.sums.data(),
                                                       .m = m,
                                                       .panels = w.bytes.data(),
                                                       .panel_stride = static_cast<int64_t>(w.bytes.size()) / w.panels,
                                                       .n_panels = w.panels,
                                                       .k = k,
                                                       .y = y.data(),
                                                       .y_stride = width});
            CAPTURE(table->name);
            CAPTURE(dtype_info(kind).name);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(m);
            REQUIRE(test::same_bits(y, expected));
          }
        }
}
