// plan_test.cpp: the table of a model's tensors, and that binding asks for what it says.
#include "model/plan.h"

#include <algorithm>

#include "format/model_writer.h"
#include "ordinal/error.h"
#include "reference/random_model.h"
#include "support.h"

using ordinal::ModelConfig, ordinal::ModelDraft, ordinal::PlannedTensor, ordinal::TensorSource;
using test::RandomModel, test::random_model, test::small_config;

namespace {

std::vector<std::string> listed(const ModelConfig& config, bool with_biases) {
  std::vector<std::string> lines;
  ordinal::for_each_tensor(config, [&](const PlannedTensor& tensor) {
    if (tensor.is_bias && !with_biases) return;
    std::string line = tensor.name + (tensor.required ? "" : "?");
    for (const int64_t size : tensor.shape) line += " " + std::to_string(size);
    lines.push_back(line);
  });
  return lines;
}

RandomModel model_of(ordinal::NormPlace place, bool gated, bool tied) {
  RandomModel model;
  model.config = small_config();
  model.config.norm_place = place;
  model.config.gated_mlp = gated;
  model.config.tied_output = tied;
  return model;
}

std::string refusal_of(const ModelDraft& draft) {
  try {
    ordinal::Model::bind(write_model_in_memory(draft, "a model"));
  } catch (const ordinal::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("plan: names and shapes follow from the config") {
  ModelConfig config = small_config();
  config.n_layers = 1;
  config.n_kv_heads = 1;
  config.gated_mlp = true;
  config.tied_output = false;
  CHECK(listed(config, false) == std::vector<std::string>{"token_embd.weight 77 36", "blk.0.attn_norm.weight 36",
                                                          "blk.0.attn_q.weight 36 36", "blk.0.attn_k.weight 12 36",
                                                          "blk.0.attn_v.weight 12 36", "blk.0.attn_output.weight 36 36",
                                                          "blk.0.ffn_norm.weight 36", "blk.0.ffn_gate.weight 50 36",
                                                          "blk.0.ffn_up.weight 50 36", "blk.0.ffn_down.weight 36 50",
                                                          "output_norm.weight 36", "output.weight 77 36"});
  config.gated_mlp = false;
  config.tied_output = true;
  config.norm_place = ordinal::NormPlace::post;
  const std::vector<std::string> all = listed(config, true);
  CHECK(std::ranges::count(all, "blk.0.ffn_gate.weight 50 36") == 0);
  CHECK(std::ranges::count(all, "output.weight 77 36") == 0);
  CHECK(std::ranges::count(all, "output_norm.weight? 36") == 1);
  CHECK(std::ranges::count(all, "blk.0.attn_k.bias? 12") == 1);
  CHECK(std::ranges::count(all, "output.bias? 77") == 1);
  CHECK(std::ranges::count(all, "token_embd.bias? 77") == 0);
}

TEST_CASE("plan: a model binds with every tensor it calls for, and not without any one of them") {
  for (const bool gated : {false, true}) {
    RandomModel model = model_of(ordinal::NormPlace::pre, gated, !gated);
    model.output_bias = true;
    const ModelDraft whole = random_model(model);
    CHECK(refusal_of(whole).empty());
    ordinal::for_each_tensor(model.config, [&](const PlannedTensor& tensor) {
      INFO(tensor.name);
      ModelDraft without = whole;
      CHECK(std::erase_if(without.tensors, [&](const TensorSource& t) { return t.name == tensor.name; }) == 1);
      CHECK(test::mentions(refusal_of(without), {tensor.name, "lacks a tensor"}) == tensor.required);
      CHECK(refusal_of(without).empty() == !tensor.required);

      ModelDraft wrong = whole;
      for (TensorSource& t : wrong.tensors)
        if (t.name == tensor.name) t.shape[0] += t.shape.size() == 1 ? 1 : -1;  // what is read has room, and is there
      CHECK(test::mentions(refusal_of(wrong), {tensor.name, "does not fit"}));
    });
  }
}

TEST_CASE("plan: every member of a bound model holds what its row says") {
  const RandomModel model = model_of(ordinal::NormPlace::pre, true, false);
  const auto bound = ordinal::Model::bind(write_model_in_memory(random_model(model), "a model"));
  ordinal::for_each_part(model.config, [&](const ordinal::PlannedPart& part, int64_t layer) {
    const std::string name = ordinal::part_name(part, layer);
    INFO(name);
    with_member(part, bound->weights(), layer, [&](const auto& member) {
      if constexpr (requires { member.n; }) {
        CHECK(member.weight == bound->file().find(name + ".weight"));
        CHECK(member.n == part.n(model.config));
        CHECK(member.k == part.k(model.config));
      } else if constexpr (requires { member.bias; }) {
        CHECK(static_cast<int64_t>(member.weight.size()) == part.n(model.config));
      } else {
        CHECK(member == bound->file().find(name + ".weight"));
      }
    });
  });
  const auto layer = bound->weights().layers.at(1);
  CHECK(layer.attn_k.weight->name == "blk.1.attn_k.weight");
  CHECK(layer.ffn_down.weight->name == "blk.1.ffn_down.weight");
  CHECK(bound->weights().output.weight->name == "output.weight");
}

TEST_CASE("plan: a tied output has the embedding's weight and may have a bias of its own") {
  RandomModel model = model_of(ordinal::NormPlace::pre, false, true);
  model.output_bias = true;
  const auto bound = ordinal::Model::bind(write_model_in_memory(random_model(model), "a model"));
  CHECK(bound->weights().output.weight == bound->weights().token_embd);
  CHECK(static_cast<int64_t>(bound->weights().output.bias.size()) == model.config.vocab_size);
}
