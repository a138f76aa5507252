// sinusoidal_test.cpp: the sinusoids of 2017 against the paper, other engines, and their own geometry.
#include <cmath>

#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::embedded;
using test::make;

ordinal::AttentionShape wide(int64_t d_model) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.d_model = d_model;
  return shape;
}

double channels_dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

TEST_CASE("sinusoidal: the first four rows of width 4") {
  const test::Scheme scheme = make("sinusoidal", wide(4));
  const std::vector<double> expected[] = {{0, 1, 0, 1},
                                          {0.841470985, 0.540302306, 0.009999833, 0.999950000},
                                          {0.909297427, -0.416146837, 0.019998667, 0.999800007},
                                          {0.141120008, -0.989992497, 0.029995500, 0.999550034}};
  for (int64_t p = 0; p < 4; ++p) test::check_near(embedded(scheme, p, 4), expected[p], 1e-7);
}

TEST_CASE("sinusoidal: layout=concat holds the same numbers, all sines first") {
  const std::vector<float> alternating = embedded(make("sinusoidal", wide(8)), 10, 8);
  const std::vector<float> halves = embedded(make("sinusoidal:layout=concat", wide(8)), 10, 8);
  test::check_near(
      halves,
      {-0.544021111, 0.841470985, 0.099833417, 0.009999833, -0.839071529, 0.540302306, 0.995004165, 0.999950000}, 1e-7);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(halves[i] == alternating[2 * i]);
    CHECK(halves[4 + i] == alternating[2 * i + 1]);
  }
}

TEST_CASE("sinusoidal: 80 rows of width 312 have the published sum and ends") {
  const test::Scheme scheme = make("sinusoidal", wide(312));
  double sum = 0, squares = 0;
  for (int64_t p = 0; p < 80; ++p)
    for (const float value : embedded(scheme, p, 312)) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  CHECK(std::abs(sum - 9208.34859028) < 1e-4);
  CHECK(std::abs(squares - 12480) < 1e-3);
  const std::vector<float> last = embedded(scheme, 79, 312);
  test::check_near({last.begin(), last.begin() + 4}, {-0.444112669, -0.895970947, -0.800072302, 0.599903585}, 1e-7);
  test::check_near({last.end() - 4, last.end()}, {0.008890034, 0.999960483, 0.008380367, 0.999964884}, 1e-7);
}

TEST_CASE("sinusoidal: agrees with RoFormer, CTRL and M2M100 in every layout and spacing") {
  for (const json& golden : test::position_goldens()["sinusoidal"]) {
    const std::string spec = golden["spec"];
    CAPTURE(spec);
    const int64_t width = golden["d_model"];
    for (size_t i = 0; i < golden["positions"].size(); ++i)
      test::check_near(embedded(make(spec, wide(width)), golden["positions"][i], width), golden["rows"][i], 1e-6);
  }
}

TEST_CASE("sinusoidal: agrees with the handed-over tables of both layouts") {
  const std::string path = test::shared("checkpoints/positions/sinusoidal.json");
  if (path.empty()) return;
  const json tables = json::parse(test::read_file(path));
  const auto check = [&](const char* name, const char* spec, double tolerance) {
    const int64_t width = static_cast<int64_t>(tables[name][0].size());
    for (size_t p = 0; p < tables[name].size(); ++p)
      test::check_near(embedded(make(spec, wide(width)), static_cast<int64_t>(p), width), tables[name][p], tolerance);
  };
  check("half_dim6_third_party", "sinusoidal:layout=concat", 6e-5);  // printed to four places
  check("half_T16_D8", "sinusoidal:layout=concat", 1e-6);
  check("interleaved_T16_D8", "sinusoidal", 1e-6);
  check("interleaved_T4_D16", "sinusoidal", 1e-6);
}

// A frequency that falls by i/d on every channel, and sines on every channel, would give 32.387 and 3.309 at p = 1.
TEST_CASE("sinusoidal: the squared norm of every row is half the width") {
  for (const char* spec : {"sinusoidal", "sinusoidal:layout=concat,spacing=t2t", "sinusoidal:base=500,first=3"})
    for (const int64_t p : {0, 1, 10, 100, 12345}) {
      const std::vector<float> row = embedded(make(spec, wide(64)), p, 64);
      CHECK(std::abs(channels_dot(row, row) - 32) < 1e-5);
    }
}

TEST_CASE("sinusoidal: a channels_dot product depends on the distance alone") {
  const auto at = [](int64_t width, int64_t p) { return embedded(make("sinusoidal", wide(width)), p, width); };
  CHECK(std::abs(channels_dot(at(312, 2), at(312, 5)) - 128.644829778948) < 1e-4);
  CHECK(std::abs(channels_dot(at(312, 10), at(312, 13)) - 128.644829778948) < 1e-4);
  CHECK(std::abs(channels_dot(at(512, 2), at(512, 5)) - 211.749443427693) < 1e-4);
  CHECK(std::abs(channels_dot(at(512, 90), at(512, 93)) - 211.749443427693) < 1e-4);
}

TEST_CASE("sinusoidal: t2t spacing ends at 1/base exactly, the paper's a step before") {
  const auto last_sine = [](const char* spec) {
    return static_cast<double>(embedded(make(spec, wide(64)), 1, 64)[62]);
  };
  CHECK(std::abs(last_sine("sinusoidal:spacing=t2t") - std::sin(1e-4)) < 1e-11);
  CHECK(std::abs(last_sine("sinusoidal") - std::sin(1.333521432e-4)) < 1e-11);
}

TEST_CASE("sinusoidal: first counts positions from there, scale multiplies") {
  CHECK(embedded(make("sinusoidal:first=2", wide(8)), 5, 8) == embedded(make("sinusoidal", wide(8)), 7, 8));
  std::vector<float> doubled = embedded(make("sinusoidal", wide(8)), 5, 8);
  for (float& value : doubled) value *= 2;
  CHECK(embedded(make("sinusoidal:scale=2", wide(8)), 5, 8) == doubled);
}

TEST_CASE("sinusoidal: angles far out are those of double precision") {
  const std::vector<float> row = embedded(make("sinusoidal", wide(512)), 19999, 512);
  for (size_t i = 0; i < 256; ++i) {
    const long double angle = 19999.0L * std::pow(10000.0L, -2.0L * static_cast<long double>(i) / 512.0L);
    CHECK(std::abs(static_cast<double>(row[2 * i]) - static_cast<double>(std::sin(angle))) < 1e-6);
  }
}

TEST_CASE("sinusoidal: the spec keeps its order and leaves defaults out") {
  CHECK(test::spec_of("sinusoidal:first=0,scale=1,spacing=paper,base=10000,layout=interleaved", wide(8)) ==
        "sinusoidal");
  CHECK(test::spec_of("sinusoidal:first=1,scale=0.5,layout=concat", wide(8)) ==
        "sinusoidal:layout=concat,scale=0.5,first=1");
}

TEST_CASE("sinusoidal: refuses an odd width, a base of 1 and a parameter it has not") {
  CHECK(test::mentions(test::make_error("sinusoidal", wide(7)), {"even d_model"}));
  CHECK(test::mentions(test::make_error("sinusoidal:spacing=t2t", wide(2)), {"4 or more"}));
  CHECK(test::mentions(test::make_error("sinusoidal:base=1", wide(8)), {"base"}));
  CHECK(test::mentions(test::make_error("sinusoidal:theta=500", wide(8)), {"layout, base, spacing, scale, first"}));
}

}  // namespace
