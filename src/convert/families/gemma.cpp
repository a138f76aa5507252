// gemma.cpp: Gemma 1 to 3, whose norms keep what differs from 1; OLMo 2 and 3, which norm only what sublayers give.
#include <cmath>

#include "convert/families/families.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart plus_one(std::string_view part, std::string_view name) {
  return {.part = part, .name = name, .plus_one = true};
}

constexpr FamilyPart kGemmaParts[] = {
    kLlamaEmbd,
    plus_one("attn_norm", "layers.#.input_layernorm"),
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    kLlamaO,
    plus_one("ffn_norm", "layers.#.post_attention_layernorm"),
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    plus_one("output_norm", "norm"),
    kLmHead,
};

constexpr FamilyPart kGemma2Parts[] = {
    kLlamaEmbd,
    plus_one("attn_norm", "layers.#.input_layernorm"),
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    plus_one("attn_q_norm", "layers.#.self_attn.q_norm"),
    plus_one("attn_k_norm", "layers.#.self_attn.k_norm"),
    kLlamaO,
    plus_one("post_attention_norm", "layers.#.post_attention_layernorm"),
    plus_one("ffn_norm", "layers.#.pre_feedforward_layernorm"),
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    plus_one("post_ffw_norm", "layers.#.post_feedforward_layernorm"),
    plus_one("output_norm", "norm"),
    kLmHead,
};

constexpr FamilyPart kOlmo2Parts[] = {
    kLlamaEmbd,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    {"attn_q_norm", "layers.#.self_attn.q_norm"},
    {"attn_k_norm", "layers.#.self_attn.k_norm"},
    kLlamaO,
    {"post_attention_norm", "layers.#.post_attention_layernorm"},
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    {"post_ffw_norm", "layers.#.post_feedforward_layernorm"},
    kLlamaNorm,
    kLmHead,
};

void scale_embedding(ModelConfig& model) {
  model.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(model.d_model)));
}

void read_gemma(Settings& settings, FamilyFacts& facts) {
  settings.must_be("use_bidirectional_attention", "false");
  settings.pass_over({"hidden_activation"});
  read_llama_like(settings, facts, {.length = 8192, .kv_heads = 16, .head_dim = 256, .tied = true, .bos = 2, .eos = 1});
  // Whatever is called gelu here is the form by tanh.
  if (facts.model.activation == Activation::gelu_erf || !settings.states("hidden_act"))
    facts.model.activation = Activation::gelu_tanh;
  scale_embedding(facts.model);
  facts.position = read_rope(settings, facts);
}

void read_gemma2_like(Settings& settings, FamilyFacts& facts, int64_t length) {
  settings.must_be("use_bidirectional_attention", "false");
  settings.pass_over({"hidden_act"});
  read_llama_like(settings, facts,
                  {.length = length,
                   .kv_heads = 4,
                   .head_dim = 256,
                   .tied = true,
                   .bos = 2,
                   .eos = 1,
                   .activation_key = "hidden_activation",
                   .activation = "gelu_pytorch_tanh"});
  scale_embedding(facts.model);
  facts.model.norm_place = NormPlace::both;
  set_scale(facts.model, 1 / std::sqrt(settings.positive({"query_pre_attn_scalar"}, 256)));
}

// Null is no cap.
float read_cap(Settings& settings, std::string_view key, double otherwise) {
  return static_cast<float>(settings.number({key}, settings.states(key) ? 0 : otherwise));
}

void read_gemma2(Settings& settings, FamilyFacts& facts) {
  read_gemma2_like(settings, facts, 8192);
  ModelConfig& model = facts.model;
  settings.pass_over({"cache_implementation"});
  model.attention_softcap = read_cap(settings, "attn_logit_softcapping", 50);
  model.logit_softcap = read_cap(settings, "final_logit_softcapping", 30);
  set_windows(model, read_window(settings, 4096),
              read_windowed_layers(settings, model, [](int64_t layer) { return layer % 2 == 0; }));
  facts.position = read_rope(settings, facts);
}

void read_gemma3(Settings& settings, FamilyFacts& facts) {
  read_gemma2_like(settings, facts, 131072);
  ModelConfig& model = facts.model;
  model.qk_norm = QkNorm::head;
  model.qk_norm_kind = NormKind::rms_norm;
  settings.pass_over({"attn_logit_softcapping"});  // read by nobody
  model.logit_softcap = read_cap(settings, "final_logit_softcapping", 0);
  const int64_t pattern = settings.size({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const std::vector<bool> windowed =
      read_windowed_layers(settings, model, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  set_windows(model, read_window(settings, 4096), windowed);
  const std::string full = read_rope(settings, facts, {.theta = 1e6, .layer_type = "full_attention"});
  const std::string local =
      read_rope(settings, facts,
                {.theta_key = "rope_local_base_freq", .layer_type = "sliding_attention", .takes_scaling = false});
  facts.position = per_layer(full, windowed, local);
}

void read_olmo2(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.epsilon = 1e-5, .bos = -1, .eos = 50279});
  ModelConfig& model = facts.model;
  model.norm_place = NormPlace::output;
  model.qk_norm = QkNorm::width;
  model.qk_norm_kind = NormKind::rms_norm;
  facts.position = read_rope(settings, facts);
}

void read_olmo3(Settings& settings, FamilyFacts& facts) {
  read_olmo2(settings, facts);
  ModelConfig& model = facts.model;
  const std::vector<bool> windowed =
      read_windowed_layers(settings, model, [](int64_t layer) { return (layer + 1) % 4 != 0; });
  set_windows(model, read_window(settings, 4096), windowed);
  const RopeCustoms customs{.theta = 5e5, .must_state_theta = true, .layer_type = "full_attention"};
  RopeCustoms local = customs;
  local.layer_type = "sliding_attention";
  local.takes_scaling = false;
  facts.position = per_layer(read_rope(settings, facts, customs), windowed, read_rope(settings, facts, local));
}

constexpr Family kGemmaFamilies[] = {
    {"gemma", "Gemma", kGemmaParts, read_gemma},           {"gemma2", "Gemma 2", kGemma2Parts, read_gemma2},
    {"gemma3_text", "Gemma 3", kGemma2Parts, read_gemma3}, {"olmo2", "OLMo 2", kOlmo2Parts, read_olmo2},
    {"olmo3", "OLMo 3", kOlmo2Parts, read_olmo3},
};

}  // namespace

std::span<const Family> gemma_families() { return kGemmaFamilies; }

}  // namespace ordinal::convert
