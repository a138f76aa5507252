// xpos_test.cpp: rope with scores that fall with the distance.
#include <cmath>

#include "scheme_probe.h"

namespace {

ordinal::AttentionShape xpos_head(int64_t head_dim, int64_t length = 16) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = shape.n_kv_heads = 1;
  shape.head_dim = head_dim;
  shape.length = length;
  return shape;
}

double product_of_ones(const test::Scheme& scheme, int64_t i, int64_t j, size_t head_dim) {
  const std::vector<float> ones(head_dim, 1.0f);
  std::vector<float> key = ones;
  const std::vector<float> query = test::turned(scheme, i, ones);
  test::turned(scheme, j, {}, &key);
  double sum = 0;
  for (size_t c = 0; c < head_dim; ++c) sum += static_cast<double>(query[c]) * static_cast<double>(key[c]);
  return sum;
}

TEST_CASE("xpos: query and key of the page's example") {
  const test::Scheme scheme = test::make("xpos:center=0", xpos_head(8));
  std::vector<float> key{1, 2, 3, 4, 5, 6, 7, 8};
  test::check_near(
      test::turned(scheme, 3, key, &key),
      {-1.262927998, -1.825416385, 1.676375302, 4.686789048, 4.80532073, 6.131383821, 6.967932671, 8.011724336}, 1e-6);
  test::check_near(
      key, {-1.281605577, -1.852412666, 1.691516013, 4.729119256, 4.830265895, 6.163212786, 6.984013669, 8.030214257},
      1e-6);
}

TEST_CASE("xpos: products of ones fall with the distance, whatever the centre") {
  for (const char* spec : {"xpos", "xpos:center=0", "xpos:center=700"}) {
    const test::Scheme narrow = test::make(spec, xpos_head(8, 5000)), wide = test::make(spec, xpos_head(128, 5000));
    const double of_8[][2] = {{0, 8}, {1, 7.062397935}, {64, 5.940251167}, {512, 1.924011077}};
    const double of_128[][2] = {{1, 124.068803362}, {512, 28.248539143}, {4096, 5.358784412}};
    for (const auto& [n, expected] : of_8)
      CHECK(std::abs(product_of_ones(narrow, 300 + static_cast<int64_t>(n), 300, 8) - expected) < 1e-5);
    for (const auto& [n, expected] : of_128)
      CHECK(std::abs(product_of_ones(wide, 300 + static_cast<int64_t>(n), 300, 128) - expected) < 1e-4);
  }
}

TEST_CASE("xpos: ends before its keys leave a float, and says how far they grow") {
  const test::Scheme centred = test::make("xpos", xpos_head(64)), from_0 = test::make("xpos:center=0", xpos_head(64));
  CHECK(from_0->max_positions() > 20'000);
  CHECK(centred->max_positions() == 2 * from_0->max_positions());
  std::vector<float> key(64, 1.0f);
  test::turned(from_0, from_0->max_positions() - 1, {}, &key);
  for (const float number : key) CHECK(std::isfinite(number));
  CHECK(test::mentions(from_0->limit_note().reason, {"float"}));
  CHECK(test::mentions(test::make("xpos:center=0", xpos_head(64, 4532))->facts().remarks.back(), {"65504", "f16"}));
  CHECK(test::mentions(test::make_error("xpos", xpos_head(5)), {"even head_dim"}));
}

}  // namespace
