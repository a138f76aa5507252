// normalized_test.cpp: the second idea everyone has.
#include "scheme_probe.h"

namespace {

TEST_CASE("normalized: position 3 is 0.3 of a text of 10 and 0.03 of a text of 100") {
  CHECK(test::embedded(test::make("normalized:length=10"), 3, 8) == std::vector<float>(8, 0.3f));
  CHECK(test::embedded(test::make("normalized:length=100"), 3, 8) == std::vector<float>(8, 0.03f));
}

TEST_CASE("normalized: takes the session's length, and ends with it") {
  const test::Scheme scheme = test::make("normalized");  // for 16 positions
  CHECK(test::embedded(scheme, 4, 8) == std::vector<float>(8, 0.25f));
  CHECK(scheme->max_positions() == 16);
  CHECK(test::mentions(scheme->limit_note().reason, {"16"}));
}

TEST_CASE("normalized: a stated length stays in the spec, the session's does not") {
  CHECK(test::spec_of("normalized") == "normalized");
  CHECK(test::spec_of("normalized:length=16") == "normalized:length=16");
  CHECK(test::make("normalized")->facts().kind == "lab");
}

TEST_CASE("normalized: refuses a length of 0") {
  CHECK(test::mentions(test::make_error("normalized:length=0"), {"length"}));
}

}  // namespace
