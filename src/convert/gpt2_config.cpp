// gpt2_config.cpp: see gpt2_config.h.
#include "convert/gpt2_config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/words.h"
#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

// More than any model has; sizes that no tensor backs (a length without a position table) stop here.
constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr size_t kMostTrained = 256;  // position specs, as a model file holds

// Settings that leave the computed numbers alone: training, other tasks, generation defaults, bookkeeping.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_name_or_path",
                                          "_num_labels",
                                          "architectures",
                                          "attn_implementation",
                                          "attn_pdrop",
                                          "bad_words_ids",
                                          "begin_suppress_tokens",
                                          "chunk_size_feed_forward",
                                          "decoder_start_token_id",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
                                          "embd_pdrop",
                                          "encoder_no_repeat_ngram_size",
                                          "encoder_repetition_penalty",
                                          "epsilon_cutoff",
                                          "eta_cutoff",
                                          "exponential_decay_length_penalty",
                                          "finetuning_task",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "gradient_checkpointing",
                                          "id2label",
                                          "initializer_range",
                                          "is_decoder",
                                          "keys_to_ignore_at_inference",
                                          "label2id",
                                          "length_penalty",
                                          "max_length",
                                          "max_new_tokens",
                                          "min_length",
                                          "min_p",
                                          "model_type",
                                          "n_special",
                                          "name_or_path",
                                          "no_repeat_ngram_size",
                                          "num_beam_groups",
                                          "num_beams",
                                          "num_labels",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_past",
                                          "output_scores",
                                          "pad_token_id",
                                          "predict_special_tokens",
                                          "prefix",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "reorder_and_upcast_attn",
                                          "repetition_penalty",
                                          "resid_pdrop",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "sep_token_id",
                                          "summary_activation",
                                          "summary_first_dropout",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tie_encoder_decoder",
                                          "tokenizer_class",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers_version",
                                          "typical_p",
                                          "use_bfloat16",
                                          "use_cache"};

// What people write into a config to describe a model. transformers keeps such keys and never reads them; neither does
// it read keys that begin with an underscore as settings of a model: they are its own bookkeeping.
constexpr std::string_view kDescriptions[] = {"author",     "authors",   "base_model", "citation",    "created_by",
                                              "dataset",    "datasets",  "date",       "description", "homepage",
                                              "language",   "languages", "license",    "model_name",  "name",
                                              "repository", "tags",      "url",        "version"};

// Settings that are fine while they are off: absent, null, false or empty.
constexpr std::string_view kMustBeOff[] = {"add_cross_attention", "cross_attention_hidden_size", "is_encoder_decoder",
                                           "pruned_heads",        "quantization_config",         "per_layer_config"};

struct ActivationName {
  std::string_view name;
  Activation activation;
};
// What transformers computes for each name; gelu_fast and gelu_accurate only write the tanh form differently.
constexpr ActivationName kActivations[] = {{"gelu_new", Activation::gelu_tanh},
                                           {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                           {"gelu_python_tanh", Activation::gelu_tanh},
                                           {"gelu_fast", Activation::gelu_tanh},
                                           {"gelu_accurate", Activation::gelu_tanh},
                                           {"gelu", Activation::gelu_erf},
                                           {"gelu_python", Activation::gelu_erf},
                                           {"relu", Activation::relu},
                                           {"silu", Activation::silu},
                                           {"swish", Activation::silu}};

template <class List, class Item>
bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

bool is_off(const Json& value) {
  return value.is_null() || (value.is_boolean() && value.raw() == "false") || (value.is_structured() && value.empty());
}

// Hands out settings by name and knows in the end which ones nobody asked for.
class Settings {
 public:
  Settings(const Json& config, const std::string& name) : config_(object(config, name)), name_(name) {}

  // The setting under its name in GPT-2 configs or its newer, general one; nullptr when it is absent or null.
  const Json* take(const std::string& key, const std::string& other_key = "") {
    known_.insert(key);
    const Json* value = find(config_, key);
    if (other_key.empty()) return value;
    known_.insert(other_key);
    const Json* other = find(config_, other_key);
    if (value != nullptr && other != nullptr && value->raw() != other->raw())
      throw Error(name_ + " contradicts itself", key + " and " + other_key + " are two names of one setting",
                  key + ": " + shown(*value) + ", " + other_key + ": " + shown(*other));
    return value != nullptr ? value : other;
  }

  int64_t size(const std::string& key, const std::string& other_key = "") {
    const Json* value = take(key, other_key);
    if (value == nullptr) throw Error(name_ + " does not say " + key, key + ", a whole number", "no such setting");
    return whole_number(*value, what(key), 1, kMaxSize);
  }

  bool flag(const std::string& key, bool otherwise) {
    const Json* value = take(key);
    return value == nullptr ? otherwise : boolean(*value, what(key));
  }

  std::string what(const std::string& key) const { return key + " in " + name_; }
  bool states(const std::string& key) const { return config_.contains(key); }

  void refuse_rest(const Note& note) const {
    for (const auto& [key, value] : config_.items()) {
      if (value.is_null() || known_.contains(key) || contains(kHarmless, key)) continue;
      if (key.starts_with('_') || contains(kDescriptions, key)) {
        say(note, in_quotes(key) + " in " + name_ + " changes nothing and is left out");
        continue;
      }
      if (contains(kMustBeOff, key)) {
        if (is_off(value)) continue;
        throw Error(key + " in " + name_ + " asks for something the engine does not do", "off, or not there",
                    shown(value));
      }
      throw Error(name_ + " has a setting this importer does not know: " + in_quotes(key),
                  "GPT-2's settings; an unknown one might change what the model computes",
                  in_quotes(key) + ": " + shown(value), "take it out of config.json if it changes nothing");
    }
  }

 private:
  const Json& config_;
  const std::string& name_;
  std::set<std::string, std::less<>> known_;
};

// Keys that only GPT-2 and what is built like it have; other families that share them have tensors of other names.
constexpr const char* kGpt2Sizes[] = {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"};

bool names_gpt2(const Json* architectures) {
  if (architectures == nullptr) return true;
  return architectures->is_array() && std::ranges::any_of(*architectures, [](const Json& name) {
           return name.is_string() && text(name, "").starts_with("GPT2");
         });
}

void check_model_type(Settings& settings, const std::string& name, const Note& note) {
  const Json* type = settings.take("model_type");
  if (type != nullptr && *type == "gpt2") return;
  const bool has_sizes = std::ranges::all_of(kGpt2Sizes, [&](const char* key) { return settings.states(key); });
  if (type == nullptr && has_sizes && names_gpt2(settings.take("architectures"))) {
    say(note, name + " does not say its model_type; its settings are GPT-2's, so it is read as one");
    return;
  }
  throw Error("the model in " + name + " is of a kind that cannot be converted yet", "model_type: gpt2",
              type == nullptr ? "no model_type" : "model_type: " + shown(*type));
}

Activation activation_of(const Json* value, const std::string& what) {
  if (value == nullptr) return Activation::gelu_tanh;  // transformers' default, gelu_new
  const std::string& wanted = text(*value, what);
  for (const ActivationName& known : kActivations)
    if (known.name == wanted) return known.activation;
  throw Error(what + " names an activation the engine does not have", joined(kActivations, ", ", &ActivationName::name),
              in_quotes(wanted));
}

// Ids that the vocabulary does not have can never come up, so they are left out with a remark.
std::vector<TokenId> ids_of(const Json* value, const std::string& what, int64_t vocab_size, const Note& note) {
  std::vector<TokenId> ids;
  const auto add = [&](const Json& id) {
    const int64_t number = whole_number(id, what, INT32_MIN, INT32_MAX);
    if (number >= vocab_size)
      say(note, what + " is " + std::to_string(number) + ", past the vocabulary of " + std::to_string(vocab_size) +
                    ": ignored");
    else if (number >= 0 && !contains(ids, number))
      ids.push_back(static_cast<TokenId>(number));
  };
  if (value == nullptr) return ids;
  if (!value->is_array())
    add(*value);
  else if (value->size() > 64)
    throw Error(what + " is a long list", "at most 64 ids", std::to_string(value->size()));
  else
    std::for_each(value->begin(), value->end(), add);
  return ids;
}

}  // namespace

float Gpt2Config::attention_scale(int64_t layer) const {
  const double by_head = scale_by_head_dim ? 1.0 / std::sqrt(static_cast<double>(model.head_dim)) : 1.0;
  return static_cast<float>(scale_by_layer ? by_head / static_cast<double>(layer + 1) : by_head);
}

Gpt2Config read_gpt2_config(const Json& config, const std::string& name, const Note& note) {
  Settings settings(config, name);
  check_model_type(settings, name, note);

  Gpt2Config facts;
  ModelConfig& model = facts.model;
  model.vocab_size = settings.size("vocab_size");
  model.max_seq_len = settings.size("n_positions", "max_position_embeddings");
  model.d_model = settings.size("n_embd", "hidden_size");
  model.n_layers = settings.size("n_layer", "num_hidden_layers");
  model.n_heads = model.n_kv_heads = settings.size("n_head", "num_attention_heads");
  if (model.d_model % model.n_heads != 0)
    throw Error("n_head in " + name + " does not divide n_embd", "a divisor of " + std::to_string(model.d_model),
                std::to_string(model.n_heads));
  model.head_dim = model.d_model / model.n_heads;
  const Json* inner = settings.take("n_inner");
  model.d_ff = inner == nullptr ? 4 * model.d_model : whole_number(*inner, settings.what("n_inner"), 1, kMaxSize);
  // n_ctx, an old name of the mask's size, decides nothing: the position table does.
  if (const Json* ctx = settings.take("n_ctx"); ctx != nullptr && ctx->raw() != std::to_string(model.max_seq_len))
    say(note, settings.what("n_ctx") + " is " + shown(*ctx) + "; the length is n_positions, " +
                  std::to_string(model.max_seq_len));

  model.activation =
      activation_of(settings.take("activation_function", "hidden_act"), settings.what("activation_function"));
  if (const Json* epsilon = settings.take("layer_norm_epsilon"); epsilon != nullptr) {
    const double value = number(*epsilon, settings.what("layer_norm_epsilon"));
    model.norm_epsilon = static_cast<float>(value);
    if (!(value > 0 && value <= 1))
      throw Error(settings.what("layer_norm_epsilon") + " is out of range", "above 0, at most 1", shown(*epsilon));
  }
  facts.scale_by_head_dim = settings.flag("scale_attn_weights", true);
  facts.scale_by_layer = settings.flag("scale_attn_by_inverse_layer_idx", false);
  facts.tie_head = settings.flag("tie_word_embeddings", true);

  // GPT-2's own id is the default, as in transformers, wherever the vocabulary has it.
  constexpr TokenId kEndOfText = 50256;
  const auto ids = [&](const std::string& key) {
    const Json* value = settings.take(key);
    if (!settings.states(key) && model.vocab_size > kEndOfText) return std::vector<TokenId>{kEndOfText};
    return ids_of(value, settings.what(key), model.vocab_size, note);
  };
  if (const std::vector<TokenId> bos = ids("bos_token_id"); !bos.empty()) model.bos_id = bos.front();
  model.eos_ids = ids("eos_token_id");

  // tools/train.py writes these keys for models trained under another scheme than GPT-2's, or under several.
  const Json* position = settings.take("ordinal_position");
  facts.position = position == nullptr ? "learned" : text(*position, settings.what("ordinal_position"));
  facts.trained_positions = {facts.position};
  if (const Json* trained = settings.take("ordinal_trained_positions"); trained != nullptr) {
    const std::string what = settings.what("ordinal_trained_positions");
    if (!trained->is_array() || trained->empty() || trained->size() > kMostTrained)
      throw Error(what + " is not a list of position specs", "1 to " + std::to_string(kMostTrained) + " specs",
                  shown(*trained));
    facts.trained_positions.clear();
    for (const Json& spec : *trained) facts.trained_positions.push_back(text(spec, "a spec of " + what));
  }
  settings.refuse_rest(note);
  return facts;
}

void read_generation_config(const Json& generation, const std::string& name, Gpt2Config& facts, const Note& note) {
  const Json* value = find(object(generation, name), "eos_token_id");
  const std::vector<TokenId> ids = ids_of(value, "eos_token_id in " + name, facts.model.vocab_size, note);
  if (ids.empty() || ids == facts.model.eos_ids) return;
  const auto listed = [](const std::vector<TokenId>& list) { return list.empty() ? "nothing" : joined(list); };
  say(note, "texts end at " + listed(ids) + ", as " + name + " says; config.json says " + listed(facts.model.eos_ids));
  facts.model.eos_ids = ids;
}

}  // namespace ordinal::convert
