// self_extend_test.cpp: neighbours that share a position past a window.
#include "scheme_probe.h"

namespace {

TEST_CASE("self_extend: far keys share a position, and the far side joins the near one at the window") {
  test::check_distances("rope:pairing=interleaved;with=self_extend:window=4,group=2", 9,
                        {6, 6, 5, 5, 4, 4, 3, 2, 1, 0});
}

TEST_CASE("self_extend: a group that does not divide the window is rounded down, with a remark") {
  test::check_distances("rope:pairing=interleaved;with=self_extend:window=4,group=3", 9,
                        {6, 6, 6, 5, 5, 5, 3, 2, 1, 0});
  CHECK(test::mentions(test::make("rope;with=self_extend:window=4,group=3")->facts().remarks.back(),
                       {"does not divide"}));
}

TEST_CASE("self_extend: group=1 is rope") {
  test::check_distances("rope:pairing=interleaved;with=self_extend:window=3,group=1", 7, {7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("self_extend: the longest text whose distances the model knows") {
  CHECK(test::make("rope;with=self_extend:window=4,group=4")->facts().remarks.back() ==
        "self_extend: context 16 -> 52");
  test::check_distances("rope:pairing=interleaved;with=self_extend:window=2,group=2", 5, {3, 3, 2, 2, 1, 0}, 4);
}

}  // namespace
