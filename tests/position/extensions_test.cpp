// extensions_test.cpp: one head's attention scores under newer schemes and modifiers, hook by hook, against numpy's
// (tools/make_extension_goldens.py).
#include <cmath>

#include "scheme_probe.h"

namespace {

using nlohmann::json;

std::vector<float> row_of(const std::vector<float>& all, int64_t row, int64_t width) {
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

TEST_CASE("extensions: scores of one head agree with a second implementation's") {
  const json golden = json::parse(test::read_file(test::repository("tests/goldens/extensions.json")));
  const int64_t tokens = golden["tokens"], width = golden["head_dim"], heads = golden["heads"], head = golden["head"];
  const uint64_t seed = golden["seed"];
  test::Tables tables;
  for (const auto& [name, about] : golden["tables"].items())
    tables.add(name, about[0].get<std::vector<int64_t>>(), test::golden_numbers(about, seed, name));
  const json about_rows = json::array({json::array({tokens, width}), 0.0, golden["spread"]});
  const std::vector<float> q = test::golden_numbers(about_rows, seed, "q"),
                           k = test::golden_numbers(about_rows, seed, "k");

  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = heads;
  shape.n_kv_heads = 1;
  shape.head_dim = width;
  shape.trained_length = 36;
  shape.length = 20;  // of tables that a scheme keeps: some places are within, some past them
  REQUIRE(golden["entries"].size() >= 29);
  for (const json& entry : golden["entries"]) {
    const std::string spec = entry["spec"];
    CAPTURE(spec);
    const test::Scheme scheme = test::make(spec, shape, tables);
    CHECK(scheme->spec() == spec);
    for (size_t at = 0; at < golden["rows"].size(); ++at) {
      const int64_t i = golden["rows"][at];
      CAPTURE(i);
      // All heads of a query are alike, so that a factor of each head is found whichever it is.
      std::vector<float> query;
      for (int64_t h = 0; h < heads; ++h)
        for (const float number : row_of(q, i, width)) query.push_back(number);
      const float scale = 1 / std::sqrt(static_cast<float>(width));
      test::Stand stand{.head = head, .position = i, .keys = {}, .scale = scale};
      std::vector<float> scores;
      for (int64_t j = 0; j <= i; ++j) {
        stand.keys = {j};
        std::vector<float> key;
        for (int64_t h = 0; h < heads; ++h)
          for (const float number : row_of(k, j, width)) key.push_back(h == head ? number : 0);
        scores.push_back(static_cast<float>(test::seen_scores(scheme, stand, query, key)[0]));
      }
      stand.keys = test::first_positions(i + 1);
      scores = test::scored(scheme, stand, row_of(test::turned(scheme, i, query), head, width), scores);
      const json& expected = entry["scores"][at];
      REQUIRE(expected.size() == scores.size());
      for (size_t j = 0; j < scores.size(); ++j) {
        CAPTURE(j);
        if (expected[j].is_null())
          CHECK(std::isinf(scores[j]));
        else
          CHECK(std::abs(static_cast<double>(scores[j]) - expected[j].get<double>()) < 2e-5);
      }
    }
  }
}

}  // namespace
