// rope_settings.cpp: see rope_settings.h.
#include "convert/hugging_face/rope_settings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/words.h"
#include "ordinal/error.h"
#include "position/scheme.h"

namespace ordinal::convert {
namespace {

// One place in which rope is described: an object of config.json, whose members are known one by one.
class RopeObject {
 public:
  RopeObject(const Json* values, std::string what) : values_(values), what_(std::move(what)) {}

  std::optional<double> number(const std::string& key) {
    known_.insert(key);
    const Json* value = values_ == nullptr ? nullptr : find(*values_, key);
    if (value == nullptr) return std::nullopt;
    const double found = ordinal::number(*value, key + " of " + what_);
    if (!(found > 0 && std::isfinite(found)))
      throw Error(key + " of " + what_ + " is out of range", "a number above 0", shown(*value));
    return found;
  }

  std::string type() {
    known_.insert({"rope_type", "type"});
    for (const char* key : {"rope_type", "type"})
      if (const Json* value = values_ == nullptr ? nullptr : find(*values_, key); value != nullptr)
        return text(*value, std::string(key) + " of " + what_);
    return "default";
  }

  std::optional<bool> flag(const std::string& key) {
    known_.insert(key);
    const Json* value = values_ == nullptr ? nullptr : find(*values_, key);
    return value == nullptr ? std::nullopt : std::optional(boolean(*value, key + " of " + what_));
  }

  std::vector<float> list(const std::string& key, int64_t count) {
    known_.insert(key);
    const Json* value = values_ == nullptr ? nullptr : find(*values_, key);
    if (value == nullptr || !value->is_array() || static_cast<int64_t>(value->size()) != count)
      throw Error(what_ + " lacks numbers for its scaling", key + ", " + std::to_string(count) + " numbers",
                  value == nullptr ? "no " + key : shown(*value));
    std::vector<float> numbers;
    for (const Json& item : *value) numbers.push_back(number_f32(item, key + " of " + what_));
    return numbers;
  }

  void refuse_rest() const {
    if (values_ == nullptr) return;
    for (const auto& [key, value] : values_->items())
      if (!value.is_null() && !known_.contains(key))
        throw Error(what_ + " has a setting this importer does not know: " + in_quotes(key),
                    "settings of its rope_type; an unknown one might change what the model computes",
                    in_quotes(key) + ": " + shown(value));
  }

 private:
  const Json* values_;
  std::string what_;
  std::set<std::string, std::less<>> known_;
};

// Text of a spec's parameters that differ from their defaults.
class SpecText {
 public:
  void add(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? ":" : ",") + std::string(key) + "=" + value;
  }
  void add(std::string_view key, const std::optional<double>& value) {
    if (value) add(key, number_text(*value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Scaled {
  RopeObject& from;
  SpecText& spec;
  Settings& settings;
  FamilyFacts& facts;
  int64_t pairs;

  double max_length() const { return static_cast<double>(facts.model.max_seq_len); }
  // The length that the angles were trained at: stated at the top or beside the scaling.
  std::optional<double> original_length() const {
    const std::optional<double> beside = from.number("original_max_position_embeddings");
    const double at_top = settings.number({"original_max_position_embeddings"}, 0);
    return at_top > 0 ? at_top : beside;
  }
};

void scale_linear(const Scaled& s) { s.spec.add("factor", s.from.number("factor")); }

void scale_dynamic(const Scaled& s) {
  s.spec.add("factor", s.from.number("factor"));
  s.from.number("original_max_position_embeddings");  // transformers does not look at it here
  s.spec.add("original_length", s.max_length());
}

void scale_yarn(const Scaled& s) {
  const double length = s.original_length().value_or(s.max_length());
  s.spec.add("factor", s.from.number("factor").value_or(s.max_length() / length));
  s.spec.add("original_length", length);
  for (const char* key : {"beta_fast", "beta_slow"}) s.spec.add(key, s.from.number(key));
  if (!s.from.flag("truncate").value_or(true)) s.spec.add("truncate", "false");
  const auto stated = s.from.number("attention_factor"), mscale = s.from.number("mscale"),
             all_dim = s.from.number("mscale_all_dim");
  s.spec.add("attention_factor", stated);
  if (!stated && mscale && all_dim) {
    s.spec.add("mscale", mscale);
    s.spec.add("mscale_all_dim", all_dim);
  }
}

void scale_llama3(const Scaled& s) {
  s.spec.add("factor", s.from.number("factor"));
  s.spec.add("original_length", s.original_length().value_or(s.max_length()));
  for (const char* key : {"low_freq_factor", "high_freq_factor"}) s.spec.add(key, s.from.number(key));
}

void scale_longrope(const Scaled& s) {
  const double length = s.original_length().value_or(4096);  // what Phi-3 does when it says nothing
  s.spec.add("factor", s.from.number("factor").value_or(s.max_length() / length));
  s.spec.add("original_length", length);
  s.spec.add("attention_factor", s.from.number("attention_factor"));
  s.facts.tables.push_back({"rope_factors_short.weight", s.from.list("short_factor", s.pairs)});
  s.facts.tables.push_back({"rope_factors_long.weight", s.from.list("long_factor", s.pairs)});
  say(s.settings.note(), "trained for " + std::to_string(s.facts.model.max_seq_len) +
                             " tokens with longrope; opened for " + std::to_string(static_cast<int64_t>(length)) +
                             ", below which the short factors hold: a larger --ctx takes the long ones");
  s.facts.model.max_seq_len = static_cast<int64_t>(length);
}

struct ScalingName {
  std::string_view type, spec;
  void (*read)(const Scaled&);
};
constexpr ScalingName kScalingNames[] = {
    {"linear", "linear", scale_linear}, {"dynamic", "dynamic", scale_dynamic},    {"yarn", "yarn", scale_yarn},
    {"llama3", "llama3", scale_llama3}, {"longrope", "longrope", scale_longrope}, {"su", "longrope", scale_longrope},
};

// One value of two places that may both speak.
double agreed(std::optional<double> a, std::optional<double> b, double otherwise, const std::string& what) {
  if (a && b && *a != *b)
    throw Error(what + " is stated twice and differs", "the same in rope_parameters and beside it",
                number_text(*a) + " and " + number_text(*b));
  return a ? *a : b.value_or(otherwise);
}

}  // namespace

std::string read_rope(Settings& settings, FamilyFacts& facts, const RopeCustoms& customs) {
  settings.pass_over({"original_max_position_embeddings"});  // which only some scalings read
  const Json* parameters = settings.take("rope_parameters");
  if (parameters != nullptr) object(*parameters, settings.what("rope_parameters"));
  if (parameters != nullptr && !customs.layer_type.empty() && parameters->contains(customs.layer_type))
    parameters = find(*parameters, customs.layer_type);
  const Json* before = settings.take("rope_scaling");
  if (before != nullptr) object(*before, settings.what("rope_scaling"));
  RopeObject now(parameters, settings.what("rope_parameters")), old(before, settings.what("rope_scaling"));

  const auto at_top = [&](std::string_view key) -> std::optional<double> {
    const double value = key.empty() ? 0 : settings.number({key}, 0);
    return value > 0 ? std::optional(value) : std::nullopt;
  };
  const std::optional<double> stated = now.number("rope_theta"), top = at_top(customs.theta_key);
  if (customs.must_state_theta && !stated && !top)
    throw Error(settings.document() + " does not say rope_theta, and versions of transformers differ in what they take",
                "rope_theta, or rope_parameters", "neither", "add the value that the model was trained with");
  const double theta = agreed(stated, top, customs.theta, settings.what("rope_theta"));
  const double partial = agreed(now.number("partial_rotary_factor"), at_top(customs.partial_key), customs.partial,
                                settings.what(customs.partial_key));
  if (partial > 1)
    throw Error(settings.what(customs.partial_key) + " is out of range", "at most 1", number_text(partial));
  const auto rotary_dim = static_cast<int64_t>(static_cast<double>(facts.model.head_dim) * partial);

  SpecText spec;
  spec.add("theta", theta);
  if (customs.interleaved) spec.add("pairing", "interleaved");
  if (rotary_dim != facts.model.head_dim) spec.add("rotary_dim", std::to_string(rotary_dim));
  RopeObject& from = now.type() != "default" || before == nullptr || !customs.takes_scaling ? now : old;
  const std::string said = from.type(), type = said == "yarn" && customs.yarn_is_longrope ? "longrope" : said;
  if (&from == &now && said != "default" && before != nullptr && customs.takes_scaling && old.type() != said)
    throw Error(settings.document() + " states rope's scaling twice and differently", "one of the two",
                "rope_parameters: " + type + ", rope_scaling: " + old.type());
  if (type != "default") {
    const auto* known = std::ranges::find(kScalingNames, std::string_view(type), &ScalingName::type);
    if (known == std::end(kScalingNames))
      throw Error(settings.document() + " asks for a scaling of rope that the engine does not have",
                  joined(kScalingNames, ", ", &ScalingName::type), in_quotes(type));
    spec.add("scaling", std::string(known->spec));
    known->read({from, spec, settings, facts, rotary_dim / 2});
  }
  from.refuse_rest();
  return "rope" + spec.text();
}

}  // namespace ordinal::convert
