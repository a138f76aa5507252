// config_fields.cpp: a ModelConfig as JSON, and the checks on its values.
#include "format/config_fields.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "format/json_reader.h"
#include "format/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Names = std::span<const std::string_view>;

Names names_of(NormKind) { return kNormKinds; }
Names names_of(NormPlace) { return kNormPlaces; }
Names names_of(Activation) { return kActivations; }

template <class T>
concept Enum = std::is_enum_v<T>;

std::string join(Names names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

// A value as JSON.
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(TokenId value) { return std::to_string(value); }
std::string text_of(float value) { return json_number(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(Enum auto value) { return json_string(names_of(value)[static_cast<size_t>(value)]); }
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string items;
  for (const T value : values) items += (items.empty() ? "" : ",") + text_of(value);
  return "[" + items + "]";
}

std::string text_of(const ConfigField& field, const ModelConfig& config) {
  return std::visit([&](auto member) { return text_of(config.*member); }, field.member);
}

// And back.
void read(JsonReader& reader, std::string_view key, int64_t& value) { value = reader.integer(key); }
void read(JsonReader& reader, std::string_view key, float& value) { value = reader.number(key); }
void read(JsonReader& reader, std::string_view key, bool& value) { value = reader.boolean(key); }
void read(JsonReader& reader, std::string_view key, TokenId& id) {
  const int64_t value = reader.integer(key);
  if (value < INT32_MIN || value > INT32_MAX) reader.fail(key, "ids of 32 bits", std::to_string(value));
  id = static_cast<TokenId>(value);
}
void read(JsonReader& reader, std::string_view key, Enum auto& value) {
  const Names names = names_of(value);
  const std::string name = reader.string(key);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) reader.fail(std::string(key) + " has an unknown value", join(names), quoted(name));
  value = static_cast<std::remove_reference_t<decltype(value)>>(found - names.begin());
}
template <class T>
void read(JsonReader& reader, std::string_view key, std::vector<T>& values) {
  reader.array(key, [&] { read(reader, key, values.emplace_back()); });
}

// Throws Error unless a value is such as its row of the table allows.
class Check {
 public:
  Check(const ConfigField& field, const ModelConfig& config)
      : key_("the model's " + std::string(field.key)), lowest_(field.lowest), config_(config) {}

  void operator()(int64_t value) const { range(" is out of range", value, kMaxConfigSize); }
  void operator()(TokenId id) const { range(" is not in its vocabulary", id, config_.vocab_size - 1); }
  void operator()(bool) const {}
  void operator()(float value) const {
    if (!std::isfinite(value)) throw Error(key_ + " is not a number", "a finite number", std::to_string(value));
    if (value < lowest_)
      throw Error(key_ + " is out of range", json_number(static_cast<float>(lowest_)) + " or more", json_number(value));
  }
  void operator()(Enum auto value) const {
    if (static_cast<size_t>(value) >= names_of(value).size())
      throw Error(key_ + " has no name", join(names_of(value)), "value " + std::to_string(static_cast<size_t>(value)));
  }
  void operator()(const std::vector<TokenId>& ids) const { std::ranges::for_each(ids, *this); }
  void operator()(const std::vector<float>& values) const {
    if (static_cast<int64_t>(values.size()) != config_.n_layers)
      throw Error(key_ + " does not fit its n_layers", std::to_string(config_.n_layers) + " numbers",
                  std::to_string(values.size()));
    std::ranges::for_each(values, *this);
  }

 private:
  void range(const char* fault, int64_t value, int64_t highest) const {
    const auto lowest = static_cast<int64_t>(lowest_);
    if (value < lowest || value > highest)
      throw Error(key_ + fault, std::to_string(lowest) + " to " + std::to_string(highest), std::to_string(value));
  }

  std::string key_;
  double lowest_;
  const ModelConfig& config_;
};

}  // namespace

std::string config_json(const ModelConfig& config) {
  std::string out;
  for (const ConfigField& field : kConfigFields)
    if (field.stated == Stated::always || text_of(field, config) != text_of(field, ModelConfig{}))
      out += (out.empty() ? "" : ",") + json_string(field.key) + ":" + text_of(field, config);
  return "{" + out + "}";
}

ModelConfig read_config(JsonReader& reader) {
  ModelConfig config;
  std::vector<JsonMember> members;
  for (const ConfigField& field : kConfigFields) {
    const auto read_field = [&] {
      std::visit([&](auto member) { read(reader, field.key, config.*member); }, field.member);
    };
    members.push_back({field.key, read_field, field.stated == Stated::always});
  }
  reader.object("config", members);
  return config;
}

void ModelConfig::validate() const {
  for (const ConfigField& field : kConfigFields)
    std::visit([&](auto member) { Check(field, *this)(this->*member); }, field.member);
  if (n_kv_heads > n_heads || n_heads % n_kv_heads != 0)
    throw Error("the model's n_heads and n_kv_heads do not fit each other", "n_kv_heads divides n_heads",
                std::to_string(n_heads) + " and " + std::to_string(n_kv_heads));
  if (n_heads * head_dim > kMaxConfigSize)
    throw Error("the model's heads are too wide", "n_heads * head_dim up to " + std::to_string(kMaxConfigSize),
                std::to_string(n_heads) + " * " + std::to_string(head_dim));
}

}  // namespace ordinal
