// rerope_test.cpp: distances that stop growing at a window.
#include <cmath>

#include "scheme_probe.h"

namespace {

TEST_CASE("rerope: distances grow up to the window and stay there") {
  test::check_distances("rope:pairing=interleaved;with=rerope:window=4", 9, {4, 4, 4, 4, 4, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=rerope:window=1", 4, {1, 1, 1, 1, 0});
}

TEST_CASE("rerope: a text within the window has rope's scores, to the bit") {
  const test::Scheme plain = test::make("rope"), scheme = test::make("rope;with=rerope:window=9");
  CHECK(schemes_agree(*plain, *scheme, test::small_shape(), 9));
  CHECK_FALSE(schemes_agree(*plain, *scheme, test::small_shape(), 11));
}

TEST_CASE("rerope: the score of the page's example, and its weights") {
  CHECK(std::abs(test::score_at_distance(0) - 42.426406871) < 1e-8);  // the second implementation's
  CHECK(std::abs(test::score_at_distance(4) - 29.521757482) < 1e-8);
  CHECK(std::abs(test::score_at_distance(4.5) - 33.226420538) < 1e-8);
  std::vector<float> scores;
  for (const double n : {4, 4, 4, 4, 4, 4, 3, 2, 1, 0})
    scores.push_back(static_cast<float>(test::score_at_distance(n)));
  const std::vector<double> weights = test::softmax(scores);
  CHECK(std::abs(weights.back() - .998722529) < 1e-8);
  CHECK(std::abs(weights.front() - 2.483e-06) < 1e-9);
}

TEST_CASE("rerope: half the trained length is the window that is not stated; other schemes are refused") {
  CHECK(test::spec_of("rope;with=rerope") == "rope;with=rerope");
  test::check_distances("rope:pairing=interleaved;with=rerope", 5, {3, 3, 3, 2, 1, 0}, 6);
  CHECK(test::mentions(test::make_error("alibi;with=rerope"), {"turns q and k", "alibi"}));
  CHECK(test::mentions(test::make_error("rope;with=logn;with=rerope"), {"right before it"}));
  CHECK(test::mentions(test::make_error("rope;with=rerope;with=dca"), {"two modifiers"}));
  CHECK(test::mentions(test::make_error("rope;with=rerope:window=0"), {"modifier 'rerope'", "from 1"}));
  CHECK(test::mentions(test::make_error("rope;with=rerope:w=3"), {"has no parameter 'w'", "window"}));
}

}  // namespace
