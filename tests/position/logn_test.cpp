// logn_test.cpp: queries that grow with the logarithm of their position.
#include <cmath>

#include "scheme_probe.h"

namespace {

double logn_factor(const std::string& spec, int64_t position) {
  std::vector<float> key{1, 1, 1, 1};
  const std::vector<float> query = test::turned(test::make(spec), position, {2, 2, 2, 2}, &key);
  CHECK(key == std::vector<float>{1, 1, 1, 1});
  return static_cast<double>(query[3]) / 2;
}

TEST_CASE("logn: nothing up to the trained length, then the logarithms' ratio") {
  const std::string spec = "none;with=logn:length=2048";
  CHECK(logn_factor(spec, 0) == 1);
  CHECK(logn_factor(spec, 2047) == 1);
  CHECK(std::abs(logn_factor(spec, 2048) - 1.000064024) < 1e-7);
  CHECK(std::abs(logn_factor(spec, 4095) - 12 / 11.0) < 1e-7);
  CHECK(std::abs(logn_factor(spec, 8191) - 13 / 11.0) < 1e-7);
}

TEST_CASE("logn: below its length a scheme with it is that scheme, to the bit") {
  const test::Scheme plain = test::make("rope"), scheme = test::make("rope;with=logn");
  CHECK(schemes_agree(*plain, *scheme, test::small_shape(), 16));
  CHECK_FALSE(schemes_agree(*plain, *scheme, test::small_shape(), 17));
}

TEST_CASE("logn: every view of a query grows") {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = shape.n_kv_heads = 1;
  const std::vector<float> q{1, 2, 3, 4}, k{4, 3, 2, 1};
  const test::Stand stand{.position = 8, .keys = test::first_positions(9)};
  const auto plain = test::seen_scores(test::make("rope;with=rerope:window=3", shape), stand, q, k);
  const auto grown = test::seen_scores(test::make("rope;with=rerope:window=3;with=logn:length=3", shape), stand, q, k);
  for (size_t j = 0; j < plain.size(); ++j) CHECK(std::abs(grown[j] - 2 * plain[j]) < 1e-5);  // ln 9 / ln 3
}

TEST_CASE("logn: of a relative scheme makes an anchored one, of an absolute one an absolute one") {
  CHECK(test::make("rope;with=logn")->facts().kind == "anchored");
  CHECK(test::make("sinusoidal;with=logn")->facts().kind == "absolute");
  CHECK(test::mentions(test::make_error("rope;with=logn:length=1"), {"from 2"}));
}

}  // namespace
