// none_test.cpp: no positions at all, and what a causal model still knows.
#include <cmath>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "scheme_probe.h"

namespace {

using test::make;

std::shared_ptr<const ordinal::Model> model_of(int64_t n_layers) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.n_layers = n_layers;
  test::scale_by_head_dim(random.config);
  return ordinal::Model::bind(ordinal::write_model_in_memory(test::random_model(random), "none"));
}

std::vector<float> last_logits(const std::shared_ptr<const ordinal::Model>& model,
                               const std::vector<ordinal::TokenId>& ids) {
  ordinal::Session session(model, {.position = "none"});
  const auto logits = session.evaluate(ids);
  return {logits.begin(), logits.end()};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

TEST_CASE("none: every hook leaves everything as it was") {
  const test::Scheme none = make("none");
  CHECK(none->spec() == "none");
  CHECK(none->max_positions() == ordinal::PositionScheme::kUnlimited);
  CHECK(test::embedded(none, 7, 8) == std::vector<float>(8, 0.0f));
  std::vector<float> key{5, 6, 7, 8};
  CHECK(test::turned(none, 7, {1, 2, 3, 4}, &key) == std::vector<float>{1, 2, 3, 4});
  CHECK(key == std::vector<float>{5, 6, 7, 8});
  CHECK(test::scored(none, {.position = 2, .keys = {0, 1, 2}}, {1, 2, 3, 4}, {3, -1, 2}) ==
        std::vector<float>{3, -1, 2});
  CHECK(test::mixed(none, {.position = 1, .keys = {0, 1}}, {0.5f, 0.5f}, 4) == std::vector<float>(4, 0.0f));
}

TEST_CASE("none: a logit_scale multiplies every score and nothing else") {
  const test::Scheme sharper = make("none:logit_scale=1.5");
  CHECK(sharper->spec() == "none:logit_scale=1.5");
  CHECK(test::scored(sharper, {.position = 1, .keys = {0, 1}}, {1, 2, 3, 4}, {3, -1}) ==
        std::vector<float>{4.5f, -1.5f});
  CHECK(test::embedded(sharper, 7, 8) == std::vector<float>(8, 0.0f));
  CHECK(test::turned(sharper, 7, {1, 2, 3, 4}) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("none: refuses a scale of 0 and a parameter it has not") {
  CHECK(test::mentions(test::make_error("none:logit_scale=0"), {"above 0"}));
  CHECK(test::mentions(test::make_error("none:theta=3"), {"logit_scale"}));
}

// Facts of causal attention, not of this scheme: they would show a position that leaks in elsewhere.
TEST_CASE("none: one causal layer cannot tell the order of earlier tokens, two can") {
  const std::vector<ordinal::TokenId> dog{11, 5, 8, 30, 42, 3}, man{30, 8, 42, 11, 5, 3};
  CHECK(largest_difference(last_logits(model_of(1), dog), last_logits(model_of(1), man)) < 1e-4);
  CHECK(largest_difference(last_logits(model_of(2), dog), last_logits(model_of(2), man)) > 0.05);
}

TEST_CASE("none: on a text of one repeated token every row weighs its t keys 1/t, at every layer") {
  const auto model = model_of(3);
  int64_t rows = 0;
  ordinal::Session session(model, {.position = "none", .n_threads = 1, .observer = [&](const ordinal::Observed& seen) {
                                     if (seen.name != "weights") return;
                                     ++rows;
                                     const double even = 1.0 / static_cast<double>(seen.rows.cols);
                                     for (const float weight : seen.rows[0])
                                       CHECK(std::abs(static_cast<double>(weight) - even) < 1e-6);
                                   }});
  session.evaluate(std::vector<ordinal::TokenId>(9, 17));
  CHECK(rows == 3 * 3 * 9);
}

}  // namespace
