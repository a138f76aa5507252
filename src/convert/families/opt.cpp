// opt.cpp: models out of fairseq: OPT, XGLM.
#include <cmath>

#include "convert/families/families.h"

namespace ordinal::convert {
namespace {

// final_layer_norm stands twice: in a layer it is the MLP's, outside the model's.
constexpr FamilyPart kOptParts[] = {
    {"token_embd", "embed_tokens"},
    {"position_embd", "embed_positions"},
    {"embd_in", "project_in"},
    {"embd_out", "project_out"},
    {"attn_norm", "layers.#.self_attn_layer_norm"},
    {"attn_q", "layers.#.self_attn.q_proj"},
    {"attn_k", "layers.#.self_attn.k_proj"},
    {"attn_v", "layers.#.self_attn.v_proj"},
    {"attn_output", "layers.#.self_attn.out_proj"},
    {"ffn_norm", "layers.#.final_layer_norm"},
    {"ffn_up", "layers.#.fc1"},
    {"ffn_down", "layers.#.fc2"},
    {"output_norm", "final_layer_norm"},
    kLmHead,
};

constexpr FamilyPart kXglmParts[] = {
    {"token_embd", "embed_tokens"},
    {"attn_norm", "layers.#.self_attn_layer_norm"},
    {"attn_q", "layers.#.self_attn.q_proj"},
    {"attn_k", "layers.#.self_attn.k_proj"},
    {"attn_v", "layers.#.self_attn.v_proj"},
    {"attn_output", "layers.#.self_attn.out_proj"},
    {"ffn_norm", "layers.#.final_layer_norm"},
    {"ffn_up", "layers.#.fc1"},
    {"ffn_down", "layers.#.fc2"},
    {"output_norm", "layer_norm"},
    kLmHead,
};

constexpr int64_t kRowsOfPadding = 2;  // of fairseq's position tables, before the first position's

void read_opt(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  read_d_ff(settings, model);
  model.activation = settings.activation({"activation_function"}, "relu");
  set_scale(model);
  const bool before = settings.flag("do_layer_norm_before", true);
  model.norm_place = before ? NormPlace::pre : NormPlace::post;
  model.final_norm = before && !settings.flag("_remove_final_layer_norm", false);
  const int64_t width = settings.size({"word_embed_proj_dim"}, model.d_model);
  if (width != model.d_model) model.d_embedding = width;
  facts.set_biases(settings.flag("enable_bias", true));
  facts.norm_weights = settings.flag("layer_norm_elementwise_affine", true);
  facts.norm_bias = facts.norm_weights ? Bias::yes : Bias::no;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, 2, 2);
  facts.position = "learned:offset=" + std::to_string(kRowsOfPadding);
  facts.position_rows = model.max_seq_len + kRowsOfPadding;
}

void read_xglm(Settings& settings, FamilyFacts& facts) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, 2048);
  read_d_ff(settings, model);
  model.activation = settings.activation({"activation_function"}, "gelu");
  set_scale(model);
  facts.set_biases(true);
  facts.norm_bias = Bias::yes;
  if (settings.flag("scale_embedding", true))
    model.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(model.d_model)));
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, 0, 2);
  facts.position = "sinusoidal:layout=concat,spacing=t2t,first=" + std::to_string(kRowsOfPadding);
}

constexpr Family kOptFamilies[] = {
    {"opt", "OPT", kOptParts, read_opt},
    {"xglm", "XGLM", kXglmParts, read_xglm},
};

}  // namespace

std::span<const Family> opt_families() { return kOptFamilies; }

}  // namespace ordinal::convert
