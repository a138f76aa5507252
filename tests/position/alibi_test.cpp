// alibi_test.cpp: the slopes of any number of heads against the authors', and the penalty they make.
#include <cmath>

#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::scored;

ordinal::AttentionShape heads(int64_t n_heads) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = n_heads;
  return shape;
}

// What a key one step back loses.
std::vector<float> slopes(const std::string& spec, int64_t n_heads) {
  const test::Scheme scheme = make(spec, heads(n_heads));
  std::vector<float> found;
  for (int64_t h = 0; h < n_heads; ++h)
    found.push_back(-scored(scheme, {.head = h, .position = 1, .keys = {0}}, {})[0]);
  return found;
}

TEST_CASE("alibi: eight heads have the paper's slopes, 1/2 to 1/256") {
  CHECK(slopes("alibi", 8) == std::vector<float>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
}

TEST_CASE("alibi: twelve heads add every other slope of sixteen") {
  test::check_near(
      slopes("alibi", 12),
      {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625, .707106781, .353553391, .176776695, .088388348},
      3e-8);
}

TEST_CASE("alibi: twenty and twenty-five heads, as large and xl models of the GPT-2 kind have") {
  const std::vector<float> twenty = slopes("alibi", 20), twenty_five = slopes("alibi", 25);
  test::check_near({twenty.end() - 4, twenty.end()}, {.840896415, .594603558, .420448208, .297301779}, 3e-8);
  CHECK(std::abs(static_cast<double>(twenty_five.back()) - .052556026) < 3e-8);
}

TEST_CASE("alibi: agrees with BLOOM and MPT for every number of heads") {
  for (const json& golden : test::position_goldens()["alibi"]) {
    const int64_t n_heads = golden["heads"];
    CAPTURE(n_heads);
    test::check_near(slopes("alibi", n_heads), golden["slopes"], 1e-7);
  }
}

TEST_CASE("alibi: agrees with the handed-over slopes and bias table") {
  const std::string path = test::shared("checkpoints/positions/alibi.json");
  if (path.empty()) return;
  const json golden = json::parse(test::read_file(path));
  for (const auto& [count, expected] : golden["slopes"].items())
    test::check_near(slopes("alibi", std::stoll(count)), expected, 3e-8);
  for (int64_t h = 0; h < 4; ++h)
    for (int64_t i = 0; i < 5; ++i) {
      std::vector<double> expected;
      for (int64_t j = 0; j <= i; ++j) expected.push_back(golden["bias_heads4_T5"][h][i][j]);
      test::check_near(
          scored(make("alibi", heads(4)), {.head = h, .position = i, .keys = test::first_positions(i + 1)}, {}),
          expected, 3e-8);
    }
}

TEST_CASE("alibi: distance is by position, not by place in the cache") {
  const auto scores = scored(make("alibi", heads(8)), {.position = 9, .keys = {0, 2, 3, 9}}, {});
  CHECK(scores == std::vector<float>{-4.5f, -3.5f, -3.0f, 0.0f});
  CHECK(scored(make("alibi", heads(8)), {.position = 1009, .keys = {1000, 1002, 1003, 1009}}, {}) == scores);
}

TEST_CASE("alibi: a farther key loses more, a key at hand nothing, a score keeps its own part") {
  CHECK(scored(make("alibi", heads(8)), {.head = 1, .position = 3, .keys = {0, 1, 2, 3}}, {}, {10, 20, 30, 40}) ==
        std::vector<float>{9.25f, 19.5f, 29.75f, 40.0f});
}

TEST_CASE("alibi: the penalty is not scaled with the scores") {
  CHECK(scored(make("alibi", heads(8)), {.position = 1, .keys = {0}, .scale = 0.125f}, {}) ==
        std::vector<float>{-0.5f});
}

TEST_CASE("alibi: on equal scores attention falls geometrically") {
  const auto weights =
      test::softmax(scored(make("alibi", heads(8)), {.position = 2, .keys = {0, 1, 2}}, {}, {7, 7, 7}));
  const double expected[] = {.186323723, .307195886, .506480391};
  for (size_t j = 0; j < 3; ++j) CHECK(std::abs(weights[j] - expected[j]) < 1e-9);
  const auto many =
      test::softmax(scored(make("alibi", heads(8)), {.position = 40, .keys = test::first_positions(41)}, {}));
  for (size_t j = 1; j < many.size(); ++j) CHECK(std::abs(many[j - 1] / many[j] - std::exp(-0.5)) < 1e-12);
}

TEST_CASE("alibi: slopes=naive is another list for twelve heads, and a lab remark") {
  const auto naive = slopes("alibi:slopes=naive", 12);
  test::check_near({naive.begin(), naive.begin() + 3}, {.62996052, .39685026, .25}, 1e-7);
  CHECK(slopes("alibi:slopes=naive", 8) == slopes("alibi", 8));
  CHECK(test::mentions(make("alibi:slopes=naive")->facts().remarks.front(), {"lab"}));
}

TEST_CASE("alibi: max_bias stretches every exponent") {
  CHECK(slopes("alibi:max_bias=16", 8).front() == 0.25f);
  CHECK(test::spec_of("alibi:max_bias=8.0,slopes=standard") == "alibi");
}

TEST_CASE("alibi: refuses max_bias=0 and a parameter it has not") {
  CHECK(test::mentions(test::make_error("alibi:max_bias=0"), {"above 0"}));
  CHECK(test::mentions(test::make_error("alibi:slope=0.5"), {"slopes, max_bias"}));
}

}  // namespace
