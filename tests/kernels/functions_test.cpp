// functions_test.cpp: norms, softmax and activations against double precision, and bit for bit between instruction
// sets. Published values: ../shared/cases num-01.
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/kernels.h"
#include "support.h"

using namespace ordinal;

namespace {

using Unary = void (*Kernels::*)(float*, int64_t);

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

std::vector<float> nasty_values() {
  std::vector<float> x;
  for (float v = -20.0f; v <= 20.0f; v += 0.0137f) x.push_back(v);
  for (const float v : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-40f, 87.0f, -87.0f, 88.0f, 100.0f, -100.0f}) x.push_back(v);
  return x;
}

}  // namespace

TEST_CASE("kernels: activations and e^x follow double precision to a few parts in ten million") {
  const struct {
    const char* name;
    Unary function;
    double (*exact)(double);
    double relative, absolute;
  } cases[] = {
      {"exp", &Kernels::exponential, [](double x) { return std::exp(x); }, 2e-7, 0},
      {"gelu_tanh", &Kernels::gelu_tanh, gelu_tanh, 1e-6, 1e-7},
      {"gelu_erf", &Kernels::gelu_erf, gelu_erf, 1e-6, 1e-7},
      {"silu", &Kernels::silu, [](double x) { return x / (1 + std::exp(-x)); }, 4e-7, 1e-30},
      {"relu", &Kernels::relu, [](double x) { return x > 0 ? x : 0; }, 0, 0},
  };
  for (const auto& c : cases) {
    std::vector<float> x = nasty_values(), y = x;
    (kernels().*c.function)(y.data(), static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::string_view(c.name) == "exp" && (x[i] < -87.3f || x[i] > 88.7f)) continue;
      const double exact = c.exact(x[i]);
      CAPTURE(c.name);
      CAPTURE(x[i]);
      CHECK(std::abs(y[i] - exact) <= c.relative * std::abs(exact) + c.absolute);
    }
  }
}

TEST_CASE("kernels: both forms of GELU give the published values, and no NaN at the extremes") {
  const std::vector<float> x = {-10.0f, -5.0f, -3.0f, -2.0f, -1.0f, -0.5f, -0.1f, 0.0f,
                                0.1f,   0.5f,  1.0f,  2.0f,  3.0f,  5.0f,  10.0f};
  const std::vector<double> tanh_form = {-0.0,        -2.3e-07,    -0.00363739, -0.04540231, -0.15880801,
                                         -0.15428599, -0.04601725, 0.0,         0.05398275,  0.34571401,
                                         0.84119199,  1.95459769,  2.99636261,  4.99999977,  10.0};
  const std::vector<double> exact_form = {-0.0,        -1.43e-06,   -0.00404969, -0.04550026, -0.15865525,
                                          -0.15426877, -0.04601722, 0.0,         0.05398278,  0.34573123,
                                          0.84134475,  1.95449974,  2.99595031,  4.99999857,  10.0};
  for (const Kernels* table : available_kernels()) {
    std::vector<float> a = x, b = x;
    table->gelu_tanh(a.data(), static_cast<int64_t>(a.size()));
    table->gelu_erf(b.data(), static_cast<int64_t>(b.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(std::abs(a[i] - tanh_form[i]) <= 1e-6);
      CHECK(std::abs(b[i] - exact_form[i]) <= 1e-6);
    }
    std::vector<float> extreme = {1e4f, -1e4f, 1e20f, -1e20f}, other = extreme, third = extreme;
    table->gelu_tanh(extreme.data(), 4);
    table->gelu_erf(other.data(), 4);
    table->silu(third.data(), 4);
    for (const std::vector<float>& y : {extreme, other, third}) {
      CHECK(y[0] == 1e4f);
      CHECK(std::abs(y[1]) <= 1e-6);
      CHECK(y[2] == 1e20f);
      CHECK(std::abs(y[3]) <= 1e-6);
    }
  }
}

TEST_CASE("kernels: e^x is 0 far below, finite far above, and NaN stays NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const Kernels* table : available_kernels()) {
    std::vector<float> x = {-88.0f, -1e30f, -inf, 89.0f, 1e30f, inf, nan, 0.0f, -0.0f};
    table->exponential(x.data(), static_cast<int64_t>(x.size()));
    for (int i = 0; i < 3; ++i) CHECK(x[static_cast<size_t>(i)] == 0.0f);
    for (int i = 3; i < 6; ++i) CHECK((x[static_cast<size_t>(i)] > 3e38f && std::isfinite(x[static_cast<size_t>(i)])));
    CHECK(std::isnan(x[6]));
    CHECK(x[7] == 1.0f);
    CHECK(x[8] == 1.0f);
  }
}

TEST_CASE("kernels: softmax sums to 1, follows double precision, and masks -infinity to 0") {
  test::Random random(6);
  for (const int64_t n : {1, 2, 31, 32, 33, 100, 1000}) {
    std::vector<float> x = random.normals(static_cast<size_t>(n), 5.0f);
    if (n > 2) x[1] = -std::numeric_limits<float>::infinity();
    double top = -1e300, sum = 0;
    for (const float v : x) top = std::max(top, static_cast<double>(v));
    for (const float v : x) sum += std::exp(v - top);
    std::vector<float> y = x;
    kernels().softmax(y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const double exact = std::exp(x[i] - top) / sum;
      // x - top is rounded to a float before the exponential
      CHECK(std::abs(y[i] - exact) <= (5e-7 + std::abs(x[i] - top) * 0x1p-23) * exact + 1e-38);
    }
    if (n > 2) CHECK(y[1] == 0.0f);
  }
}

TEST_CASE("kernels: norms follow double precision, with and without bias, at any length") {
  test::Random random(7);
  for (const int64_t n : {1, 2, 5, 31, 32, 33, 48, 768, 1000}) {
    std::vector<float> x = random.normals(static_cast<size_t>(n), 3.0f);
    for (float& v : x) v += 2.0f;
    const std::vector<float> weight = random.normals(x.size()), bias = random.normals(x.size());
    double mean = 0, variance = 0, square = 0;
    for (const float v : x) mean += v / static_cast<double>(n);
    for (const float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
    for (const float v : x) square += static_cast<double>(v) * v / static_cast<double>(n);
    for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
      std::vector<float> layer(x.size()), rms(x.size());
      kernels().layer_norm(x.data(), weight.data(), b, 1e-5f, layer.data(), n);
      kernels().rms_norm(x.data(), weight.data(), b, 1e-5f, rms.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        const double added = b == nullptr ? 0 : b[i];
        CHECK(layer[i] ==
              doctest::Approx((x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + added).epsilon(2e-5));
        CHECK(rms[i] == doctest::Approx(x[i] / std::sqrt(square + 1e-5) * weight[i] + added).epsilon(2e-6));
      }
    }
  }
}

TEST_CASE("kernels: every function gives the same bits on every instruction set, at ragged lengths and addresses") {
  test::Random random(8);
  const Unary unary[] = {&Kernels::exponential, &Kernels::gelu_tanh, &Kernels::gelu_erf,
                         &Kernels::relu,        &Kernels::silu,      &Kernels::softmax};
  const Kernels& first = *available_kernels().front();
  for (const Kernels* table : available_kernels())
    for (int64_t n = 1; n < 140; n += n < 70 ? 1 : 13)
      for (const float scale : {1.0f, 30.0f, 1e-38f}) {
        const size_t size = static_cast<size_t>(n) + 1;
        const std::vector<float> x = random.normals(size, scale), w = random.normals(size), b = random.normals(size);
        CAPTURE(table->name);
        CAPTURE(n);
        for (const Unary function : unary) {
          std::vector<float> one = x, two = x;
          (first.*function)(one.data() + 1, n);
          (table->*function)(two.data() + 1, n);
          REQUIRE(test::same_bits(one, two));
        }
        const auto both = [&](auto call) {
          std::vector<float> one = x, two = x;
          call(first, one.data() + 1);
          call(*table, two.data() + 1);
          REQUIRE(test::same_bits(one, two));
        };
        both([&](const Kernels& t, float* y) { t.layer_norm(x.data(), w.data() + 1, b.data(), 1e-5f, y, n); });
        both([&](const Kernels& t, float* y) { t.layer_norm(x.data(), w.data() + 1, nullptr, 1e-5f, y, n); });
        both([&](const Kernels& t, float* y) { t.rms_norm(x.data(), w.data() + 1, b.data(), 1e-6f, y, n); });
        both([&](const Kernels& t, float* y) { t.add(y, w.data(), n); });
        both([&](const Kernels& t, float* y) { t.multiply(y, w.data(), n); });
        both([&](const Kernels& t, float* y) { t.scale(y, 0.3f, n); });
      }
}
