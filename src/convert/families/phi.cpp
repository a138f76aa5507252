// phi.cpp: Phi, Phi-3 and Phi-4-mini, StableLM, StarCoder2.
#include "convert/families/families.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kPhiParts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    {"attn_q_norm", "layers.#.self_attn.q_layernorm"},
    {"attn_k_norm", "layers.#.self_attn.k_layernorm"},
    {"attn_output", "layers.#.self_attn.dense"},
    {"ffn_up", "layers.#.mlp.fc1"},
    {"ffn_down", "layers.#.mlp.fc2"},
    {"output_norm", "final_layernorm"},
    kLmHead,
};

constexpr FamilyPart kPhi3Parts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    {"attn_q", "layers.#.self_attn.qkv_proj", q_of_qkv},
    {"attn_k", "layers.#.self_attn.qkv_proj", k_of_qkv},
    {"attn_v", "layers.#.self_attn.qkv_proj", v_of_qkv},
    kLlamaO,
    kLlamaFfnNorm,
    {"ffn_gate", "layers.#.mlp.gate_up_proj", gate_of_both},
    {"ffn_up", "layers.#.mlp.gate_up_proj", up_of_both},
    kLlamaDown,
    kLlamaNorm,
    kLmHead,
};

constexpr FamilyPart kStableLmParts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    {"attn_q_norm", "layers.#.self_attn.q_layernorm.norms.@"},
    {"attn_k_norm", "layers.#.self_attn.k_layernorm.norms.@"},
    kLlamaO,
    kLlamaFfnNorm,
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    kLlamaNorm,
    kLmHead,
};

constexpr FamilyPart kStarCoder2Parts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    kLlamaO,
    kLlamaFfnNorm,
    {"ffn_up", "layers.#.mlp.c_fc"},
    {"ffn_down", "layers.#.mlp.c_proj"},
    kLlamaNorm,
    kLmHead,
};

void read_phi(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  read_d_ff(settings, model);
  read_kv_heads(settings, model);
  read_epsilon(settings, model);
  model.activation = settings.activation({"hidden_act"}, "gelu_new");
  set_scale(model);
  model.residual = Residual::parallel_one_norm;
  if (settings.flag("qk_layernorm", false)) model.qk_norm = QkNorm::head;
  facts.set_biases(true);
  facts.norm_bias = facts.head_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", false);
  read_ids(settings, model, 1, 2);
  facts.position = read_rope(settings, facts, {.partial = 0.5});
}

void read_phi3(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 4096, .epsilon = 1e-5, .eos = 32000});
  facts.qkv_bias = facts.output_bias = Bias::no;
  set_windows(facts.model, read_window(settings, 0));
  facts.position = read_rope(settings, facts, {.yarn_is_longrope = true});
}

void read_stablelm(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 4096, .kv_heads = 32, .epsilon = 1e-5, .bos = 0, .eos = 0});
  ModelConfig& model = facts.model;
  model.norm = NormKind::layer_norm;
  if (settings.flag("qk_layernorm", false)) model.qk_norm = QkNorm::head;
  if (settings.flag("use_parallel_residual", false)) model.residual = Residual::parallel_one_norm;
  facts.qkv_bias = settings.flag("use_qkv_bias", false) ? Bias::yes : Bias::no;
  facts.output_bias = Bias::no;
  facts.norm_bias = Bias::if_there;  // the norms of q and k have none, the others do
  facts.position = read_rope(settings, facts, {.partial = 0.25});
}

void read_starcoder2(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 4096);
  model.d_ff = settings.size({"intermediate_size"});
  read_kv_heads(settings, model, 2);
  read_epsilon(settings, model);
  settings.pass_over({"norm_type", "mlp_type"});
  model.activation = settings.activation({"hidden_act"}, "gelu_pytorch_tanh");
  set_scale(model);
  set_windows(model, read_window(settings, 0));
  facts.set_biases(settings.flag("use_bias", true));
  facts.norm_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, 50256, 50256);
  facts.position = read_rope(settings, facts);
}

constexpr Family kPhiFamilies[] = {
    {"phi", "Phi", kPhiParts, read_phi},
    {"phi3", "Phi-3", kPhi3Parts, read_phi3},
    {"stablelm", "StableLM", kStableLmParts, read_stablelm},
    {"starcoder2", "StarCoder2", kStarCoder2Parts, read_starcoder2},
};

}  // namespace

std::span<const Family> phi_families() { return kPhiFamilies; }

}  // namespace ordinal::convert
