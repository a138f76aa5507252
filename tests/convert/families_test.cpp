// families_test.cpp: folders of every family, run by the engine, against transformers' logits in double precision.
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "convert/family.h"
#include "ordinal/error.h"
#include "ordinal/session.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ordinal::TokenId;

// The goldens' own single precision is within 2e-5; each fact, spoiled, moves a logit by 1.3e-3 or more.
constexpr double kFamilyTolerance = 2e-4;

ordinal::Session session_for(const std::shared_ptr<const ordinal::Model>& model, int64_t length, int64_t chunk) {
  ordinal::SessionOptions options;
  options.n_threads = 1;
  options.capacity = length;
  options.chunk = chunk;
  return ordinal::Session(model, options);
}

double worst_difference(const std::shared_ptr<const ordinal::Model>& model, const json& golden, int64_t length,
                        int64_t chunk) {
  const auto ids = golden["ids"].get<std::vector<TokenId>>();
  const auto expected = golden["logits"].get<std::vector<std::vector<double>>>();
  ordinal::Session session = session_for(model, length, chunk);
  double worst = 0;
  session.evaluate_all(ids, [&](int64_t row, std::span<const float> logits) {
    REQUIRE(logits.size() == expected[static_cast<size_t>(row)].size());
    for (size_t i = 0; i < logits.size(); ++i) {
      const double difference = std::abs(logits[i] - expected[static_cast<size_t>(row)][i]);
      worst = difference <= worst ? worst : difference;  // NaN is kept
    }
  });
  return worst;
}

std::vector<TokenId> greedy_ids(const std::shared_ptr<const ordinal::Model>& model, const json& golden) {
  const auto ids = golden["ids"].get<std::vector<TokenId>>();
  std::vector<TokenId> found;
  ordinal::Session session = session_for(model, static_cast<int64_t>(ids.size() + golden["greedy_ids"].size()), 256);
  std::span<const float> logits = session.evaluate(ids);
  while (found.size() < golden["greedy_ids"].size()) {
    found.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    logits = session.evaluate({&found.back(), 1});
  }
  return found;
}

void check_family(const fs::path& folder) {
  const json golden = json::parse(test::read_file((folder / "golden.json").string()));
  const auto model = ordinal::Model::bind(ordinal::open_any_model(folder.string()));
  const int64_t length = golden.value("length", static_cast<int64_t>(golden["ids"].size()));
  CHECK(worst_difference(model, golden, length, 256) <= kFamilyTolerance);
  CHECK(worst_difference(model, golden, length, 7) <= kFamilyTolerance);  // a cache, and windows cut by chunks
  if (!golden["greedy_ids"].empty())
    CHECK(greedy_ids(model, golden) == golden["greedy_ids"].get<std::vector<TokenId>>());
  if (golden.contains("short"))
    CHECK(worst_difference(model, golden["short"], golden["short"]["length"], 256) <= kFamilyTolerance);
}

}  // namespace

TEST_CASE("families: the handed-over folders give transformers' logits and greedy ids") {
  const std::string folder = test::shared("checkpoints/families");
  if (folder.empty()) return;
  int families = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "golden.json")) continue;
    ++families;
    INFO(entry.path().filename().string());
    try {
      check_family(entry.path());
    } catch (const ordinal::Error& error) {
      FAIL_CHECK(std::string(error.what()));
    }
  }
  CHECK(families >= 42);
}
