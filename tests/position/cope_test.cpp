// cope_test.cpp: places counted in gates.
#include <cmath>

#include "scheme_probe.h"

namespace {

ordinal::AttentionShape cope_head() {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = shape.n_kv_heads = 1;
  shape.head_dim = 2;
  return shape;
}

test::Tables cope_table() { return test::Tables().add("attn_cope.weight", {5, 2}, {0, 0, 1, 0, 0, 1, 1, 1, 2, 0}); }

TEST_CASE("cope: the page's example, biases and weights") {
  const std::vector<float> before{0, 1, -1, 2};
  const std::vector<float> after = test::scored(test::make("cope", cope_head(), cope_table()),
                                                {.position = 3, .keys = {0, 1, 2, 3}, .scale = 0.7f}, {1, -1}, before);
  const double biases[] = {-.619202922, -.761594156, .700523001, .880797078};
  for (size_t j = 0; j < 4; ++j)
    CHECK(std::abs(static_cast<double>(after[j]) - static_cast<double>(before[j]) - biases[j]) < 1e-6);
  const std::vector<double> weights = test::softmax(after);
  const double expected[] = {.026420275, .062286237, .036374124, .874919363};
  for (size_t j = 0; j < 4; ++j) CHECK(std::abs(weights[j] - expected[j]) < 1e-6);
}

TEST_CASE("cope: counts no further than its table") {
  const std::vector<float> after = test::scored(test::make("cope:positions=3", cope_head(), cope_table()),
                                                {.position = 3, .keys = {0, 1, 2, 3}}, {1, -1}, {0, 1, -1, 2});
  CHECK(std::abs(static_cast<double>(after[0]) - -1) < 1e-6);
  const double expected[] = {.018205736, .062811775, .036681029, .882301460};
  const std::vector<double> weights = test::softmax(after);
  for (size_t j = 0; j < 4; ++j) CHECK(std::abs(weights[j] - expected[j]) < 1e-6);
}

TEST_CASE("cope: only the order of a row counts, not the positions") {
  const test::Scheme scheme = test::make("cope", cope_head(), cope_table());
  const std::vector<float> before{0.5f, -2, 3};
  CHECK(test::scored(scheme, {.position = 2, .keys = {0, 1, 2}}, {1, 2}, before) ==
        test::scored(scheme, {.position = 900, .keys = {4, 77, 900}}, {1, 2}, before));
  CHECK(scheme->reads_whole_rows());
}

TEST_CASE("cope: positions up to the table's rows, and a table of the head's width") {
  CHECK(test::mentions(test::make_error("cope:positions=6", cope_head(), cope_table()), {"at most the rows", "5"}));
  CHECK(test::mentions(test::make_error("cope", test::small_shape(), cope_table()), {"[rows, 4]"}));
}

}  // namespace
