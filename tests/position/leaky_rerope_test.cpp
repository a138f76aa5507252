// leaky_rerope_test.cpp: distances that grow more slowly past a window.
#include "scheme_probe.h"

namespace {

TEST_CASE("leaky_rerope: distances grow by 1/factor past the window") {
  test::check_distances("rope:pairing=interleaved;with=leaky_rerope:window=4,factor=2", 9,
                        {6.5, 6, 5.5, 5, 4.5, 4, 3, 2, 1, 0});
}

TEST_CASE("leaky_rerope: factor=1 is rope, but for rounding; a huge factor is rerope") {
  test::check_distances("rope:pairing=interleaved;with=leaky_rerope:window=3,factor=1", 9,
                        {9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=leaky_rerope:window=3,factor=1e12", 6, {3, 3, 3, 3, 2, 1, 0});
}

TEST_CASE("leaky_rerope: the longest text whose distances the model knows") {
  // 16 trained: distances up to 15 = 8 + 7; 7 of them twice as long.
  CHECK(test::make("rope;with=leaky_rerope:factor=2")->facts().remarks.back() == "leaky_rerope: context 16 -> 23");
  test::check_distances("rope:pairing=interleaved;with=leaky_rerope:window=1,factor=3", 4, {2, 5 / 3.0, 4 / 3.0, 1, 0});
  CHECK(test::mentions(test::make_error("rope;with=leaky_rerope:factor=0.5"), {"1 or more"}));
}

}  // namespace
