// sandwich_test.cpp: the common part of two sinusoids, per head.
#include <cmath>

#include "scheme_probe.h"

namespace {

// S(n) - dim/2, from the head whose share is one: H = 8 (h + 1).
std::vector<float> sandwich_sums(const std::string& spec, std::vector<int64_t> distances, int64_t length) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = 8;
  shape.length = length;
  for (int64_t& n : distances) n = 1000 - n;
  return test::scored(test::make(spec, shape), {.head = 0, .position = 1000, .keys = distances}, {});
}

TEST_CASE("sandwich: the sums of both forms, from the table and past it") {
  for (const int64_t length : {16, 2000}) {
    test::check_near(sandwich_sums("sandwich", {0, 1, 10, 100, 1000}, length),
                     {0, 62.093683806 - 64, 42.820022898 - 64, 30.543454701 - 64, 10.177728132 - 64}, 1e-5);
    test::check_near(sandwich_sums("sandwich:first=1", {1, 10, 100, 1000}, length),
                     {62.553381495 - 64, 44.659093928 - 64, 30.681085830 - 64, 10.610353221 - 64}, 1e-5);
  }
}

TEST_CASE("sandwich: twelve heads, the first the most near-sighted") {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = 12;
  const test::Scheme scheme = test::make("sandwich", shape);
  const auto bias = [&](int64_t head, int64_t distance) {
    return test::scored(scheme, {.head = head, .position = distance, .keys = {0}, .scale = 0.2f}, {});
  };
  test::check_near(bias(0, 10), {-31.769965652}, 1e-5);
  test::check_near(bias(11, 10), {-2.647497138}, 1e-6);
  test::check_near(bias(11, 1000), {-6.727783983}, 1e-6);
}

TEST_CASE("sandwich: dim is a number of its own, and even") {
  CHECK(test::spec_of("sandwich:dim=128") == "sandwich");
  CHECK(test::mentions(test::make_error("sandwich:dim=7"), {"even"}));
}

}  // namespace
