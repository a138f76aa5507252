// index_test.cpp: the first idea everyone has.
#include "scheme_probe.h"

namespace {

TEST_CASE("index: every channel gains the position itself") {
  const test::Scheme index = test::make("index");
  CHECK(test::embedded(index, 0, 8) == std::vector<float>(8, 0.0f));
  CHECK(test::embedded(index, 1000, 8) == std::vector<float>(8, 1000.0f));
  CHECK(index->max_positions() == ordinal::PositionScheme::kUnlimited);
}

TEST_CASE("index: is kept apart as a lab scheme, and says so") {
  CHECK(test::make("index")->facts().kind == "lab");
  CHECK(test::mentions(test::make("index")->facts().remarks.front(), {"lab"}));
}

TEST_CASE("index: has no parameters") { CHECK(test::mentions(test::make_error("index:scale=2"), {"no parameters"})); }

}  // namespace
