// fire_test.cpp: the small network of a distance's share, against numbers worked out elsewhere.
#include <cmath>

#include "scheme_probe.h"

namespace {

test::Tables fire_tables(float c = 0.1f, float threshold = 512) {
  return test::Tables()
      .add("attn_fire_1.weight", {2, 1}, {1, -1})
      .add("attn_fire_1.bias", {2}, {0, 0.5f})
      .add("attn_fire_2.weight", {1, 2}, {2, -1})
      .add("attn_fire_2.bias", {1}, {0.25f})
      .add("attn_fire_scale.weight", {2}, {c, threshold});
}

ordinal::AttentionShape fire_head() {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = shape.n_kv_heads = 1;
  return shape;
}

double fire_bias(const test::Scheme& scheme, int64_t position, int64_t distance) {
  return static_cast<double>(test::scored(scheme, {.position = position, .keys = {position - distance}}, {})[0]);
}

TEST_CASE("fire: near and far, inside the threshold and past it") {
  const test::Scheme scheme = test::make("fire", fire_head(), fire_tables());
  const double golden[][3] = {
      {100, 10, .275764259}, {1023, 10, .198383719}, {511, 511, 2.249029833}, {2047, 1000, 1.982916553},
      {7, 0, -.25},          {0, 0, -.25},           {4000, 0, -.25}};
  for (const auto& [position, distance, expected] : golden)
    CHECK(std::abs(fire_bias(scheme, static_cast<int64_t>(position), static_cast<int64_t>(distance)) - expected) <
          1e-6);
}

TEST_CASE("fire: a row of keys is the keys one by one, whichever pieces of the network they fall into") {
  test::Tables tables;
  tables.add_random("attn_fire_1.weight", {9, 1}, 1, 0, 4).add_random("attn_fire_1.bias", {9}, 2, 0, 2);
  tables.add_random("attn_fire_2.weight", {2, 9}, 3).add_random("attn_fire_2.bias", {2}, 4);
  tables.add("attn_fire_scale.weight", {2}, {3, 20});
  const test::Scheme scheme = test::make("fire", test::small_shape(), tables);
  for (int64_t head = 0; head < 2; ++head) {
    const std::vector<float> row =
        test::scored(scheme, {.head = head, .position = 60, .keys = test::first_positions(61)}, {});
    for (int64_t j = 0; j <= 60; ++j)
      CHECK(row[static_cast<size_t>(j)] == test::scored(scheme, {.head = head, .position = 60, .keys = {j}}, {})[0]);
  }
}

TEST_CASE("fire: units that never bend, or all at one point, count as they are") {
  const test::Tables flat = test::Tables()
                                .add("attn_fire_1.weight", {3, 1}, {0, 0, 2})
                                .add("attn_fire_1.bias", {3}, {1, -1, -1})
                                .add("attn_fire_2.weight", {1, 3}, {5, 7, 1})
                                .add("attn_fire_2.bias", {1}, {0})
                                .add("attn_fire_scale.weight", {2}, {1, 1});
  const test::Scheme scheme = test::make("fire:eps=1e-9", fire_head(), flat);
  CHECK(std::abs(fire_bias(scheme, 100, 0) - 5) < 1e-6);    // x = 0: relu(-1) of the third
  CHECK(std::abs(fire_bias(scheme, 100, 100) - 6) < 1e-6);  // x = 1: relu(2 - 1) = 1 more
}

TEST_CASE("fire: counts from where the text begins, and adds nothing to the embedding") {
  const test::Scheme scheme = test::make("fire", fire_head(), fire_tables(0.1f, 16));
  CHECK(scheme->facts().kind == "anchored");
  CHECK(fire_bias(scheme, 20, 10) != fire_bias(scheme, 40, 10));
  CHECK(fire_bias(scheme, 11, 10) == fire_bias(scheme, 16, 10));  // below the threshold it is the threshold that counts
}

TEST_CASE("fire: halves that do not fit are refused") {
  test::Tables tables = fire_tables();
  tables.add("attn_fire_2.weight", {1, 3}, {1, 1, 1});
  CHECK(test::mentions(test::make_error("fire", fire_head(), tables), {"2 hidden units", "attn_fire_2.weight with 3"}));
  CHECK(test::mentions(test::make_error("fire"), {"attn_fire_1.weight"}));
}

}  // namespace
