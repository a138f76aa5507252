// lambda_test.cpp: the first keys at the window's distance, and a window.
#include <cmath>

#include "scheme_probe.h"

namespace {

TEST_CASE("lambda: first keys stand at the window's distance, whichever they are") {
  test::check_distances("rope:pairing=interleaved;with=lambda:first=2,window=4", 9, {4, 4, -1, -1, -1, -1, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=lambda:first=2,window=4", 5, {4, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=lambda:first=2,window=4", 4, {4, 3, 2, 1, 0});
}

TEST_CASE("lambda: the weight of the page's example") {
  std::vector<float> scores;
  for (const double n : {4, 4, 3, 2, 1, 0}) scores.push_back(static_cast<float>(test::score_at_distance(n)));
  CHECK(std::abs(test::softmax(scores).back() - .998732449) < 1e-7);
}

TEST_CASE("lambda: a bias sees the first keys at the window's distance") {
  const test::Scheme scheme = test::make("alibi;with=lambda:first=2,window=3");
  CHECK(test::scored(scheme, {.position = 5, .keys = {0, 1, 3, 4, 5}}, {}) ==
        std::vector<float>{-3 / 16.f, -3 / 16.f, -2 / 16.f, -1 / 16.f, 0});
}

TEST_CASE("lambda: the window is the trained length unless stated, and must be a position that the scheme has") {
  test::check_distances("rope:pairing=interleaved;with=lambda", 6, {5, 5, 4, 3, 2, 1, 0}, 5);
  const test::Tables tables = test::Tables().add_random("position_embd.weight", {16, 8});
  CHECK(test::mentions(test::make_error("learned;with=lambda", test::small_shape(), tables), {"fewer positions"}));
}

}  // namespace
