// intervals_test.cpp: intervals against tables, against slow formulas, and against a truth that is known: they cover.
#include "study/intervals.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "support.h"

using namespace ordinal;

namespace {

// Windows side by side over a text of `tokens` tokens.
std::vector<Window> side_by_side(int64_t tokens, int64_t length) {
  return plan_windows(Cut::rolling, tokens, length, length);
}

// A text of made-up differences whose mean is known: what every window does at a place, `rise` nats at most and from
// half of the window on as past a trained length; what a window does as a whole; and noise that lasts some tokens and
// has long tails, as losses have.
struct World {
  const char* name;
  int64_t length;   // of windows
  int64_t windows;  // of each text
  int64_t texts;
  double rise, of_window, lasts;
  bool sliding;
};

constexpr World kWorlds[] = {
    {"inside the trained length, 20 windows", 256, 20, 1, 0.0, 0.05, 0.6, false},
    {"short windows, 80 of them", 64, 80, 1, 0.0, 0.05, 0.6, false},
    {"twice the length, 10 windows", 512, 10, 1, 1.5, 0.15, 0.6, false},
    {"four times the length, 5 windows", 1024, 5, 1, 2.5, 0.3, 0.6, false},
    {"the same, a last window cut short", 1000, 5, 1, 2.5, 0.3, 0.6, false},
    {"twice the length, sliding by half", 512, 10, 1, 1.5, 0.15, 0.6, true},
    {"three texts, twice the length", 512, 5, 3, 1.5, 0.15, 0.6, false},
};

double rise_at(const World& world, int64_t place) {
  const double past = static_cast<double>(place) / static_cast<double>(world.length) - 0.5;
  return past <= 0 ? 0 : world.rise * std::min(1.0, 4 * past);
}

struct Covered {
  double share = 0, width = 0;                // of intervals that hold the truth; mean width
  double blocks_share = 0, blocks_width = 0;  // of 1.96 standard errors of blocks of 64 tokens
};

// 1.96 standard errors from blocks of 64 tokens in a row, whatever window they are of.
std::pair<double, double> interval_of_blocks(const std::vector<double>& values) {
  constexpr size_t kBlock = 64;
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  const size_t blocks = values.size() / kBlock;
  for (size_t b = 0; b < blocks; ++b) {
    double sum = 0;
    for (size_t i = b * kBlock; i < (b + 1) * kBlock; ++i) sum += values[i] / kBlock;
    squares += (sum - mean) * (sum - mean);
  }
  return {mean, 1.96 * std::sqrt(squares / static_cast<double>(blocks * (blocks - 1)))};
}

Covered coverage(const World& world, int trials, uint64_t seed) {
  test::Random random(seed);
  SampledTokens sampled;
  std::vector<std::vector<Window>> plans;
  for (int64_t t = 0; t < world.texts; ++t) {
    const int64_t tokens = world.length * world.windows + 1 - (world.length % 64 == 0 ? 0 : world.length * 3 / 5);
    plans.push_back(world.sliding ? plan_windows(Cut::rolling, tokens, world.length, world.length / 2)
                                  : side_by_side(tokens, world.length));
    sampled.add_text(plans.back());
  }
  double truth = 0;
  for (const std::vector<Window>& plan : plans)
    for (const Window& window : plan)
      for (int64_t target = window.scored_from; target <= window.first + window.count; ++target)
        truth += rise_at(world, target - window.first - 1) / static_cast<double>(sampled.size());
  Covered covered;
  const double each = 1.0 / trials;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values;
    for (const std::vector<Window>& plan : plans) {
      double noise = 0;
      for (const Window& window : plan) {
        const double of_window = world.of_window * static_cast<double>(random.normal());
        for (int64_t target = window.scored_from; target <= window.first + window.count; ++target) {
          const double fresh = static_cast<double>(random.normal()) * std::abs(static_cast<double>(random.normal()));
          noise = world.lasts * noise + 0.4 * fresh;
          values.push_back(rise_at(world, target - window.first - 1) + of_window + noise);
        }
      }
    }
    const Estimate e = estimate(values, sampled);
    covered.share += e.low <= truth && truth <= e.high ? each : 0;
    covered.width += (e.high - e.low) * each;
    const auto [mean, half] = interval_of_blocks(values);
    covered.blocks_share += std::abs(mean - truth) <= half ? each : 0;
    covered.blocks_width += 2 * half * each;
  }
  return covered;
}

}  // namespace

TEST_CASE("intervals: Student's t and Wilson's interval have the values of tables") {
  // scipy.stats.t.ppf(0.975, n), scipy 1.14.
  const std::pair<double, double> known[] = {{1, 12.7062},  {4, 2.77645},  {9, 2.26216},  {10, 2.22814},
                                             {11, 2.20099}, {19, 2.09302}, {30, 2.04227}, {200, 1.97190}};
  for (const auto& [degrees, value] : known)
    CHECK_MESSAGE(student_quantile(degrees) == doctest::Approx(value).epsilon(2e-5), degrees);
  CHECK(std::isinf(student_quantile(0)));
  CHECK(student_quantile(3.5) == doctest::Approx(2.93).epsilon(0.01));  // between those of 3 and 4
  // statsmodels.stats.proportion.proportion_confint(8, 10, method="wilson"), 0.14.
  CHECK(wilson_interval(8, 10).low == doctest::Approx(0.4901625).epsilon(1e-6));
  CHECK(wilson_interval(8, 10).high == doctest::Approx(0.9433178).epsilon(1e-6));
  CHECK(wilson_interval(0, 20).low == 0.0);
  CHECK(wilson_interval(0, 20).high == doctest::Approx(0.1611252).epsilon(1e-6));
  CHECK(wilson_interval(0, 0).high == 1.0);
}

TEST_CASE("intervals: with windows of one size the error is that of the windows' means") {
  const int64_t length = 128, n_windows = 7;
  SampledTokens sampled;
  sampled.add_text(side_by_side(length * n_windows + 1, length));
  test::Random random(3);
  std::vector<double> values, means(n_windows, 0.0);
  for (int64_t w = 0; w < n_windows; ++w)
    for (int64_t i = 0; i < length; ++i) {
      values.push_back(static_cast<double>(random.normal()) + 0.01 * static_cast<double>(i));
      means[w] += values.back() / length;
    }
  double mean = 0, squares = 0;
  for (const double one : means) mean += one / n_windows;
  for (const double one : means) squares += (one - mean) * (one - mean);
  const Estimate e = estimate(values, sampled);
  CHECK(e.mean == doctest::Approx(mean));
  CHECK(e.clusters == n_windows);
  CHECK(e.std_error == doctest::Approx(std::sqrt(squares / (n_windows * (n_windows - 1)))));
  CHECK(e.high - e.mean == doctest::Approx(2.44691 * e.std_error));
  CHECK(e.mean - e.low == doctest::Approx(e.high - e.mean));
}

TEST_CASE("intervals: what every window does at the same place is no noise") {
  SampledTokens sampled;
  sampled.add_text(side_by_side(512 * 6 + 1 - 300, 512));  // the last window is short, and so has less of the climb
  std::vector<double> values;
  for (size_t i = 0; i < sampled.size(); ++i) values.push_back(sampled.strata()[i] < 16 ? 0.0 : 2.0);
  CHECK(estimate(values, sampled).std_error < 1e-12);
  CHECK(interval_of_blocks(values).second > 0.1);
  const std::vector<Estimate> places = estimate_by_stratum(values, sampled);
  REQUIRE(places.size() == SampledTokens::kStrata);
  CHECK(places[3].mean == 0.0);
  CHECK(places[20].mean == 2.0);
  CHECK(places[20].clusters == 5);
  CHECK(places[3].clusters == 6);
}

TEST_CASE("intervals: nothing is claimed of one piece, and equal values have no width") {
  SampledTokens one;
  one.add_text(side_by_side(9, 8));
  CHECK(estimate(std::vector<double>(8, 1.5), one).mean == 1.5);
  CHECK(estimate(std::vector<double>(8, 0.0), one).is_nothing());
  SampledTokens window;
  window.add_text(side_by_side(1025, 1024));  // a single window: its runs of 64 tokens stand for it
  std::vector<double> in_runs;
  for (int i = 0; i < 1024; ++i) in_runs.push_back(i / 64 % 2);
  CHECK(estimate(in_runs, window).clusters == 16);
  CHECK(estimate(in_runs, window).std_error == doctest::Approx(0.5 / std::sqrt(15.0)));
  window.add_text(side_by_side(1025, 1024));  // with a second text the windows count
  in_runs.insert(in_runs.end(), in_runs.begin(), in_runs.end());
  CHECK(estimate(in_runs, window).clusters == 2);
  CHECK(std::isnan(estimate({}, one).mean));
  CHECK_FALSE(Estimate{.mean = 1}.has_interval());
  CHECK_FALSE(Estimate{.mean = 1}.is_above_zero());
}

TEST_CASE("intervals: over texts every text counts the same") {
  SampledTokens sampled;
  sampled.add_text(side_by_side(101, 50));
  sampled.add_text(side_by_side(201, 50));
  sampled.add_text(side_by_side(301, 50));
  std::vector<double> values(600);
  for (size_t i = 0; i < 600; ++i) values[i] = sampled.text_of()[i];  // 0, 1, 2
  const Estimate e = estimate_over_texts(values, sampled);
  CHECK(e.mean == 1.0);
  CHECK(e.clusters == 3);
  CHECK(e.std_error == doctest::Approx(1 / std::sqrt(3.0)));
  CHECK(e.high == doctest::Approx(1 + 4.30265 / std::sqrt(3.0)));
  SampledTokens alone;
  alone.add_text(side_by_side(101, 50));
  CHECK_FALSE(estimate_over_texts(std::vector<double>(100, 1.0), alone).has_interval());
}

TEST_CASE("intervals: 95 of 100 hold a truth that is known, 92 to 98 in samples of 500") {
  for (const World& world : kWorlds) {
    CAPTURE(world.name);
    const Covered covered = coverage(world, 500, 11);
    CHECK(covered.share >= 0.92);
    CHECK(covered.share <= 0.98);
    if (world.windows == 10 && world.texts == 1 && !world.sliding) CHECK(covered.blocks_width > 1.2 * covered.width);
  }
}

// make coverage: the table of src/study/README.md.
TEST_CASE("intervals: coverage table" * doctest::skip()) {
  std::printf("| made-up text | covered | mean width | blocks of 64: covered | mean width |\n|---|---|---|---|---|\n");
  for (const World& world : kWorlds) {
    const Covered c = coverage(world, 3000, 12);
    std::printf("| %s | %.1f %% | %.3f | %.1f %% | %.3f |\n", world.name, 100 * c.share, c.width, 100 * c.blocks_share,
                c.blocks_width);
  }
}
