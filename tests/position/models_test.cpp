// models_test.cpp: whole models under schemes that read past the trained length, against transformers.
#include <algorithm>
#include <cmath>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "scheme_probe.h"

namespace {

using nlohmann::json;

template <class Kind>
Kind kind_from(const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  REQUIRE(found != names.end());
  return static_cast<Kind>(found - names.begin());
}

std::shared_ptr<const ordinal::Model> model_of(const json& golden) {
  const json& from = golden["config"];
  ordinal::ModelDraft draft;
  ordinal::ModelConfig& c = draft.config;
  c.vocab_size = from["vocab_size"];
  c.max_seq_len = from["max_seq_len"];
  c.d_model = from["d_model"];
  c.n_layers = from["n_layers"];
  c.n_heads = from["n_heads"];
  c.n_kv_heads = from["n_kv_heads"];
  c.head_dim = from["head_dim"];
  c.d_ff = from["d_ff"];
  c.norm = kind_from<ordinal::NormKind>(from["norm"], {"layer_norm", "rms_norm"});
  c.norm_epsilon = from["norm_epsilon"];
  c.activation = kind_from<ordinal::Activation>(from["activation"], {"gelu_tanh", "gelu_erf", "relu", "silu"});
  c.gated_mlp = from["gated_mlp"];
  c.tied_output = from["tied_output"];
  c.attention_scale = from["attention_scale"].get<std::vector<float>>();
  draft.notes.position = golden["position"];
  draft.notes.trained_positions = {draft.notes.position};
  const auto add = [&](const std::string& name, const json& about) {
    draft.tensors.push_back(test::tensor_of(name, about[0], test::golden_numbers(about, golden["seed"], name)));
  };
  for (const json& tensor : golden["tensors"]) add(tensor[0], {tensor[1], tensor[2], tensor[3]});
  for (const auto& [name, about] : golden["factors"].items()) add(name, about);
  return ordinal::Model::bind(ordinal::write_model_in_memory(draft, golden["name"].get<std::string>()));
}

TEST_CASE("model: agrees with transformers under alibi, yarn, llama3, dynamic and longrope, past the trained length") {
  const json goldens = json::parse(test::read_file(test::repository("tests/goldens/position_models.json")));
  REQUIRE(goldens["models"].size() >= 10);
  for (const json& golden : goldens["models"]) {
    CAPTURE(golden["name"].get<std::string>());
    const auto ids = golden["ids"].get<std::vector<ordinal::TokenId>>();
    ordinal::Session session(model_of(golden), {.capacity = static_cast<int64_t>(ids.size()), .chunk = 16});
    CHECK(session.scheme().spec() == golden["position"].get<std::string>());
    double worst = 0;
    size_t at = 0;
    session.evaluate_all(ids, [&](int64_t row, std::span<const float> logits) {
      if (at == golden["rows"].size() || golden["rows"][at].get<int64_t>() != row) return;
      REQUIRE(logits.size() == golden["logits"][at].size());
      for (size_t c = 0; c < logits.size(); ++c)
        worst = std::max(worst, std::abs(static_cast<double>(logits[c]) - golden["logits"][at][c].get<double>()));
      ++at;
    });
    CHECK(at == golden["rows"].size());
    CHECK(worst < 1e-4);
  }
}

}  // namespace
