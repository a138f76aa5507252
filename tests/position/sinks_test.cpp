// sinks_test.cpp: the first keys and a window, with positions counted among them.
#include <cmath>

#include "scheme_probe.h"

namespace {

using test::make;

TEST_CASE("sinks: the paper's example, four sinks and a window of four") {
  test::check_distances("rope:pairing=interleaved;with=sinks:first=4,window=4", 9, {7, 6, 5, 4, -1, -1, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=sinks:first=4,window=4", 8, {7, 6, 5, 4, -1, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=sinks:first=4,window=4", 7, {7, 6, 5, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=sinks:first=0,window=2", 3, {-1, -1, 1, 0});
}

TEST_CASE("sinks: the weights of the page's example") {
  std::vector<float> scores;
  for (const double n : {7, 6, 5, 4, 3, 2, 1, 0}) scores.push_back(static_cast<float>(test::score_at_distance(n)));
  const std::vector<double> weights = test::softmax(scores);
  CHECK(std::abs(weights.back() - .974145814) < 1e-7);
  CHECK(std::abs(weights.front() - 7.3512e-05) < 1e-8);
}

TEST_CASE("sinks: a bias sees sinks where they stand among the keys that are seen") {
  const float minus = -std::numeric_limits<float>::infinity();
  const test::Scheme scheme = make("alibi;with=sinks:first=2,window=3");  // head 0 of 2: 1/16 a position
  const std::vector<float> scores = test::scored(scheme, {.position = 9, .keys = test::first_positions(10)}, {},
                                                 {0, 0, minus, minus, minus, minus, minus, 0, 0, 0});
  CHECK(scores == std::vector<float>{-4 / 16.f, -3 / 16.f, minus, minus, minus, minus, minus, -2 / 16.f, -1 / 16.f, 0});
  CHECK(test::scored(scheme, {.position = 3, .keys = {0, 1, 2, 3}}, {}) ==
        std::vector<float>{-3 / 16.f, -2 / 16.f, -1 / 16.f, 0});
}

TEST_CASE("sinks: cope counts what is seen and no more") {
  const test::Tables tables = test::Tables().add("attn_cope.weight", {3, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0});
  const float minus = -std::numeric_limits<float>::infinity();
  const std::vector<float> scores =
      test::scored(make("cope;with=sinks:first=1,window=1", test::small_shape(), tables),
                   {.position = 3, .keys = {0, 1, 2, 3}}, {1, 0, 0, 0}, {50, minus, minus, 50});
  CHECK(scores == std::vector<float>{52, minus, minus, 51});
}

TEST_CASE("sinks: first=4, window=512 unless stated; a window of nothing is refused") {
  CHECK(test::spec_of("none;with=sinks:first=4,window=512") == "none;with=sinks");
  CHECK(make("none;with=sinks")->facts().kind == "anchored");
  CHECK(test::mentions(test::make_error("rope;with=sinks:window=0"), {"from 1"}));
}

}  // namespace
