// config_fields.cpp: a ModelConfig as JSON, and the checks on its values.
#include "format/config_fields.h"

#include <cmath>
#include <span>

#include "base/json.h"
#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Names = std::span<const std::string_view>;

template <class Enum>
void check_enum(std::string_view key, Enum value, Names names) {
  if (static_cast<size_t>(value) >= names.size())
    throw Error("the model's " + std::string(key) + " has no name", joined(names),
                "value " + std::to_string(static_cast<size_t>(value)));
}

void check_finite(const std::string& key, float value) {
  if (!std::isfinite(value))
    throw Error("the model's " + key + " is not a number", "a finite number", std::to_string(value));
}

}  // namespace

void write_config(JsonWriter& json, const ModelConfig& config) {
  const auto add_word = [&](std::string_view key, auto value, Names names) {
    json.add(key, names[static_cast<size_t>(value)]);
  };
  json.begin_object();
  for (const ConfigSize& size : kConfigSizes) json.add(size.key, config.*size.field);
  add_word("norm", config.norm, kNormKinds);
  add_word("norm_place", config.norm_place, kNormPlaces);
  json.add("norm_epsilon", config.norm_epsilon);
  add_word("activation", config.activation, kActivations);
  json.add("gated_mlp", config.gated_mlp);
  json.add("tied_output", config.tied_output);
  json.add("embedding_scale", config.embedding_scale);
  json.add("attention_scale", config.attention_scale);
  json.add("bos_id", config.bos_id);
  json.add("eos_ids", config.eos_ids);
  json.end_object();
}

std::string config_json(const ModelConfig& config) {
  JsonWriter json;
  write_config(json, config);
  return json.take();
}

ModelConfig read_config(const Json& json) {
  // A fact that is added later is optional here and is written only where it differs from its default: then old files
  // stay readable, and old programs refuse exactly the files they would get wrong.
  std::vector<std::string_view> keys = {"norm",        "norm_place",      "norm_epsilon",    "activation", "gated_mlp",
                                        "tied_output", "embedding_scale", "attention_scale", "bos_id",     "eos_ids"};
  for (size_t i = 0; i < kConfigSizes.size(); ++i)
    keys.insert(keys.begin() + static_cast<ptrdiff_t>(i), kConfigSizes[i].key);
  check_members(json, "config", keys);

  ModelConfig config;
  const auto at = [&](std::string_view key) -> const Json& { return member(json, key); };
  for (const ConfigSize& size : kConfigSizes) config.*size.field = whole_number(at(size.key), std::string(size.key));
  config.norm = static_cast<NormKind>(one_of(kNormKinds, at("norm"), "norm"));
  config.norm_place = static_cast<NormPlace>(one_of(kNormPlaces, at("norm_place"), "norm_place"));
  config.norm_epsilon = number_f32(at("norm_epsilon"), "norm_epsilon");
  config.activation = static_cast<Activation>(one_of(kActivations, at("activation"), "activation"));
  config.gated_mlp = boolean(at("gated_mlp"), "gated_mlp");
  config.tied_output = boolean(at("tied_output"), "tied_output");
  config.embedding_scale = number_f32(at("embedding_scale"), "embedding_scale");
  for (const Json& scale : array(at("attention_scale"), "attention_scale"))
    config.attention_scale.push_back(number_f32(scale, "attention_scale"));
  config.bos_id = whole_number_32(at("bos_id"), "bos_id");
  for (const Json& id : array(at("eos_ids"), "eos_ids")) config.eos_ids.push_back(whole_number_32(id, "eos_ids"));
  return config;
}

void ModelConfig::validate() const {
  for (const ConfigSize& size : kConfigSizes)
    if (const int64_t value = this->*size.field; value < 1 || value > kMaxConfigSize)
      throw Error("the model's " + std::string(size.key) + " is out of range", "1 to " + std::to_string(kMaxConfigSize),
                  std::to_string(value));
  if (n_kv_heads > n_heads || n_heads % n_kv_heads != 0)
    throw Error("the model's n_heads and n_kv_heads do not fit each other", "n_kv_heads divides n_heads",
                std::to_string(n_heads) + " and " + std::to_string(n_kv_heads));
  if (n_heads * head_dim > kMaxConfigSize)
    throw Error("the model's heads are too wide", "n_heads * head_dim up to " + std::to_string(kMaxConfigSize),
                std::to_string(n_heads) + " * " + std::to_string(head_dim));

  check_enum("norm", norm, kNormKinds);
  check_enum("norm_place", norm_place, kNormPlaces);
  check_enum("activation", activation, kActivations);

  check_finite("norm_epsilon", norm_epsilon);
  if (norm_epsilon < 0) throw Error("the model's norm_epsilon is negative", "0 or more", shortest(norm_epsilon));
  check_finite("embedding_scale", embedding_scale);
  if (static_cast<int64_t>(attention_scale.size()) != n_layers)
    throw Error("the model's attention_scale does not fit its n_layers", std::to_string(n_layers) + " numbers",
                std::to_string(attention_scale.size()));
  for (const float scale : attention_scale) check_finite("attention_scale", scale);

  const auto check_id = [&](const char* key, TokenId id, TokenId lowest) {
    if (id < lowest || id >= vocab_size)
      throw Error("the model's " + std::string(key) + " is not in its vocabulary",
                  std::to_string(lowest) + " to " + std::to_string(vocab_size - 1), std::to_string(id));
  };
  check_id("bos_id", bos_id, -1);
  for (const TokenId id : eos_ids) check_id("eos_ids", id, 0);
}

}  // namespace ordinal
