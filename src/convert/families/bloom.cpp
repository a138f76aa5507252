// bloom.cpp: models whose attention is biased by distance, and Falcon, which came from them: BLOOM, MPT, Falcon.
#include <cmath>

#include "convert/families/families.h"
#include "ordinal/error.h"
#include "position/scheme.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kBloomParts[] = {
    {"token_embd", "word_embeddings"},
    {"token_embd_norm", "word_embeddings_layernorm"},
    {"attn_norm", "h.#.input_layernorm"},
    {"attn_q", "h.#.self_attention.query_key_value", q_of_groups},
    {"attn_k", "h.#.self_attention.query_key_value", k_of_groups},
    {"attn_v", "h.#.self_attention.query_key_value", v_of_groups},
    {"attn_output", "h.#.self_attention.dense"},
    {"ffn_norm", "h.#.post_attention_layernorm"},
    {"ffn_up", "h.#.mlp.dense_h_to_4h"},
    {"ffn_down", "h.#.mlp.dense_4h_to_h"},
    {"output_norm", "ln_f"},
    kLmHead,
};

// Three ways to fuse q, k and v, of which each is groups of heads: one group for all, one a head, or what the file
// says.
constexpr FamilyPart kFalconParts[] = {
    {"token_embd", "word_embeddings"},
    {"attn_norm", "h.#.ln_attn"},
    {"attn_norm", "h.#.input_layernorm"},
    {"attn_q", "h.#.self_attention.query_key_value", q_of_groups},
    {"attn_k", "h.#.self_attention.query_key_value", k_of_groups},
    {"attn_v", "h.#.self_attention.query_key_value", v_of_groups},
    {"attn_output", "h.#.self_attention.dense"},
    {"ffn_norm", "h.#.ln_mlp"},
    {"ffn_norm", "h.#.post_attention_layernorm"},
    {"ffn_up", "h.#.mlp.dense_h_to_4h"},
    {"ffn_down", "h.#.mlp.dense_4h_to_h"},
    {"output_norm", "ln_f"},
    kLmHead,
};

constexpr FamilyPart kMptParts[] = {
    {"token_embd", "wte"},
    {"attn_norm", "blocks.#.norm_1"},
    {"attn_q", "blocks.#.attn.Wqkv", q_of_qkv},
    {"attn_k", "blocks.#.attn.Wqkv", k_of_qkv},
    {"attn_v", "blocks.#.attn.Wqkv", v_of_qkv},
    {"attn_output", "blocks.#.attn.out_proj"},
    {"ffn_norm", "blocks.#.norm_2"},
    {"ffn_up", "blocks.#.ffn.up_proj"},
    {"ffn_down", "blocks.#.ffn.down_proj"},
    {"output_norm", "norm_f"},
    kLmHead,
};

void read_bloom(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  model.d_ff = 4 * model.d_model;
  read_epsilon(settings, model);
  model.activation = Activation::gelu_tanh;
  settings.must_be("apply_residual_connection_post_layernorm", "false");
  set_scale(model);
  model.embedding_norm = true;
  facts.set_biases(true);
  facts.norm_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, 1, 2);
  facts.position = "alibi";
}

void read_falcon(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  read_d_ff(settings, model);
  read_epsilon(settings, model);
  model.activation = settings.activation({"activation"}, "gelu");
  settings.must_be("apply_residual_connection_post_layernorm", "false");
  set_scale(model);
  const bool is_new = settings.flag("new_decoder_architecture", false);
  const bool one_for_all = settings.flag("multi_query", true), parallel = settings.flag("parallel_attn", true);
  const int64_t norms = settings.size({"num_ln_in_parallel_attn"}, is_new ? 2 : 1);
  model.n_kv_heads = settings.size({"num_kv_heads", "n_head_kv"}, model.n_heads);
  if (is_new && !parallel)
    throw Error(settings.what("parallel_attn") + " does not fit new_decoder_architecture", "true", "false");
  if (!is_new) model.n_kv_heads = one_for_all ? 1 : model.n_heads;
  model.residual = !parallel              ? Residual::serial
                   : is_new && norms == 2 ? Residual::parallel
                                          : Residual::parallel_one_norm;
  facts.set_biases(settings.flag("bias", false));
  facts.norm_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, 11, 11);
  // Its penalty is added before the scores are scaled, as numbers of bfloat16.
  facts.position =
      settings.flag("alibi", false)
          ? "alibi:scale=" + number_text(1.0 / std::sqrt(static_cast<double>(model.head_dim))) + ",rounding=bf16"
          : read_rope(settings, facts);
}

void read_mpt(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  model.d_ff = 4 * model.d_model;
  settings.must_be("expansion_ratio", "4");
  settings.must_be("no_bias", "true");
  settings.must_be("learned_pos_emb", "true");  // says nothing where ALiBi is on
  if (settings.take("logit_scale") != nullptr)
    throw Error(settings.what("logit_scale") + " asks for something transformers does not do", "null",
                shown(*settings.take("logit_scale")));
  read_epsilon(settings, model);
  settings.pass_over({"norm_type", "embedding_fraction"});  // of training
  model.activation = Activation::gelu_erf;
  set_scale(model);
  if (const Json* attention = settings.take("attn_config"); attention != nullptr) {
    Settings inner(*attention, settings.what("attn_config"), settings.note());
    inner.must_be("alibi", "true");
    inner.must_be("qk_ln", "false");
    inner.must_be("prefix_lm", "false");
    inner.must_be("alibi_bias_max", "8");
    inner.must_be("attn_type", "\"multihead_attention\"");
    inner.must_be("attn_uses_sequence_id", "false");
    inner.pass_over({"attn_pdrop", "attn_impl", "model_type"});
    model.qkv_clip = static_cast<float>(inner.number({"clip_qkv"}, 0));
    if (const double scale = inner.number({"softmax_scale"}, 0); scale != 0) set_scale(model, scale);
    inner.refuse_rest();
  }
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, -1, -1);
  facts.position = "alibi";
}

constexpr Family kBloomFamilies[] = {
    {"bloom", "BLOOM", kBloomParts, read_bloom},
    {"falcon", "Falcon", kFalconParts, read_falcon},
    {"RefinedWebModel", "Falcon", kFalconParts, read_falcon},
    {"RefinedWeb", "Falcon", kFalconParts, read_falcon},
    {"mpt", "MPT", kMptParts, read_mpt},
};

}  // namespace

std::span<const Family> bloom_families() { return kBloomFamilies; }

}  // namespace ordinal::convert
