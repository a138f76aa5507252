// product_test.cpp: the matrix kernel against double precision, and bit for bit between instruction sets and tilings.
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr Dtype kKinds[] = {Dtype::f32, Dtype::f16, Dtype::bf16};

// A random matrix [n, k] in panels of one kind, with the values that the panels hold after rounding.
struct Matrix {
  int64_t n, k, panels;
  std::vector<float> values;     // [n, k], rounded
  std::vector<std::byte> bytes;  // panels, at `offset` into the vector
  size_t offset;
  Dtype dtype;

  Matrix(test::Random& random, int64_t rows, int64_t cols, Dtype kind, bool misaligned)
      : n(rows), k(cols), panels((rows + 31) / 32), offset(misaligned ? 4 : 0), dtype(kind) {
    const int64_t item = dtype_info(kind).block_bytes;
    bytes.resize(static_cast<size_t>(panels * k * 32 * item) + offset);
    for (int64_t i = 0; i < n * k; ++i) {
      float value = random.normal();
      if (random.below(20) == 0) value = 0.0f;
      if (random.below(50) == 0) value *= 1e-6f;
      values.push_back(value);
    }
    for (int64_t row = 0; row < n; ++row)
      for (int64_t c = 0; c < k; ++c) {
        float& value = values[static_cast<size_t>(row * k + c)];
        std::byte* at = bytes.data() + offset + ((row / 32 * k + c) * 32 + row % 32) * item;
        narrow(kind, {&value, 1}, at);
        widen(kind, at, 0, {&value, 1});
      }
  }

  PanelProduct product(const std::vector<float>& x, int64_t x_stride, int64_t m, std::vector<float>& y) const {
    return {.x = x.data(),
            .x_stride = x_stride,
            .m = m,
            .panels = bytes.data() + offset,
            .panel_stride = k * 32 * dtype_info(dtype).block_bytes,
            .n_panels = panels,
            .k = k,
            .y = y.data(),
            .y_stride = panels * 32};
  }
};

void run(const Kernels& table, const Matrix& w, const PanelProduct& product) {
  table.product[static_cast<size_t>(w.dtype)](product);
}

}  // namespace

TEST_CASE("kernels: the panel product is the sum in order of fused multiply-adds, to the bit, on every table") {
  test::Random random(1);
  for (const int64_t n : {1, 31, 32, 33, 64, 97, 160, 290})
    for (const int64_t k : {1, 2, 31, 64, 100, 255, 256, 257, 600})
      for (const Dtype kind : kKinds) {
        if (k > 100 && n != 33 && n != 97)
          continue;  // long sums, cut into parts, and many rows: the plain table is slow
        const Matrix w(random, n, k, kind, (n + k) % 2 == 1);
        const int64_t m = k > 100 && n == 33 ? 67 + random.below(20) : 1 + random.below(40);
        const int64_t stride = k + random.below(5);
        const std::vector<float> x = random.normals(static_cast<size_t>(m * stride));
        // The definition, in plain scalar code.
        std::vector<float> expected(static_cast<size_t>(m * w.panels * 32), 0.0f);
        for (int64_t r = 0; r < m; ++r)
          for (int64_t row = 0; row < n; ++row) {
            float sum = 0;
            for (int64_t c = 0; c < k; ++c)
              sum = std::fma(x[static_cast<size_t>(r * stride + c)], w.values[static_cast<size_t>(row * k + c)], sum);
            expected[static_cast<size_t>(r * w.panels * 32 + row)] = sum;
          }
        for (const Kernels* table : available_kernels()) {
          std::vector<float> y(expected.size(), 7.0f);
          run(*table, w, w.product(x, stride, m, y));
          CAPTURE(table->name);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(m);
          CAPTURE(dtype_info(kind).name);
          REQUIRE(test::same_bits(y, expected));
        }
      }
}

TEST_CASE("kernels: a row's product does not depend on the rows beside it, for every count of rows from 1 to 40") {
  test::Random random(2);
  const int64_t k = 75, n = 200;
  for (const Dtype kind : kKinds) {
    const Matrix w(random, n, k, kind, false);
    const std::vector<float> x = random.normals(40 * 75);
    for (const Kernels* table : available_kernels()) {
      std::vector<float> alone(static_cast<size_t>(40 * w.panels * 32)), together(alone.size());
      for (int64_t r = 0; r < 40; ++r) {
        PanelProduct one = w.product(x, k, 1, alone);
        one.x += r * k;
        one.y += r * one.y_stride;
        run(*table, w, one);
      }
      for (int64_t m = 1; m <= 40; ++m) {
        run(*table, w, w.product(x, k, m, together));
        CAPTURE(m);
        CAPTURE(table->name);
        REQUIRE(std::memcmp(alone.data(), together.data(), static_cast<size_t>(m * w.panels * 32) * 4) == 0);
      }
    }
  }
}

TEST_CASE("kernels: a sum over k in two parts, the second accumulating, has the bits of one sum") {
  test::Random random(3);
  const int64_t k = 90, split = 37;
  const Matrix w(random, 70, k, Dtype::f32, false);
  const std::vector<float> x = random.normals(5 * 90);
  for (const Kernels* table : available_kernels()) {
    std::vector<float> whole(static_cast<size_t>(5 * w.panels * 32)), parts(whole.size());
    run(*table, w, w.product(x, k, 5, whole));
    PanelProduct product = w.product(x, k, 5, parts);
    product.k = split;
    run(*table, w, product);
    product.x += split;
    product.panels += split * 32 * 4;
    product.k = k - split;
    product.accumulate = true;
    run(*table, w, product);
    CHECK(test::same_bits(whole, parts));
  }
}

TEST_CASE("kernels: the panel product is within the rounding bound of k fused steps of the sum in double precision") {
  test::Random random(4);
  const int64_t n = 64, k = 1000;
  const Matrix w(random, n, k, Dtype::f32, false);
  const std::vector<float> x = random.normals(static_cast<size_t>(k));
  std::vector<float> y(static_cast<size_t>(w.panels * 32));
  run(kernels(), w, w.product(x, k, 1, y));
  for (int64_t row = 0; row < n; ++row) {
    double sum = 0, absolute = 0;
    for (int64_t c = 0; c < k; ++c) {
      const double term = static_cast<double>(x[static_cast<size_t>(c)]) * w.values[static_cast<size_t>(row * k + c)];
      sum += term;
      absolute += std::abs(term);
    }
    CHECK(std::abs(y[static_cast<size_t>(row)] - sum) <= absolute * static_cast<double>(k) * 0x1p-24);
  }
}

TEST_CASE("kernels: infinities, NaN and extreme values pass through the product as IEEE says") {
  const float inf = std::numeric_limits<float>::infinity(), big = std::numeric_limits<float>::max();
  test::Random random(5);
  Matrix w(random, 33, 3, Dtype::f32, false);
  for (const Kernels* table : available_kernels()) {
    std::vector<float> y(static_cast<size_t>(w.panels * 32));
    run(*table, w, w.product({inf, 0, 0}, 3, 1, y));
    for (int64_t row = 0; row < 33; ++row) {
      const float value = w.values[static_cast<size_t>(row * 3)];
      CHECK((value == 0 ? std::isnan(y[static_cast<size_t>(row)]) : std::isinf(y[static_cast<size_t>(row)])));
    }
    run(*table, w, w.product({big, big, -big}, 3, 1, y));
    for (int64_t row = 33; row < 64; ++row) CHECK(y[static_cast<size_t>(row)] == 0.0f);  // padded lanes stay 0
  }
}
