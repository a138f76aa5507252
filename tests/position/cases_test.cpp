// cases_test.cpp: the handed-over cases pos-01 to pos-04: vectors, slopes and buckets, and the small model they name.
#include <algorithm>
#include <cmath>

#include "convert/convert.h"
#include "ordinal/session.h"
#include "scheme_probe.h"

namespace {

using nlohmann::json;

// The items of one case; empty when the material is absent.
json items_of(const std::string& id) {
  const std::string path = test::shared("cases/cases.json");
  if (path.empty()) return json::array();
  const json cases = json::parse(test::read_file(path));
  for (const json& one : cases["cases"])
    if (one["id"] == id) return one["items"];
  FAIL("no case " << id);
  return {};
}

// The spec that an item's input asks for.
std::string spec_of(const json& input) {
  std::string spec = "rope", key = ":";
  const auto add = [&](const std::string& text) {
    spec += key + text;
    key = ",";
  };
  const std::string pairing = input[input.contains("pairing") ? "pairing" : "position"];
  if (pairing == "alibi") return "alibi";
  if (pairing == "neighbours" || pairing == "rope_interleaved") add("pairing=interleaved");
  if (input.contains("base")) add("theta=" + input["base"].dump());
  if (input.contains("linear_factor")) add("scaling=linear,factor=" + input["linear_factor"].dump());
  return spec;
}

std::vector<float> turned_vector(const json& input, const std::string& spec) {
  const auto x = input["vector"].get<std::vector<float>>();
  ordinal::AttentionShape shape = test::small_shape();
  shape.head_dim = static_cast<int64_t>(x.size());
  return test::turned(test::make(spec, shape), input["position"], x);
}

void check_vector(const json& input, const json& expect) {
  if (input.value("pairing", "") == "either") {
    for (const char* spec : {"rope", "rope:pairing=interleaved"})
      test::check_near(turned_vector(input, spec), expect["vector"], expect["abs_tol"]);
    return;
  }
  const std::vector<float> found = turned_vector(input, spec_of(input));
  if (expect.contains("vector")) test::check_near(found, expect["vector"], expect["abs_tol"]);
  if (expect.contains("not_vector")) {
    const auto wrong = expect["not_vector"].get<std::vector<double>>();
    double most = 0;
    for (size_t i = 0; i < wrong.size(); ++i) most = std::max(most, std::abs(wrong[i] - static_cast<double>(found[i])));
    CHECK(most > 0.1);
  }
  if (expect.contains("equals_position_without_factor")) {
    json plain = input;
    plain.erase("linear_factor");
    plain["position"] = expect["equals_position_without_factor"];
    CHECK(found == turned_vector(plain, spec_of(plain)));
  }
}

std::vector<float> last_logits(const json& input) {
  const std::string path = test::shared("cases/" + input["model"].get<std::string>());
  ordinal::Session session(ordinal::Model::bind(ordinal::open_any_model(path)), {.position = spec_of(input)});
  const auto logits = session.evaluate(input["ids"].get<std::vector<ordinal::TokenId>>());
  return {logits.begin(), logits.end()};
}

void check_model(const json& input, const json& expect) {
  if (expect.value("outcome", "") == "error") {
    CHECK(test::mentions(test::error_of([&] { last_logits(input); }), expect["stderr_mentions_any_of"]));
    return;
  }
  const std::vector<float> logits = last_logits(input);
  test::check_near(logits, expect["logits_last"], expect["abs_tol"]);
  CHECK(std::max_element(logits.begin(), logits.end()) - logits.begin() == expect["argmax"].get<int64_t>());
}

ordinal::AttentionShape shape_of_heads(int64_t n_heads) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_heads = n_heads;
  return shape;
}

TEST_CASE("pos-01, pos-02: rotary pairs, bases and stretching") {
  for (const char* id : {"pos-01", "pos-02"})
    for (const json& item : items_of(id)) {
      CAPTURE(item["name"].get<std::string>());
      (item["input"].contains("model") ? check_model : check_vector)(item["input"], item["expect"]);
    }
}

TEST_CASE("pos-03: slopes for any number of heads") {
  for (const json& item : items_of("pos-03")) {
    CAPTURE(item["name"].get<std::string>());
    const json &input = item["input"], &expect = item["expect"];
    if (input.contains("model")) {
      check_model(input, expect);
      continue;
    }
    const test::Scheme alibi = test::make("alibi", shape_of_heads(input["heads"]));
    const int64_t query = input.value("query", int64_t{1});
    std::vector<float> slopes;
    for (int64_t h = 0; h < input["heads"]; ++h) {
      const auto bias =
          test::scored(alibi, {.head = h, .position = query, .keys = test::first_positions(query + 1)}, {});
      slopes.push_back(-bias[static_cast<size_t>(query) - 1]);
      if (expect.contains("bias_rows")) test::check_near(bias, expect["bias_rows"][h], expect["abs_tol"]);
    }
    if (expect.contains("slopes")) test::check_near(slopes, expect["slopes"], expect["abs_tol"]);
  }
}

TEST_CASE("pos-04: relative-distance buckets, one-directional") {
  for (const json& item : items_of("pos-04")) {
    CAPTURE(item["name"].get<std::string>());
    const json& input = item["input"];
    const int64_t buckets = input["buckets"];
    std::vector<float> numbers;  // the bias of a bucket is its number
    for (int64_t b = 0; b < buckets; ++b) numbers.push_back(static_cast<float>(b));
    const test::Scheme scheme =
        test::make("t5_bias:buckets=" + std::to_string(buckets) + ",max_distance=" + input["max_distance"].dump(),
                   shape_of_heads(1), test::Tables().add("attn_rel_b.weight", {buckets, 1}, numbers));
    for (size_t i = 0; i < input["query_minus_key"].size(); ++i) {
      const int64_t distance = input["query_minus_key"][i];
      CAPTURE(distance);
      CHECK(test::scored(scheme, {.position = 200000, .keys = {200000 - distance}}, {})[0] ==
            item["expect"]["bucket"][i].get<float>());
    }
  }
}

}  // namespace
