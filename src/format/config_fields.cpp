// config_fields.cpp: a ModelConfig as JSON, and the checks on its values.
#include "format/config_fields.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "format/json_reader.h"
#include "format/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Names = std::span<const std::string_view>;

std::string join(Names names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

template <class Enum>
std::string name_of(Enum value, Names names) {
  return json_string(names[static_cast<size_t>(value)]);
}

template <class Enum>
void read_enum(JsonReader& reader, std::string_view key, Names names, Enum& value) {
  const std::string name = reader.string(key);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) reader.fail(std::string(key) + " has an unknown value", join(names), quoted(name));
  value = static_cast<Enum>(found - names.begin());
}

template <class Enum>
void check_enum(std::string_view key, Enum value, Names names) {
  if (static_cast<size_t>(value) >= names.size())
    throw Error("the model's " + std::string(key) + " has no name", join(names),
                "value " + std::to_string(static_cast<size_t>(value)));
}

void check_finite(const std::string& key, float value) {
  if (!std::isfinite(value))
    throw Error("the model's " + key + " is not a number", "a finite number", std::to_string(value));
}

}  // namespace

std::string config_json(const ModelConfig& config) {
  std::string out = "{";
  const auto add = [&](std::string_view key, const std::string& value) {
    out += (out.size() == 1 ? "" : ",") + json_string(key) + ":" + value;
  };
  const auto list = [](const auto& values, const auto& text) {
    std::string items;
    for (const auto& value : values) items += (items.empty() ? "" : ",") + text(value);
    return "[" + items + "]";
  };
  const auto boolean = [](bool value) { return std::string(value ? "true" : "false"); };
  for (const ConfigSize& size : kConfigSizes) add(size.key, std::to_string(config.*size.field));
  add("norm", name_of(config.norm, kNormKinds));
  add("norm_place", name_of(config.norm_place, kNormPlaces));
  add("norm_epsilon", json_number(config.norm_epsilon));
  add("activation", name_of(config.activation, kActivations));
  add("gated_mlp", boolean(config.gated_mlp));
  add("tied_output", boolean(config.tied_output));
  add("embedding_scale", json_number(config.embedding_scale));
  add("attention_scale", list(config.attention_scale, json_number));
  add("bos_id", std::to_string(config.bos_id));
  add("eos_ids", list(config.eos_ids, [](TokenId id) { return std::to_string(id); }));
  return out + "}";
}

ModelConfig read_config(JsonReader& reader) {
  ModelConfig config;
  const auto id = [&](std::string_view key) {
    const int64_t value = reader.integer(key);
    if (value < INT32_MIN || value > INT32_MAX) reader.fail(key, "ids of 32 bits", std::to_string(value));
    return static_cast<TokenId>(value);
  };
  const auto size = [&](size_t i) {
    return JsonMember{kConfigSizes[i].key,
                      [&, i] { config.*kConfigSizes[i].field = reader.integer(kConfigSizes[i].key); }};
  };
  static_assert(kConfigSizes.size() == 8);
  // A fact that is added later gets `required = false` here and is written only where it differs from its default:
  // then old files stay readable, and old programs refuse exactly the files they would get wrong.
  reader.object("config",
                {size(0),
                 size(1),
                 size(2),
                 size(3),
                 size(4),
                 size(5),
                 size(6),
                 size(7),
                 {"norm", [&] { read_enum(reader, "norm", kNormKinds, config.norm); }},
                 {"norm_place", [&] { read_enum(reader, "norm_place", kNormPlaces, config.norm_place); }},
                 {"norm_epsilon", [&] { config.norm_epsilon = reader.number("norm_epsilon"); }},
                 {"activation", [&] { read_enum(reader, "activation", kActivations, config.activation); }},
                 {"gated_mlp", [&] { config.gated_mlp = reader.boolean("gated_mlp"); }},
                 {"tied_output", [&] { config.tied_output = reader.boolean("tied_output"); }},
                 {"embedding_scale", [&] { config.embedding_scale = reader.number("embedding_scale"); }},
                 {"attention_scale",
                  [&] {
                    reader.array("attention_scale",
                                 [&] { config.attention_scale.push_back(reader.number("attention_scale")); });
                  }},
                 {"bos_id", [&] { config.bos_id = id("bos_id"); }},
                 {"eos_ids", [&] { reader.array("eos_ids", [&] { config.eos_ids.push_back(id("eos_ids")); }); }}});
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
  if (norm_epsilon < 0) throw Error("the model's norm_epsilon is negative", "0 or more", json_number(norm_epsilon));
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
