// relative_bias_test.cpp: a trained bias per distance, from one-sided, two-sided, shared and per-layer tables.
#include "scheme_probe.h"

namespace {

using test::make;
using test::scored;
using test::Tables;

// Rows 10, 20, 30, 40 for head 0 and one more for head 1.
std::vector<float> rows(int count, float first = 10) {
  std::vector<float> values;
  for (int row = 0; row < count; ++row) {
    values.push_back(first + 10 * static_cast<float>(row));
    values.push_back(first + 10 * static_cast<float>(row) + 1);
  }
  return values;
}

const test::Stand kSix{.position = 5, .keys = {0, 1, 2, 3, 4, 5}};

TEST_CASE("relative_bias: row n is n positions back, and all past the last row share it") {
  const test::Scheme scheme =
      make("relative_bias", test::small_shape(), Tables().add("attn_rel_b.weight", {4, 2}, rows(4)));
  CHECK(scored(scheme, kSix, {}) == std::vector<float>{40, 40, 40, 30, 20, 10});
  CHECK(scored(scheme, {.layer = 1, .head = 1, .position = 1003, .keys = {1000, 1003}}, {}, {1, 2}) ==
        std::vector<float>{42, 13});
  CHECK(scheme->max_positions() == ordinal::PositionScheme::kUnlimited);
}

TEST_CASE("relative_bias: of a two-sided table, with its clip stated, the past half counts") {
  // rows for 2, 1, 0 back, then 1 and 2 ahead
  const test::Scheme scheme =
      make("relative_bias:clip=2", test::small_shape(), Tables().add("attn_rel_b.weight", {5, 2}, rows(5)));
  CHECK(scored(scheme, kSix, {}) == std::vector<float>{10, 10, 10, 10, 20, 30});
  CHECK(scheme->spec() == "relative_bias:clip=2");
}

TEST_CASE("relative_bias: layers with tables of their own use them") {
  Tables tables;
  tables.add("blk.0.attn_rel_b.weight", {2, 2}, rows(2)).add("blk.1.attn_rel_b.weight", {3, 2}, rows(3, 100));
  const test::Scheme scheme = make("relative_bias", test::small_shape(), tables);
  CHECK(scored(scheme, {.layer = 0, .position = 2, .keys = {0, 1, 2}}, {}) == std::vector<float>{20, 20, 10});
  CHECK(scored(scheme, {.layer = 1, .position = 2, .keys = {0, 1, 2}}, {}) == std::vector<float>{120, 110, 100});
}

TEST_CASE("relative_bias: equals t5_bias below half its buckets, where a bucket is a distance") {
  const Tables tables = Tables().add_random("attn_rel_b.weight", {32, 2});
  const test::Stand near{.head = 1, .position = 15, .keys = test::first_positions(16)};
  CHECK(scored(make("relative_bias", test::small_shape(), tables), near, {}) ==
        scored(make("t5_bias", test::small_shape(), tables), near, {}));
}

TEST_CASE("relative_bias: refuses a missing table, one of other heads, and a clip that it does not fit") {
  CHECK(test::mentions(test::make_error("relative_bias"), {"attn_rel_b.weight [rows, 2]"}));
  CHECK(test::mentions(
      test::make_error("relative_bias", test::small_shape(), Tables().add("attn_rel_b.weight", {2, 4}, rows(4))),
      {"[2, 4]"}));
  const Tables four = Tables().add("attn_rel_b.weight", {4, 2}, rows(4));
  CHECK(test::mentions(test::make_error("relative_bias:clip=2", test::small_shape(), four), {"it has 4"}));
  CHECK(test::mentions(test::make_error("relative_bias:clip=-1", test::small_shape(), four), {"clip"}));
  CHECK(test::mentions(test::make_error("relative_bias:buckets=4", test::small_shape(), four), {"clip"}));
  // one layer without a table
  CHECK(test::mentions(
      test::make_error("relative_bias", test::small_shape(), Tables().add("blk.0.attn_rel_b.weight", {4, 2}, rows(4))),
      {"lacks"}));
}

}  // namespace
