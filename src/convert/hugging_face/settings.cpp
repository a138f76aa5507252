// settings.cpp: see settings.h.
#include "convert/hugging_face/settings.h"

#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

// More than any model has; sizes that no tensor backs (a length without a position table) stop here.
constexpr int64_t kMaxSize = int64_t{1} << 24;

// Settings that leave the computed numbers alone: training, other tasks, generation defaults, bookkeeping.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_name_or_path",
                                          "_num_labels",
                                          "architectures",
                                          "attention_softmax_in_fp32",
                                          "attn_implementation",
                                          "auto_map",
                                          "bad_words_ids",
                                          "begin_suppress_tokens",
                                          "cache_implementation",
                                          "chunk_size_feed_forward",
                                          "decoder_start_token_id",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
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
                                          "inference_runner",
                                          "init_config",
                                          "init_device",
                                          "init_std",
                                          "initializer_range",
                                          "is_decoder",
                                          "keys_to_ignore_at_inference",
                                          "label2id",
                                          "layerdrop",
                                          "length_penalty",
                                          "masked_softmax_fusion",
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
                                          "offset_alibi",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_past",
                                          "output_scores",
                                          "pad_token_id",
                                          "pre_seq_len",
                                          "predict_special_tokens",
                                          "prefix",
                                          "pretraining_tp",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "reorder_and_upcast_attn",
                                          "repetition_penalty",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "rotary",
                                          "scale_attention_softmax_in_fp32",
                                          "sep_token_id",
                                          "skip_bias_add",
                                          "skip_bias_add_qkv",
                                          "slow_but_exact",
                                          "summary_activation",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tie_encoder_decoder",
                                          "tokenizer_class",
                                          "tokenizer_name",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers_version",
                                          "typical_p",
                                          "unk_token_id",
                                          "use_bfloat16",
                                          "use_cache",
                                          "validate_runner_input",
                                          "verbose"};

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
constexpr ActivationName kActivationNames[] = {{"gelu_new", Activation::gelu_tanh},
                                               {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                               {"gelu_python_tanh", Activation::gelu_tanh},
                                               {"gelu_fast", Activation::gelu_tanh},
                                               {"gelu_accurate", Activation::gelu_tanh},
                                               {"gelu", Activation::gelu_erf},
                                               {"gelu_python", Activation::gelu_erf},
                                               {"relu", Activation::relu},
                                               {"relu2", Activation::relu_squared},
                                               {"silu", Activation::silu},
                                               {"swish", Activation::silu}};

template <class List, class Item>
bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

bool is_of_training(std::string_view key) {
  return key.find("dropout") != std::string_view::npos || key.ends_with("_pdrop");
}

bool is_off(const Json& value) {
  return value.is_null() || (value.is_boolean() && value.raw() == "false") || (value.is_structured() && value.empty());
}

// The activation by its name. Throws Error when the engine has none of that name.
Activation activation_of(const std::string& name, const std::string& what) {
  for (const ActivationName& known : kActivationNames)
    if (known.name == name) return known.activation;
  throw Error(what + " names an activation the engine does not have",
              joined(kActivationNames, ", ", &ActivationName::name), in_quotes(name));
}

}  // namespace

const Json* Settings::take(Names names) {
  const Json* found = nullptr;
  std::string_view found_as;
  for (const std::string_view key : names) {
    known_.emplace(key);
    const Json* value = find(config_, key);
    if (value == nullptr) continue;
    if (found != nullptr && found->raw() != value->raw())
      throw Error(name_ + " contradicts itself",
                  std::string(found_as) + " and " + std::string(key) + " are two names of one setting",
                  std::string(found_as) + ": " + shown(*found) + ", " + std::string(key) + ": " + shown(*value));
    if (found == nullptr) found = value, found_as = key;
  }
  return found;
}

std::string_view Settings::stated_name(Names names) const {
  const auto* const stated = std::ranges::find_if(names, [&](std::string_view key) { return find(config_, key); });
  return stated == names.end() ? *names.begin() : *stated;
}

int64_t Settings::size(Names names) {
  const Json* value = take(names);
  if (value == nullptr)
    throw Error(name_ + " does not say " + joined(names, " or "), "a whole number", "no such setting");
  return whole_number(*value, what(stated_name(names)), 1, kMaxSize);
}

int64_t Settings::size(Names names, int64_t otherwise) { return take(names) == nullptr ? otherwise : size(names); }

double Settings::number(Names names, double otherwise) {
  const Json* value = take(names);
  return value == nullptr ? otherwise : ordinal::number(*value, what(stated_name(names)));
}

double Settings::positive(Names names, double otherwise) {
  const double value = number(names, otherwise);
  if (!(value > 0 && std::isfinite(value)))
    throw Error(what(stated_name(names)) + " is out of range", "a number above 0", std::to_string(value));
  return value;
}

bool Settings::flag(std::string_view key, bool otherwise) {
  const Json* value = take(key);
  return value == nullptr ? otherwise : boolean(*value, what(key));
}

std::string Settings::word(std::string_view key, std::string_view otherwise) {
  const Json* value = take(key);
  return value == nullptr ? std::string(otherwise) : text(*value, what(key));
}

std::vector<bool> Settings::flags(std::string_view key) {
  std::vector<bool> found;
  if (const Json* value = take(key); value != nullptr)
    for (const Json& item : array(*value, what(key))) found.push_back(whole_number(item, what(key), 0, 1) == 1);
  return found;
}

Activation Settings::activation(Names names, std::string_view otherwise) {
  const Json* value = take(names);
  const std::string key = what(stated_name(names));
  return activation_of(value == nullptr ? std::string(otherwise) : text(*value, key), key);
}

std::vector<TokenId> Settings::ids(std::string_view key, int64_t vocab_size) {
  return ids_of(take(key), what(key), vocab_size, note_);
}

void Settings::must_be(std::string_view key, std::string_view json) {
  const Json* value = take(key);
  if (value != nullptr && value->raw() != json)
    throw Error(what(key) + " asks for something the engine does not do", std::string(json) + ", or not there",
                shown(*value));
}

void Settings::refuse_rest() const {
  for (const auto& [key, value] : config_.items()) {
    if (value.is_null() || known_.contains(key) || contains(kHarmless, key) || is_of_training(key)) continue;
    if (key.starts_with('_') || contains(kDescriptions, key)) {
      say(note_, in_quotes(key) + " in " + name_ + " changes nothing and is left out");
      continue;
    }
    if (contains(kMustBeOff, key)) {
      if (is_off(value)) continue;
      throw Error(key + " in " + name_ + " asks for something the engine does not do", "off, or not there",
                  shown(value));
    }
    throw Error(name_ + " has a setting this importer does not know: " + in_quotes(key),
                "settings of its model_type; an unknown one might change what the model computes",
                in_quotes(key) + ": " + shown(value), "take it out of config.json if it changes nothing");
  }
}

std::vector<TokenId> ids_of(const Json* value, const std::string& what, int64_t vocab_size, const Note& note) {
  std::vector<TokenId> ids;
  const auto add = [&](const Json& id) {
    const int64_t number = whole_number(id, what, INT32_MIN, INT32_MAX);
    if (number >= vocab_size)
      say(note, what + " is " + std::to_string(number) + ", past the vocabulary of " + std::to_string(vocab_size) +
                    ": ignored");
    else if (number >= 0 && std::ranges::count(ids, number) == 0)
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

}  // namespace ordinal::convert
