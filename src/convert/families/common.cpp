// common.cpp: see common.h.
#include "convert/families/common.h"

#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {

void read_sizes(Settings& settings, ModelConfig& model) {
  model.vocab_size = settings.size({"vocab_size"});
  model.d_model = settings.size({"hidden_size", "n_embd", "d_model", "n_embed"});
  model.n_layers = settings.size({"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  model.n_heads = settings.size({"num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads"});
  model.n_kv_heads = model.n_heads;
  model.head_dim = model.d_model / model.n_heads;
}

void read_length(Settings& settings, ModelConfig& model, int64_t otherwise) {
  model.max_seq_len = settings.size({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"}, otherwise);
}

void read_d_ff(Settings& settings, ModelConfig& model) {
  model.d_ff = settings.size({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, 4 * model.d_model);
}

void read_kv_heads(Settings& settings, ModelConfig& model, int64_t otherwise) {
  model.n_kv_heads = settings.size({"num_key_value_heads"}, otherwise == 0 ? model.n_heads : otherwise);
  if (model.n_kv_heads > model.n_heads || model.n_heads % model.n_kv_heads != 0)
    throw Error("the key/value heads of " + settings.document() + " do not fit its heads",
                "num_key_value_heads that divides " + std::to_string(model.n_heads),
                std::to_string(model.n_kv_heads) +
                    (settings.states("num_key_value_heads") ? "" : ", which transformers takes when it is not stated"));
}

void read_head_dim(Settings& settings, ModelConfig& model, int64_t otherwise) {
  const bool is_missing = !settings.states("head_dim");
  model.head_dim =
      settings.size({"head_dim"}, is_missing && otherwise != 0 ? otherwise : model.d_model / model.n_heads);
}

void read_epsilon(Settings& settings, ModelConfig& model, double otherwise) {
  const Settings::Names names = {"layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_epsilon"};
  const double value = settings.positive(names, otherwise);
  if (value > 1)
    throw Error(settings.what(settings.stated_name(names)) + " is out of range", "above 0, at most 1",
                std::to_string(value));
  model.norm_epsilon = static_cast<float>(value);
}

void set_scale(ModelConfig& model) { set_scale(model, 1.0 / std::sqrt(static_cast<double>(model.head_dim))); }

void set_scale(ModelConfig& model, double scale) {
  model.attention_scale.assign(static_cast<size_t>(model.n_layers), static_cast<float>(scale));
}

void read_ids(Settings& settings, ModelConfig& model, TokenId bos, TokenId eos) {
  const auto ids = [&](std::string_view key, TokenId otherwise) {
    std::vector<TokenId> found = settings.ids(key, model.vocab_size);
    if (!settings.states(key) && otherwise >= 0 && otherwise < model.vocab_size) found = {otherwise};
    return found;
  };
  if (const std::vector<TokenId> starts = ids("bos_token_id", bos); !starts.empty()) model.bos_id = starts.front();
  model.eos_ids = ids("eos_token_id", eos);
}

int64_t read_window(Settings& settings, int64_t otherwise) {
  const bool is_missing = !settings.states("sliding_window");
  return settings.size({"sliding_window"}, is_missing ? otherwise : 0);
}

std::vector<bool> read_windowed_layers(Settings& settings, const ModelConfig& model,
                                       const std::function<bool(int64_t layer)>& otherwise) {
  std::vector<bool> windowed;
  const Json* types = settings.take("layer_types");
  const std::string what = settings.what("layer_types");
  if (types == nullptr) {
    for (int64_t layer = 0; layer < model.n_layers; ++layer) windowed.push_back(otherwise(layer));
    return windowed;
  }
  constexpr std::string_view kTypes[] = {"full_attention", "sliding_attention"};
  for (const Json& type : array(*types, what)) windowed.push_back(one_of(kTypes, type, what) == 1);
  if (static_cast<int64_t>(windowed.size()) != model.n_layers)
    throw Error(what + " does not fit the layers", std::to_string(model.n_layers) + " words",
                std::to_string(windowed.size()));
  return windowed;
}

void set_windows(ModelConfig& model, int64_t window, const std::vector<bool>& windowed) {
  model.window.clear();
  if (window == 0 || std::ranges::count(windowed, true) == 0) return;
  for (const bool has_one : windowed) model.window.push_back(has_one ? window : 0);
}

void set_windows(ModelConfig& model, int64_t window) {
  set_windows(model, window, std::vector<bool>(static_cast<size_t>(model.n_layers), true));
}

std::string layer_list(const std::vector<bool>& chosen) {
  std::string list;
  for (size_t layer = 0; layer < chosen.size(); ++layer)
    if (chosen[layer]) list += (list.empty() ? "" : ",") + std::to_string(layer);
  return list;
}

std::string per_layer(const std::string& spec, const std::vector<bool>& chosen, const std::string& other) {
  const std::string list = layer_list(chosen);
  return list.empty() ? spec : spec + ";layers=" + list + ":" + other;
}

void set_learned(FamilyFacts& facts) {
  facts.position = "learned";
  facts.position_rows = facts.model.max_seq_len;
}

void read_gpt(Settings& settings, FamilyFacts& facts, const GptCustoms& customs) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, customs.length);
  read_d_ff(settings, model);
  read_epsilon(settings, model);
  model.activation = settings.activation({"activation_function", "hidden_act"}, customs.activation);
  set_scale(model);
  facts.set_biases(true);
  facts.norm_bias = Bias::yes;
  facts.tie_head = settings.flag("tie_word_embeddings", true);
  read_ids(settings, model, customs.end_of_text, customs.end_of_text);
  set_learned(facts);
}

void read_llama_like(Settings& settings, FamilyFacts& facts, const LlamaCustoms& customs) {
  ModelConfig& model = facts.model;
  read_sizes(settings, model);
  read_length(settings, model, customs.length);
  model.d_ff = settings.size({"intermediate_size"});
  read_kv_heads(settings, model, customs.kv_heads);
  read_head_dim(settings, model, customs.head_dim);
  model.norm = NormKind::rms_norm;
  read_epsilon(settings, model, customs.epsilon);
  model.activation = settings.activation({customs.activation_key}, customs.activation);
  model.gated_mlp = true;
  set_scale(model);
  const Bias attention = settings.flag("attention_bias", false) ? Bias::yes : Bias::no;
  facts.qkv_bias = facts.output_bias = attention;
  facts.mlp_bias = settings.flag("mlp_bias", false) ? Bias::yes : Bias::no;
  facts.tie_head = settings.flag("tie_word_embeddings", customs.tied);
  read_ids(settings, model, customs.bos, customs.eos);
}

}  // namespace ordinal::convert
