// gpt_j.cpp: models of EleutherAI and their kin: GPT-Neo, GPT-J, CodeGen, GPT-NeoX.
#include "convert/families/families.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kNeoParts[] = {
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"attn_norm", "h.#.ln_1"},
    {"attn_q", "h.#.attn.attention.q_proj"},
    {"attn_k", "h.#.attn.attention.k_proj"},
    {"attn_v", "h.#.attn.attention.v_proj"},
    {"attn_output", "h.#.attn.attention.out_proj"},
    {"ffn_norm", "h.#.ln_2"},
    {"ffn_up", "h.#.mlp.c_fc"},
    {"ffn_down", "h.#.mlp.c_proj"},
    {"output_norm", "ln_f"},
    kLmHead,
};

constexpr FamilyPart kGptJParts[] = {
    {"token_embd", "wte"},         {"attn_norm", "h.#.ln_1"},
    {"attn_q", "h.#.attn.q_proj"}, {"attn_k", "h.#.attn.k_proj"},
    {"attn_v", "h.#.attn.v_proj"}, {"attn_output", "h.#.attn.out_proj"},
    {"ffn_up", "h.#.mlp.fc_in"},   {"ffn_down", "h.#.mlp.fc_out"},
    {"output_norm", "ln_f"},       kLmHead,
};

// Four groups of heads: their q, then their v, then their k.
constexpr int64_t kCodegenGroups = 4;
Share codegen_share(const ModelConfig& c, int64_t place) {
  const int64_t width = c.n_heads * c.head_dim / kCodegenGroups;
  return {place * width, width, 3 * width};
}
Share codegen_q(const ModelConfig& c) { return codegen_share(c, 0); }
Share codegen_v(const ModelConfig& c) { return codegen_share(c, 1); }
Share codegen_k(const ModelConfig& c) { return codegen_share(c, 2); }

constexpr FamilyPart kCodegenParts[] = {
    {"token_embd", "wte"},
    {"attn_norm", "h.#.ln_1"},
    {"attn_q", "h.#.attn.qkv_proj", codegen_q},
    {"attn_k", "h.#.attn.qkv_proj", codegen_k},
    {"attn_v", "h.#.attn.qkv_proj", codegen_v},
    {"attn_output", "h.#.attn.out_proj"},
    {"ffn_up", "h.#.mlp.fc_in"},
    {"ffn_down", "h.#.mlp.fc_out"},
    {"output_norm", "ln_f"},
    kLmHead,
};

constexpr FamilyPart kNeoxParts[] = {
    {"token_embd", "embed_in"},
    {"attn_norm", "layers.#.input_layernorm"},
    {"attn_q", "layers.#.attention.query_key_value", q_of_groups},
    {"attn_k", "layers.#.attention.query_key_value", k_of_groups},
    {"attn_v", "layers.#.attention.query_key_value", v_of_groups},
    {"attn_output", "layers.#.attention.dense"},
    {"ffn_norm", "layers.#.post_attention_layernorm"},
    {"ffn_up", "layers.#.mlp.dense_h_to_4h"},
    {"ffn_down", "layers.#.mlp.dense_4h_to_h"},
    {"output_norm", "final_layer_norm"},
    {"output", "embed_out"},
    kLmHead,
};

// Kinds of attention by layer: [[["global", "local"], 12]] is the pair twelve times.
std::vector<bool> read_attention_types(Settings& settings, const ModelConfig& model) {
  const std::string what = settings.what("attention_types");
  std::vector<bool> local;
  const Json* types = settings.take("attention_types");
  if (types == nullptr)
    for (int64_t layer = 0; layer < 24; ++layer) local.push_back(layer % 2 == 1);
  else
    for (const Json& entry : array(*types, what)) {
      if (!entry.is_array() || entry.size() != 2)
        throw Error(what + " has an entry of another form", "[[\"global\", \"local\"], 12]", shown(entry));
      constexpr std::string_view kKinds[] = {"global", "local"};
      const int64_t times = whole_number(entry[1], what, 0, model.n_layers);
      for (int64_t time = 0; time < times; ++time)
        for (const Json& kind : array(entry[0], what)) local.push_back(one_of(kKinds, kind, what) == 1);
    }
  if (static_cast<int64_t>(local.size()) != model.n_layers)
    throw Error(what + " does not fit the layers", std::to_string(model.n_layers) + " kinds of attention",
                std::to_string(local.size()));
  return local;
}

void read_neo(Settings& settings, FamilyFacts& facts) {
  settings.pass_over({"attention_layers"});  // says again what attention_types says
  read_gpt(settings, facts, {.length = 2048});
  facts.qkv_bias = Bias::no;
  set_scale(facts.model, 1.0);
  set_windows(facts.model, settings.size({"window_size"}, 256), read_attention_types(settings, facts.model));
}

void read_gpt_j_like(Settings& settings, FamilyFacts& facts) {
  settings.must_be("scale_attn_weights", "true");
  settings.pass_over({"n_ctx"});
  read_gpt(settings, facts, {.length = 2048});
  ModelConfig& model = facts.model;
  model.residual = Residual::parallel_one_norm;
  facts.qkv_bias = facts.output_bias = Bias::no;
  facts.head_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", false);
  if (settings.states("rotary_dim") && settings.take("rotary_dim") == nullptr)
    throw Error(settings.what("rotary_dim") + " is null, with which transformers cannot run", "a number", "null");
  facts.position = "rope:pairing=interleaved,rotary_dim=" + std::to_string(settings.size({"rotary_dim"}, 64));
}

void read_codegen(Settings& settings, FamilyFacts& facts) {
  read_gpt_j_like(settings, facts);
  if (facts.model.n_heads % kCodegenGroups != 0)
    throw Error("the heads in " + settings.document() + " do not make up four groups", "a multiple of 4",
                std::to_string(facts.model.n_heads));
}

void read_neox(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  model.d_ff = settings.size({"intermediate_size"});
  read_epsilon(settings, model);
  model.activation = settings.activation({"hidden_act"}, "gelu");
  set_scale(model);
  model.residual = settings.flag("use_parallel_residual", true) ? Residual::parallel : Residual::serial;
  facts.set_biases(true);
  facts.norm_bias = Bias::yes;
  if (!settings.flag("attention_bias", true)) facts.qkv_bias = facts.output_bias = Bias::no;
  facts.tie_head = settings.flag("tie_word_embeddings", false);
  read_ids(settings, model, 0, 2);
  facts.position =
      read_rope(settings, facts, {.partial = 0.25, .theta_key = "rotary_emb_base", .partial_key = "rotary_pct"});
}

constexpr Family kGptJFamilies[] = {
    {"gpt_neo", "GPT-Neo", kNeoParts, read_neo},
    {"gptj", "GPT-J", kGptJParts, read_gpt_j_like},
    {"codegen", "CodeGen", kCodegenParts, read_codegen},
    {"gpt_neox", "GPT-NeoX", kNeoxParts, read_neox},
};

}  // namespace

std::span<const Family> gpt_j_families() { return kGptJFamilies; }

}  // namespace ordinal::convert
