// hierarchical_test.cpp: a learned table of L rows stretched to L * L positions.
#include "scheme_probe.h"

namespace {

using test::embedded;
using test::make;

// The table of Su's example: P = (1, 2), one channel.
test::Scheme two_rows(const std::string& spec) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.d_model = 1;
  return make(spec, shape, test::Tables().add("position_embd.weight", {2, 1}, {1, 2}));
}

TEST_CASE("hierarchical: two rows 1 and 2 become 1, 2, 5/3 and 8/3") {
  for (const char* spec : {"hierarchical", "learned:beyond=hierarchical"}) {
    const test::Scheme scheme = two_rows(spec);
    CHECK(scheme->max_positions() == 4);
    const double expected[] = {1, 2, 1.666666667, 2.666666667};
    for (int64_t p = 0; p < 4; ++p) test::check_near(embedded(scheme, p, 1), {expected[p]}, 1e-7);
  }
}

TEST_CASE("hierarchical: the first L positions are the table itself, bit for bit") {
  const std::vector<float> values = test::Random(5).normals(7 * 8, 0.3f);
  const test::Scheme scheme =
      make("hierarchical", test::small_shape(), test::Tables().add("position_embd.weight", {7, 8}, values));
  CHECK(scheme->max_positions() == 49);
  for (int64_t p = 0; p < 7; ++p)
    CHECK(embedded(scheme, p, 8) == std::vector<float>(values.begin() + p * 8, values.begin() + (p + 1) * 8));
}

TEST_CASE("hierarchical: all L * L positions are different rows") {
  const test::Scheme scheme =
      make("hierarchical", test::small_shape(), test::Tables().add_random("position_embd.weight", {6, 8}));
  for (int64_t p = 0; p < 36; ++p)
    for (int64_t other = 0; other < p; ++other) CHECK(embedded(scheme, p, 8) != embedded(scheme, other, 8));
}

TEST_CASE("hierarchical: its note says what its end is made of") {
  CHECK(test::mentions(two_rows("hierarchical")->limit_note().reason, {"2 rows, stretched to 4"}));
}

TEST_CASE("hierarchical: refuses an alpha under which two positions would be one") {
  for (const char* alpha : {"0.5", "1", "0", "-0.4", "1.5", "nan"}) {
    CAPTURE(alpha);
    CHECK(test::mentions(test::error_of([&] { two_rows("hierarchical:alpha=" + std::string(alpha)); }), {"alpha"}));
  }
  CHECK(two_rows("hierarchical:alpha=0.40")->spec() == "hierarchical");
  CHECK(two_rows("hierarchical:alpha=0.3")->spec() == "hierarchical:alpha=0.3");
}

}  // namespace
