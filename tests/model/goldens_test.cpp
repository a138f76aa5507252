// goldens_test.cpp: the engine and the reference forward pass against transformers (tools/make_goldens.py).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "reference/reference_forward.h"
#include "support.h"

namespace {

using nlohmann::json;
using ordinal::TokenId;

// The float32 goldens carry transformers' own rounding, up to 1e-5; the limit for the engine is the project's.
constexpr double kEngineTolerance = 2e-4, kFloat32Tolerance = 1e-4, kFloat64Tolerance = 2e-6;

template <class Kind>
Kind kind_from(const json& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name.get<std::string>());
  REQUIRE_MESSAGE(found != names.end(), "unknown ", name.get<std::string>());
  return static_cast<Kind>(found - names.begin());
}

ordinal::ModelConfig config_from(const json& from) {
  ordinal::ModelConfig config;
  config.vocab_size = from["vocab_size"];
  config.max_seq_len = from["max_seq_len"];
  config.d_model = from["d_model"];
  config.n_layers = from["n_layers"];
  config.n_heads = from["n_heads"];
  config.n_kv_heads = from["n_kv_heads"];
  config.head_dim = from["head_dim"];
  config.d_ff = from["d_ff"];
  config.norm = kind_from<ordinal::NormKind>(from["norm"], {"layer_norm", "rms_norm"});
  config.norm_place = kind_from<ordinal::NormPlace>(from["norm_place"], {"pre", "post"});
  config.norm_epsilon = from["norm_epsilon"];
  config.activation = kind_from<ordinal::Activation>(from["activation"], {"gelu_tanh", "gelu_erf", "relu", "silu"});
  config.gated_mlp = from["gated_mlp"];
  config.tied_output = from["tied_output"];
  config.embedding_scale = from["embedding_scale"];
  config.attention_scale = from["attention_scale"].get<std::vector<float>>();
  return config;
}

ordinal::ModelDraft draft_from(const json& golden) {
  ordinal::ModelDraft draft;
  draft.config = config_from(golden["config"]);
  draft.notes.position = golden["position"];
  draft.notes.trained_positions = {draft.notes.position};
  for (const json& tensor : golden["tensors"]) {
    const auto shape = tensor[1].get<std::vector<int64_t>>();
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    draft.tensors.push_back(test::tensor_of(
        tensor[0], shape, test::uniform_numbers(golden["seed"], tensor[0], count, tensor[2], tensor[3])));
    draft.tensors.back().is_table = draft.tensors.back().name == "position_embd.weight";
  }
  return draft;
}

// What both sides are compared in: the logits [M][V] of the whole text.
template <class Logits>
void check_logits(const json& golden, const Logits& logits, double tolerance) {
  double worst = 0.0;
  for (size_t r = 0; r < golden["rows"].size(); ++r) {
    for (size_t c = 0; c < golden["columns"].size(); ++c) {
      const double found = logits[golden["rows"][r].get<size_t>()][golden["columns"][c].get<size_t>()];
      worst = std::max(worst, std::abs(found - golden["logits"][r][c].get<double>()));
    }
  }
  CHECK(worst <= tolerance);
  std::vector<TokenId> best;
  for (const auto& row : logits)
    best.push_back(static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
  CHECK(best == golden["argmax"].get<std::vector<TokenId>>());
}

std::vector<TokenId> whole_text(const json& golden) {
  auto ids = golden["prompt"].get<std::vector<TokenId>>();
  for (const json& id : golden["greedy_ids"]) ids.push_back(id);
  return ids;
}

template <class Check>
void each_golden(Check&& check) {
  for (const char* file : {"gpt2", "llama", "gpt2_relatives"}) {
    const json goldens = json::parse(test::read_file(test::repository("tests/goldens/" + std::string(file) + ".json")));
    REQUIRE(goldens["models"].size() > 5);
    for (const json& golden : goldens["models"]) {
      CAPTURE(golden["name"].get<std::string>());
      check(golden);
    }
  }
}

TEST_CASE("reference: agrees with transformers on every golden model") {
  each_golden([](const json& golden) {
    const ordinal::ModelDraft draft = draft_from(golden);
    const reference::Model model(draft);
    const reference::Scheme scheme = reference::scheme_of(golden["position"], model.position_embd);
    const reference::Result result = reference::forward(model, scheme, whole_text(golden));
    check_logits(golden, result.logits, golden["precision"] == "float64" ? kFloat64Tolerance : kFloat32Tolerance);
  });
}

TEST_CASE("model: agrees with transformers on logits and greedy ids of every golden model") {
  each_golden([](const json& golden) {
    const auto model =
        ordinal::Model::bind(ordinal::write_model_in_memory(draft_from(golden), golden["name"].get<std::string>()));
    const auto prompt = golden["prompt"].get<std::vector<TokenId>>();

    std::vector<std::vector<float>> logits;
    ordinal::Session whole(model);
    whole.evaluate_all(whole_text(golden), [&](int64_t row, std::span<const float> values) {
      CHECK(row == static_cast<int64_t>(logits.size()));
      logits.emplace_back(values.begin(), values.end());
    });
    check_logits(golden, logits, kEngineTolerance);

    ordinal::Session session(model);
    std::vector<TokenId> ids, next = prompt;
    while (ids.size() < golden["greedy_ids"].size()) {
      const auto last = session.evaluate(next);
      ids.push_back(static_cast<TokenId>(std::max_element(last.begin(), last.end()) - last.begin()));
      next = {ids.back()};
    }
    CHECK(ids == golden["greedy_ids"].get<std::vector<TokenId>>());
  });
}

}  // namespace
