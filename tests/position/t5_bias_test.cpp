// t5_bias_test.cpp: the buckets of T5 against its code, and the trained bias they pick.
#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::scored;

// A table whose bias is the bucket's number in head 0 and a hundred more in head 1.
test::Tables numbered(int64_t buckets, const std::string& name = "attn_rel_b.weight") {
  std::vector<float> values;
  for (int64_t b = 0; b < buckets; ++b) {
    values.push_back(static_cast<float>(b));
    values.push_back(static_cast<float>(100 + b));
  }
  return test::Tables().add(name, {buckets, 2}, values);
}

int64_t bucket(const test::Scheme& scheme, int64_t distance) {
  return static_cast<int64_t>(scored(scheme, {.position = 200000, .keys = {200000 - distance}}, {})[0]);
}

TEST_CASE("t5_bias: 32 buckets over 128 begin at the published distances") {
  const int64_t first[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  const test::Scheme scheme = make("t5_bias", test::small_shape(), numbered(32));
  for (int64_t n = 0; n < 16; ++n) CHECK(bucket(scheme, n) == n);
  for (int64_t b = 16; b < 32; ++b) {
    CHECK(bucket(scheme, first[b - 16]) == b);
    CHECK(bucket(scheme, first[b - 16] - 1) == b - 1);
  }
  for (const int64_t far : {113, 127, 128, 129, 100000}) CHECK(bucket(scheme, far) == 31);
}

TEST_CASE("t5_bias: buckets of any size are those of T5's code, and never fall") {
  for (const json& golden : test::position_goldens()["t5_bias"]) {
    const int64_t buckets = golden["buckets"], max_distance = golden["max_distance"];
    CAPTURE(buckets);
    CAPTURE(max_distance);
    const test::Scheme scheme =
        make("t5_bias:buckets=" + std::to_string(buckets) + ",max_distance=" + std::to_string(max_distance),
             test::small_shape(), numbered(buckets));
    size_t at = 0;  // the bucket that the golden has come to
    for (int64_t n = 0; n < 2 * max_distance; ++n) {
      if (at + 1 < golden["first"].size() && golden["first"][at + 1].get<int64_t>() == n) ++at;
      CHECK(bucket(scheme, n) == golden["bucket"][at].get<int64_t>());
    }
  }
}

TEST_CASE("t5_bias: each head has its own column, each query its own distances, and nothing is scaled") {
  const test::Scheme scheme = make("t5_bias", test::small_shape(), numbered(32));
  CHECK(scored(scheme, {.head = 1, .position = 20, .keys = {0, 3, 19, 20}, .scale = 0.125f}, {}, {1, 1, 1, 1}) ==
        std::vector<float>{118, 117, 102, 101});
  CHECK(scored(scheme, {.layer = 1, .head = 0, .position = 1020, .keys = {1000, 1020}}, {}) ==
        std::vector<float>{17, 0});
}

TEST_CASE("t5_bias: one bias for all buckets changes no weight") {
  const test::Scheme flat = make("t5_bias", test::small_shape(),
                                 test::Tables().add("attn_rel_b.weight", {32, 2}, std::vector<float>(64, 2.5f)));
  CHECK(test::softmax(scored(flat, {.position = 60, .keys = {0, 30, 60}}, {}, {1, 2, 3})) == test::softmax({1, 2, 3}));
}

TEST_CASE("t5_bias: finds the table where GGUF keeps it, with the first block") {
  const test::Scheme scheme = make("t5_bias", test::small_shape(), numbered(32, "blk.0.attn_rel_b.weight"));
  CHECK(bucket(scheme, 17) == 16);
  REQUIRE(scheme->facts().tensors.size() == 1);
  CHECK(scheme->facts().tensors[0].name == "blk.0.attn_rel_b.weight");
  CHECK(scheme->facts().tensors[0].shape == std::vector<int64_t>{32, 2});
}

TEST_CASE("t5_bias: refuses a table of another size, and distances that end before the exact buckets do") {
  CHECK(test::mentions(test::make_error("t5_bias"), {"attn_rel_b.weight [32, 2]"}));
  CHECK(test::mentions(test::make_error("t5_bias", test::small_shape(), numbered(31)), {"[31, 2]"}));
  CHECK(test::mentions(test::make_error("t5_bias:max_distance=16", test::small_shape(), numbered(32)),
                       {"half the buckets"}));
  CHECK(test::mentions(test::make_error("t5_bias:buckets=1", test::small_shape(), numbered(1)), {"from 2"}));
  CHECK(
      test::mentions(test::make_error("t5_bias:clip=3", test::small_shape(), numbered(32)), {"buckets, max_distance"}));
}

}  // namespace
