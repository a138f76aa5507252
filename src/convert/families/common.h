// common.h: what many families say in the same way. D, H, d, F: d_model, n_heads, head_dim, d_ff.
#pragma once

#include "convert/family.h"
#include "convert/hugging_face/rope_settings.h"

namespace ordinal::convert {

// Vocabulary, D, layers, H, with as many key/value heads and d = D / H.
void read_sizes(Settings& settings, ModelConfig& model);
// The trained length, or `otherwise` where the file does not say.
void read_length(Settings& settings, ModelConfig& model, int64_t otherwise);
// F under its usual names; `otherwise`, or 4 D, where the file does not say.
void read_d_ff(Settings& settings, ModelConfig& model);
// num_key_value_heads, or `otherwise` (0: H).
void read_kv_heads(Settings& settings, ModelConfig& model, int64_t otherwise = 0);
// head_dim, `otherwise` where the key is missing (0: D / H); null is D / H.
void read_head_dim(Settings& settings, ModelConfig& model, int64_t otherwise = 0);
void read_epsilon(Settings& settings, ModelConfig& model, double otherwise = 1e-5);
// 1 / sqrt(d) in every layer, or what is given.
void set_scale(ModelConfig& model);
void set_scale(ModelConfig& model, double scale);
// Where a text starts and ends; -1: nothing, where the file does not name it.
void read_ids(Settings& settings, ModelConfig& model, TokenId bos, TokenId eos);

// The window of the layers that have one; 0: none. `otherwise` where the key is missing; null is none.
int64_t read_window(Settings& settings, int64_t otherwise);
// Which layers have a window: layer_types where it is there, else `otherwise`.
std::vector<bool> read_windowed_layers(Settings& settings, const ModelConfig& model,
                                       const std::function<bool(int64_t layer)>& otherwise);
void set_windows(ModelConfig& model, int64_t window, const std::vector<bool>& windowed);
void set_windows(ModelConfig& model, int64_t window);  // in every layer

// "3,7-9" for a position spec; "" when no layer is chosen.
std::string layer_list(const std::vector<bool>& chosen);
// `spec` in all layers, `other` in the chosen ones.
std::string per_layer(const std::string& spec, const std::vector<bool>& chosen, const std::string& other);

// LayerNorm and GELU, serial, biases everywhere, learned positions: what GPT-2 and its kin start from.
struct GptCustoms {
  int64_t length = 1024;
  TokenId end_of_text = 50256;
  std::string_view activation = "gelu_new";
};
void read_gpt(Settings& settings, FamilyFacts& facts, const GptCustoms& customs = {});
// Positions of position_embd.weight, of as many rows as the length.
void set_learned(FamilyFacts& facts);

// RMSNorm, gated MLP, rope, no biases: what Llama and its kin start from.
struct LlamaCustoms {
  int64_t length = 2048;
  int64_t kv_heads = 0, head_dim = 0;  // as in read_kv_heads, read_head_dim
  double epsilon = 1e-6;
  bool tied = false;
  TokenId bos = 1, eos = 2;
  std::string_view activation_key = "hidden_act", activation = "silu";
};
void read_llama_like(Settings& settings, FamilyFacts& facts, const LlamaCustoms& customs = {});

// model.layers.N.self_attn, .mlp and the rest, as Llama and its kin call them; norms differ.
inline constexpr FamilyPart kLlamaEmbd = {"token_embd", "embed_tokens"};
inline constexpr FamilyPart kLlamaQ = {"attn_q", "layers.#.self_attn.q_proj"};
inline constexpr FamilyPart kLlamaK = {"attn_k", "layers.#.self_attn.k_proj"};
inline constexpr FamilyPart kLlamaV = {"attn_v", "layers.#.self_attn.v_proj"};
inline constexpr FamilyPart kLlamaO = {"attn_output", "layers.#.self_attn.o_proj"};
inline constexpr FamilyPart kLlamaGate = {"ffn_gate", "layers.#.mlp.gate_proj"};
inline constexpr FamilyPart kLlamaUp = {"ffn_up", "layers.#.mlp.up_proj"};
inline constexpr FamilyPart kLlamaDown = {"ffn_down", "layers.#.mlp.down_proj"};
inline constexpr FamilyPart kLlamaAttnNorm = {"attn_norm", "layers.#.input_layernorm"};
inline constexpr FamilyPart kLlamaFfnNorm = {"ffn_norm", "layers.#.post_attention_layernorm"};
inline constexpr FamilyPart kLlamaNorm = {"output_norm", "norm"};
inline constexpr FamilyPart kLmHead = {"output", "lm_head"};

}  // namespace ordinal::convert
