// cases_test.cpp: the cases of ../shared/cases that a model and its positions can answer by themselves.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "ordinal/session.h"
#include "support.h"
#include "text/generator.h"

namespace {

using nlohmann::json;
using ordinal::TokenId;

// The case called `id`, or null when there are no cases.
json find_case(const std::string& id) {
  const std::string path = test::shared("cases/cases.json");
  if (path.empty()) return {};
  const json all = json::parse(test::read_file(path));
  for (const json& one : all["cases"])
    if (one["id"] == id) return one;
  FAIL("no case ", id);
  return {};
}

json find_item(const std::string& id, const std::string& name) {
  for (const json& item : find_case(id).value("items", json::array()))
    if (item["name"] == name) return item;
  return {};
}

std::shared_ptr<const ordinal::Model> model_of(const json& input) {
  return ordinal::Model::bind(ordinal::open_any_model(test::shared("cases/" + input["model"].get<std::string>())));
}

// The spec for a case's name of a scheme.
std::string spec_of(const json& input) {
  const std::string name = input.value("position", "learned");
  if (name == "sinusoidal_interleaved") return "sinusoidal";
  if (name == "sinusoidal_concat") return "sinusoidal:layout=concat";
  if (!name.starts_with("rope_")) return name;
  std::string spec = "rope:theta=" + std::to_string(input.value("base", 10000)) + ",pairing=" + name.substr(5);
  if (input.contains("linear_factor"))
    spec += ",scaling=linear,factor=" + std::to_string(input["linear_factor"].get<int>());
  return spec;
}

bool known_scheme(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  const auto schemes = ordinal::position_schemes();
  return std::any_of(schemes.begin(), schemes.end(), [&](const auto& scheme) { return scheme.name == name; });
}

std::vector<TokenId> ids_of(const json& list) { return list.get<std::vector<TokenId>>(); }

std::vector<float> last_logits(const json& input, int n_threads = 2, int64_t chunk = 256) {
  const auto ids = ids_of(input["ids"]);
  ordinal::SessionOptions options;
  options.position = spec_of(input);
  options.capacity = static_cast<int64_t>(ids.size());
  options.n_threads = n_threads;
  options.chunk = chunk;
  ordinal::Session session(model_of(input), options);
  const auto logits = session.evaluate(ids);
  return {logits.begin(), logits.end()};
}

void check_logits(const std::vector<float>& found, const json& expect) {
  const auto expected = expect["logits_last"].get<std::vector<double>>();
  REQUIRE(found.size() == expected.size());
  double worst = 0.0;
  for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
  CHECK(worst <= expect["abs_tol"].get<double>());
  if (expect.contains("argmax"))
    CHECK(std::max_element(found.begin(), found.end()) - found.begin() == expect["argmax"].get<int64_t>());
}

// Checks one item that gives ids to a model and wants logits, or a refusal, back.
void check_item(const json& item) {
  CAPTURE(item["name"].get<std::string>());
  const json& input = item["input"];
  if (!known_scheme(spec_of(input))) {
    MESSAGE("skipped: no position scheme ", spec_of(input));
    return;
  }
  // Of several right answers, the one that computes something is ours.
  const json expect = item["expect"].contains("one_of") ? item["expect"]["one_of"][0] : item["expect"];
  if (expect.value("outcome", "ok") == "error") {
    const std::string message = test::error_of([&] { last_logits(input); });
    CHECK(test::mentions(message, expect["stderr_mentions_any_of"].get<std::vector<std::string>>()));
    return;
  }
  const std::vector<float> found = last_logits(input);
  if (expect.contains("logits_last")) check_logits(found, expect);
  if (expect.contains("wrong_first_logits")) {
    double difference = 0.0;
    for (size_t i = 0; i < expect["wrong_first_logits"].size(); ++i)
      difference = std::max(difference, std::abs(found[i] - expect["wrong_first_logits"][i].get<double>()));
    CHECK(difference > 0.01);
    CHECK(std::max_element(found.begin(), found.end()) - found.begin() != expect["not_argmax"].get<int64_t>());
  }
}

ordinal::Generation generated(const json& input, const ordinal::SamplerOptions& sampler, int n_threads) {
  ordinal::SessionOptions session_options;
  session_options.position = spec_of(input);
  session_options.n_threads = n_threads;
  ordinal::Session session(model_of(input), session_options);
  ordinal::GenerateOptions options;
  options.max_new_tokens = input["new_tokens"];
  options.sampler = sampler;
  options.ignore_eos = true;
  return ordinal::generate(session, nullptr, ids_of(input["ids"]), options).front();
}

ordinal::SamplerOptions sampler_of(double temperature, uint64_t seed) {
  ordinal::SamplerOptions options;
  options.temperature = static_cast<float>(temperature);
  options.seed = seed;
  return options;
}

// Turns a case's vector by a rope scheme over a single head, as q and as k.
std::vector<float> turned(const json& input, const std::string& pairing, bool stretched) {
  auto q = input["vector"].get<std::vector<float>>(), k = q;
  const int64_t width = static_cast<int64_t>(q.size()), position = input["position"];
  ordinal::AttentionShape shape;
  shape.n_layers = shape.n_heads = shape.n_kv_heads = 1;
  shape.d_model = shape.head_dim = width;
  shape.trained_length = shape.length = position + 1;
  std::string spec = "rope:theta=" + std::to_string(input["base"].get<int>()) + ",pairing=" + pairing;
  if (stretched && input.contains("linear_factor"))
    spec += ",scaling=linear,factor=" + std::to_string(input["linear_factor"].get<int>());
  const auto scheme = ordinal::make_position_scheme(
      spec, shape, [](std::string_view) -> const ordinal::TensorView* { return nullptr; });
  scheme->transform_query_key(0, {&position, 1}, {q.data(), 1, width, width}, {k.data(), 1, width, width});
  CHECK(test::same_bits(q, k));
  return q;
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// What importers make of these files is tested in tests/convert; here the engine runs it.
TEST_CASE("cases ckp-01: names with and without prefix, masks inside, give the same logits") {
  const json one = find_case("ckp-01");
  if (one.is_null()) return;
  for (const json& item : one["items"])
    if (item["input"].contains("model")) check_item(item);
}

TEST_CASE("cases ckp-02: the projections are read input-major") {
  const json one = find_case("ckp-02");
  if (one.is_null()) return;
  for (const json& item : one["items"]) {
    if (item["input"].contains("new_tokens"))
      CHECK(generated(item["input"], sampler_of(0, 0), 2).ids == ids_of(item["expect"]["new_ids"]));
    else
      check_item(item);
  }
}

TEST_CASE("cases ckp-03: 16-bit weights at odd addresses give the same logits") {
  const json one = find_case("ckp-03");
  if (one.is_null()) return;
  for (const json& item : one["items"]) check_item(item);
}

TEST_CASE("cases ctx-01: a prompt longer than the context is refused, naming the limit") {
  const json one = find_case("ctx-01");
  if (one.is_null()) return;
  for (const json& item : one["items"]) {
    CAPTURE(item["name"].get<std::string>());
    const std::string message = test::error_of([&] { generated(item["input"], sampler_of(0, 0), 2); });
    CHECK(test::mentions(message, item["expect"]["stderr_mentions_any_of"].get<std::vector<std::string>>()));
  }
}

TEST_CASE("cases ctx-02: a prompt may fill the context") {
  const json one = find_case("ctx-02");
  if (one.is_null()) return;
  for (const json& item : one["items"]) {
    CAPTURE(item["name"].get<std::string>());
    if (!item["input"].contains("new_tokens")) {
      check_item(item);
      continue;
    }
    const std::vector<TokenId> found = generated(item["input"], sampler_of(0, 0), 2).ids;
    const json& expect = item["expect"];
    bool right = false;
    for (const json& answer : expect.contains("one_of") ? expect["one_of"] : json::array({expect}))
      right = right || found == ids_of(answer["new_ids"]);
    CHECK(right);
  }
}

TEST_CASE("cases ctx-03: formulas go on past the trained length, a learned table is refused") {
  const json one = find_case("ctx-03");
  if (one.is_null()) return;
  for (const json& item : one["items"]) check_item(item);
}

TEST_CASE("cases pos-01 and pos-02: both pairings, bases and linear stretching") {
  for (const char* id : {"pos-01", "pos-02"}) {
    const json one = find_case(id);
    if (one.is_null()) return;
    for (const json& item : one["items"]) {
      CAPTURE(item["name"].get<std::string>());
      const json &input = item["input"], &expect = item["expect"];
      if (input.contains("model")) {
        check_item(item);
        continue;
      }
      if (!input.contains("vector")) {
        MESSAGE("skipped: ", item.dump());
        continue;
      }
      std::vector<std::string> pairings = {"half"};
      if (input["pairing"] == "neighbours") pairings = {"interleaved"};
      if (input["pairing"] == "either") pairings = {"half", "interleaved"};
      for (const std::string& pairing : pairings) {
        const std::vector<float> found = turned(input, pairing, true);
        if (expect.contains("vector"))
          CHECK(largest_difference(found, expect["vector"].get<std::vector<double>>()) <=
                expect["abs_tol"].get<double>());
        if (expect.contains("not_vector"))
          CHECK(largest_difference(found, expect["not_vector"].get<std::vector<double>>()) > 0.1);
        if (expect.contains("equals_position_without_factor")) {
          json unstretched = input;
          unstretched["position"] = expect["equals_position_without_factor"];
          CHECK(test::same_bits(turned(unstretched, pairing, false), found));
        }
      }
    }
  }
}

// The values of num-01 are tested in tests/kernels.
TEST_CASE("cases num-01: a model trained with the tanh form runs with it") {
  if (find_case("num-01").is_null()) return;
  check_item(find_item("num-01", "model"));
}

TEST_CASE("cases num-03: the same result for every thread count and chunk size") {
  const json one = find_case("num-03");
  if (one.is_null()) return;
  const json greedy = find_item("num-03", "greedy");
  for (const int n_threads : greedy["input"]["threads"])
    CHECK(generated(greedy["input"], sampler_of(0, 0), n_threads).ids == ids_of(greedy["expect"]["new_ids"]));

  const json logits = find_item("num-03", "logits");
  const std::vector<float> first = last_logits(logits["input"]);
  check_logits(first, logits["expect"]);
  for (const int n_threads : logits["input"]["threads"])
    for (const int64_t chunk : logits["input"]["prompt_chunk"])
      CHECK(test::same_bits(last_logits(logits["input"], n_threads, chunk), first));

  const json seeded = find_item("num-03", "seeded");
  std::set<std::vector<TokenId>> texts;
  for (const int n_threads : seeded["input"]["threads"])
    for (int run = 0; run < seeded["input"]["runs"].get<int>(); ++run)
      texts.insert(generated(seeded["input"], sampler_of(1, seeded["input"]["seed"]), n_threads).ids);
  CHECK(texts.size() == 1);

  const json varied = find_item("num-03", "seed-changes-text");
  texts.clear();
  for (const uint64_t seed : varied["input"]["seed"])
    texts.insert(generated(varied["input"], sampler_of(varied["input"]["temperature"], seed), 1).ids);
  CHECK(texts.size() >= varied["expect"]["distinct_results_at_least"].get<size_t>());
}

}  // namespace
