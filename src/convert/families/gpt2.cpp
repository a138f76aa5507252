// gpt2.cpp: GPT-2 and what is built like it: GPT-1, GPT-BigCode.
#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "convert/families/families.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kGpt2Parts[] = {
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"attn_norm", "h.#.ln_1"},
    {.part = "attn_q", .name = "h.#.attn.c_attn", .share = q_of_qkv, .turned = true},
    {.part = "attn_k", .name = "h.#.attn.c_attn", .share = k_of_qkv, .turned = true},
    {.part = "attn_v", .name = "h.#.attn.c_attn", .share = v_of_qkv, .turned = true},
    {.part = "attn_output", .name = "h.#.attn.c_proj", .turned = true},
    {"ffn_norm", "h.#.ln_2"},
    {.part = "ffn_up", .name = "h.#.mlp.c_fc", .turned = true},
    {.part = "ffn_down", .name = "h.#.mlp.c_proj", .turned = true},
    {"output_norm", "ln_f"},
    kLmHead,
};

constexpr FamilyPart kGpt1Parts[] = {
    {"token_embd", "tokens_embed"},
    {"position_embd", "positions_embed"},
    {"attn_norm", "h.#.ln_1"},
    {.part = "attn_q", .name = "h.#.attn.c_attn", .share = q_of_qkv, .turned = true},
    {.part = "attn_k", .name = "h.#.attn.c_attn", .share = k_of_qkv, .turned = true},
    {.part = "attn_v", .name = "h.#.attn.c_attn", .share = v_of_qkv, .turned = true},
    {.part = "attn_output", .name = "h.#.attn.c_proj", .turned = true},
    {"ffn_norm", "h.#.ln_2"},
    {.part = "ffn_up", .name = "h.#.mlp.c_fc", .turned = true},
    {.part = "ffn_down", .name = "h.#.mlp.c_proj", .turned = true},
    kLmHead,
};

// The names of GPT-2 over plain matrices, with q, k and v together head by head, or one key and value for all heads.
constexpr FamilyPart kBigCodeParts[] = {
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"attn_norm", "h.#.ln_1"},
    {"attn_q", "h.#.attn.c_attn", q_of_groups},
    {"attn_k", "h.#.attn.c_attn", k_of_groups},
    {"attn_v", "h.#.attn.c_attn", v_of_groups},
    {"attn_output", "h.#.attn.c_proj"},
    {"ffn_norm", "h.#.ln_2"},
    {"ffn_up", "h.#.mlp.c_fc"},
    {"ffn_down", "h.#.mlp.c_proj"},
    {"output_norm", "ln_f"},
    kLmHead,
};

void read_gpt2(Settings& settings, FamilyFacts& facts) {
  read_gpt(settings, facts);
  ModelConfig& model = facts.model;
  facts.head_bias = Bias::if_there;
  // n_ctx, an old name of the mask's size, decides nothing: the position table does.
  if (const Json* ctx = settings.take("n_ctx"); ctx != nullptr && ctx->raw() != std::to_string(model.max_seq_len))
    say(settings.note(), settings.what("n_ctx") + " is " + shown(*ctx) + "; the length is n_positions, " +
                             std::to_string(model.max_seq_len));
  const bool by_head = settings.flag("scale_attn_weights", true);
  const bool by_layer = settings.flag("scale_attn_by_inverse_layer_idx", false);
  for (int64_t layer = 0; layer < model.n_layers; ++layer) {
    const double scale = by_head ? 1.0 / std::sqrt(static_cast<double>(model.head_dim)) : 1.0;
    model.attention_scale[static_cast<size_t>(layer)] =
        static_cast<float>(by_layer ? scale / static_cast<double>(layer + 1) : scale);
  }
}

void read_gpt1(Settings& settings, FamilyFacts& facts) {
  settings.pass_over({"n_ctx", "predict_special_tokens"});
  read_sizes(settings, facts.model);
  ModelConfig& model = facts.model;
  read_length(settings, model, 512);
  model.d_ff = 4 * model.d_model;
  read_epsilon(settings, model);
  // Here "gelu" is the form by tanh.
  const std::string activation = settings.word("afn", "gelu");
  constexpr std::string_view kKnown[] = {"gelu", "relu", "silu", "swish"};
  constexpr Activation kMeant[] = {Activation::gelu_tanh, Activation::relu, Activation::silu, Activation::silu};
  const auto* found = std::ranges::find(kKnown, activation);
  if (found == std::end(kKnown))
    throw Error(settings.what("afn") + " names an activation the engine does not have", joined(kKnown),
                in_quotes(activation));
  model.activation = kMeant[found - kKnown];
  set_scale(model);
  model.norm_place = NormPlace::post;
  model.final_norm = false;
  facts.set_biases(true);
  facts.norm_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, -1, -1);
  set_learned(facts);
}

void read_bigcode(Settings& settings, FamilyFacts& facts) {
  read_gpt(settings, facts, {.activation = "gelu_pytorch_tanh"});
  if (!settings.flag("scale_attn_weights", true)) set_scale(facts.model, 1.0);
  if (settings.flag("multi_query", true)) facts.model.n_kv_heads = 1;
}

constexpr Family kGpt2Families[] = {
    {"gpt2", "GPT-2", kGpt2Parts, read_gpt2},
    {"openai-gpt", "GPT-1", kGpt1Parts, read_gpt1},
    {"gpt_bigcode", "GPT-BigCode", kBigCodeParts, read_bigcode},
};

}  // namespace

std::span<const Family> gpt2_families() { return kGpt2Families; }

}  // namespace ordinal::convert
