// config_fields.cpp: a ModelConfig as JSON, and the checks on its values.
#include "format/config_fields.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "base/json.h"
#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Names = std::span<const std::string_view>;

Names names_of(NormKind) { return kNormKinds; }
Names names_of(NormPlace) { return kNormPlaces; }
Names names_of(Residual) { return kResiduals; }
Names names_of(QkNorm) { return kQkNorms; }
Names names_of(Activation) { return kActivations; }

template <class T>
concept Enum = std::is_enum_v<T>;

template <class T>
void write(JsonWriter& json, const T& value) {
  if constexpr (Enum<T>)
    json.value(names_of(value)[static_cast<size_t>(value)]);
  else
    json.value(value);
}

void read(const Json& json, const std::string& key, int64_t& value) { value = whole_number(json, key); }
void read(const Json& json, const std::string& key, TokenId& value) { value = whole_number_32(json, key); }
void read(const Json& json, const std::string& key, float& value) { value = number_f32(json, key); }
void read(const Json& json, const std::string& key, bool& value) { value = boolean(json, key); }
void read(const Json& json, const std::string& key, Enum auto& value) {
  value = static_cast<std::remove_reference_t<decltype(value)>>(one_of(names_of(value), json, key));
}
template <class T>
void read(const Json& json, const std::string& key, std::vector<T>& values) {
  for (const Json& item : array(json, key)) read(item, key, values.emplace_back());
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
      throw Error(key_ + " is out of range", shortest(static_cast<float>(lowest_)) + " or more", shortest(value));
  }
  void operator()(Enum auto value) const {
    if (static_cast<size_t>(value) >= names_of(value).size())
      throw Error(key_ + " has no name", joined(names_of(value)),
                  "value " + std::to_string(static_cast<size_t>(value)));
  }
  void operator()(const std::vector<TokenId>& ids) const { std::ranges::for_each(ids, *this); }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    const bool may_be_absent = std::is_same_v<T, int64_t>;
    if (static_cast<int64_t>(values.size()) != config_.n_layers && !(may_be_absent && values.empty()))
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

void write_config(JsonWriter& json, const ModelConfig& config) {
  const auto is_default = [&](auto member) { return config.*member == ModelConfig{}.*member; };
  json.begin_object();
  for (const ConfigField& field : kConfigFields) {
    if (field.stated == Stated::unless_default && std::visit(is_default, field.member)) continue;
    json.key(field.key);
    std::visit([&](auto member) { write(json, config.*member); }, field.member);
  }
  json.end_object();
}

std::string config_json(const ModelConfig& config) {
  JsonWriter json;
  write_config(json, config);
  return json.take();
}

ModelConfig read_config(const Json& json) {
  std::vector<std::string_view> required, optional;
  for (const ConfigField& field : kConfigFields)
    (field.stated == Stated::always ? required : optional).push_back(field.key);
  check_members(json, "config", required, optional);

  ModelConfig config;
  for (const ConfigField& field : kConfigFields) {
    if (!json.contains(field.key)) continue;
    std::visit([&](auto at) { read(member(json, field.key), std::string(field.key), config.*at); }, field.member);
  }
  return config;
}

void ModelConfig::validate() const {
  for (const ConfigField& field : kConfigFields)
    std::visit([&](auto member) { Check(field, *this)(this->*member); }, field.member);
  if (n_kv_heads > n_heads || n_heads % n_kv_heads != 0)
    throw Error("the model's n_heads and n_kv_heads do not fit each other", "n_kv_heads divides n_heads",
                std::to_string(n_heads) + " and " + std::to_string(n_kv_heads));
  if (residual != Residual::serial && norm_place != NormPlace::pre && norm_place != NormPlace::both)
    throw Error("the model's norm_place does not fit its residual",
                "norm_place: pre or both where sublayers work side by side",
                std::string(kNormPlaces[static_cast<size_t>(norm_place)]));
  if (n_heads * head_dim > kMaxConfigSize)
    throw Error("the model's heads are too wide", "n_heads * head_dim up to " + std::to_string(kMaxConfigSize),
                std::to_string(n_heads) + " * " + std::to_string(head_dim));
}

}  // namespace ordinal
