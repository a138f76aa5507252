// kerple_test.cpp: trained penalties, logarithmic and of a power of the distance.
#include <cmath>

#include "scheme_probe.h"

namespace {

using test::scored;

test::Tables kerple_rates(float r1, float r2) {
  return test::Tables().add("attn_kerple.weight", {2, 2}, {r1, 1, r2, 1});
}

TEST_CASE("kerple: the logarithmic kernel's numbers") {
  const test::Scheme scheme = test::make("kerple", test::small_shape(), kerple_rates(1.5f, 0.25f));
  test::check_near(scored(scheme, {.position = 1000, .keys = {0, 900, 992, 999, 1000}}, {}),
                   {-8.288179409, -4.887144807, -1.647918433, -.334715327, 0}, 1e-6);
}

TEST_CASE("kerple: the power kernel's numbers") {
  const test::Scheme scheme = test::make("kerple:kernel=power", test::small_shape(), kerple_rates(0.1f, 0.5f));
  test::check_near(scored(scheme, {.position = 1000, .keys = {0, 900, 992, 999, 1000}}, {}),
                   {-3.162277660, -1, -.282842712, -.1, 0}, 1e-6);
}

TEST_CASE("kerple: with an exponent of 1 it is alibi with trained slopes") {
  const test::Scheme scheme = test::make("kerple:kernel=power", test::small_shape(), kerple_rates(0.0625f, 1));
  CHECK(scored(scheme, {.position = 40, .keys = test::first_positions(41)}, {}) ==
        scored(test::make("alibi"), {.position = 40, .keys = test::first_positions(41)}, {}));
}

TEST_CASE("kerple: layers may have rates of their own; the score is not scaled again") {
  const test::Tables tables = test::Tables()
                                  .add("blk.0.attn_kerple.weight", {2, 2}, {1, 2, 1, 1})
                                  .add("blk.1.attn_kerple.weight", {2, 2}, {3, 4, 1, 1});
  const test::Scheme scheme = test::make("kerple", test::small_shape(), tables);
  for (int64_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 2; ++head)
      test::check_near(scored(scheme, {.layer = layer, .head = head, .position = 1, .keys = {0}, .scale = 0.1f}, {}),
                       {-static_cast<double>(2 * layer + head + 1) * std::log(2.0)}, 1e-6);
}

TEST_CASE("kerple: rates that the formula cannot use are refused") {
  CHECK(test::mentions(test::make_error("kerple", test::small_shape(), kerple_rates(-1, 1)), {"above 0", "-1"}));
  CHECK(test::mentions(test::make_error("kerple:kernel=power", test::small_shape(), kerple_rates(1, 2.5f)),
                       {"at most 2"}));
  CHECK(test::mentions(test::make_error("kerple"), {"attn_kerple.weight [2, 2]"}));
  CHECK(test::mentions(test::make_error("kerple:kernel=exp"), {"log, power"}));
}

}  // namespace
