// ssmax_test.cpp: queries that grow with the logarithm of the keys they see, at a rate per head.
#include <cmath>

#include "scheme_probe.h"

namespace {

TEST_CASE("ssmax: the largest weight does not fade") {
  // One score of 3 among N - 1 of -2, each times s ln N.
  const test::Scheme scheme = test::make("none;with=ssmax:s=0.43");
  const double published[][2] = {{10, .940101330}, {100, .995062744}, {1000, .999645667}};
  for (const auto& [count, expected] : published) {
    const float factor = test::turned(scheme, static_cast<int64_t>(count) - 1, {1, 1, 1, 1, 1, 1, 1, 1})[0];
    std::vector<float> scores(static_cast<size_t>(count), -2 * factor);
    scores.back() = 3 * factor;
    CHECK(std::abs(test::softmax(scores).back() - expected) < 1e-6);
  }
}

TEST_CASE("ssmax: each layer and each query head has a rate of its own") {
  test::Tables tables;
  tables.add("blk.0.attn_ssmax.weight", {2}, {1, 2}).add("blk.1.attn_ssmax.weight", {2}, {3, 4});
  const test::Scheme scheme = test::make("none;with=ssmax", test::small_shape(), tables);
  const std::vector<float> query(8, 1.0f);
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::vector<float> grown = test::turned(scheme, 9, query, nullptr, layer);
    for (size_t c = 0; c < 8; ++c)
      CHECK(std::abs(static_cast<double>(grown[c]) -
                     static_cast<double>(layer * 2 + (c < 4 ? 1 : 2)) * std::log(10.0)) < 1e-5);
  }
  CHECK(scheme->facts().tensors.size() == 2);
  CHECK(test::turned(scheme, 0, query) == std::vector<float>(8, 0.0f));
}

TEST_CASE("ssmax: one tensor may be for all layers; without one, s= must be stated") {
  const test::Tables tables = test::Tables().add("attn_ssmax.weight", {2}, {0.5f, 0.5f});
  const test::Scheme shared = test::make("rope;with=ssmax", test::small_shape(), tables);
  CHECK(schemes_agree(*shared, *test::make("rope;with=ssmax:s=0.5"), test::small_shape(), 16));
  CHECK(test::mentions(test::make_error("rope;with=ssmax"), {"attn_ssmax.weight [2]"}));
}

}  // namespace
