// params.cpp: a scheme's parameters, read one by one from a spec, and what is known of them afterwards.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

std::string whole_text(int64_t low, int64_t high) {
  return "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace

std::string number_text(double value) {
  char buffer[32];
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);  // 500000 rather than 5e+05
  const auto [end, error] = whole ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed)
                                  : std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

const std::string* ParamReader::find(std::string_view key, const std::string& otherwise, std::string allowed) {
  params_.push_back({std::string(key), otherwise, otherwise, std::move(allowed)});
  for (size_t i = 0; i < spec_.params.size(); ++i)
    if (spec_.params[i].first == key) {
      used_[i] = true;
      return &spec_.params[i].second;
    }
  return nullptr;
}

void ParamReader::refuse(std::string_view key, const std::string& value, const std::string& expected) const {
  throw Error(sort_ + " '" + spec_.name + "' cannot use " + std::string(key) + "=" + value, expected, value,
              see_list());
}

void ParamReader::record(std::string text, bool stays) {
  SchemeParam& param = params_.back();
  param.value = std::move(text);
  if (stays || param.value != param.otherwise) stated_.push_back(param.key + "=" + param.value);
}

double ParamReader::parse(std::string_view key, const std::string& text, double low, bool above) const {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < low ||
      (above && value == low))
    refuse(key, text, params_.back().allowed);
  return value;
}

std::string ParamReader::choice(std::string_view key, std::initializer_list<std::string_view> choices) {
  return choice(key, std::span<const std::string_view>(choices.begin(), choices.size()));
}

std::string ParamReader::choice(std::string_view key, std::span<const std::string_view> choices) {
  const std::vector<std::string> names(choices.begin(), choices.end());
  if (const std::string* text = find(key, names.front(), joined(names))) {
    if (std::find(names.begin(), names.end(), *text) == names.end()) refuse(key, *text, joined(names));
    record(*text);
  }
  return params_.back().value;
}

double ParamReader::number(std::string_view key, double otherwise) {
  const std::string* text = find(key, number_text(otherwise), "a number");
  if (text == nullptr) return otherwise;
  const double value = parse(key, *text, std::numeric_limits<double>::lowest(), false);
  record(number_text(value));
  return value;
}

double ParamReader::positive(std::string_view key, double otherwise) {
  const std::string* text = find(key, number_text(otherwise), "a number above 0");
  if (text == nullptr) return otherwise;
  const double value = parse(key, *text, 0, true);
  record(number_text(value));
  return value;
}

double ParamReader::at_least(std::string_view key, double low, std::optional<double> otherwise) {
  const std::string* text =
      find(key, otherwise ? number_text(*otherwise) : "", "a number of " + number_text(low) + " or more");
  if (text == nullptr) return otherwise.value_or(low);  // missing though required: refuse_missing() says so
  const double value = parse(key, *text, low, false);
  record(number_text(value));
  return value;
}

std::optional<double> ParamReader::positive_or_auto(std::string_view key) {
  const std::string* text = find(key, "auto", "auto, or a number above 0");
  if (text == nullptr || *text == "auto") return std::nullopt;
  const double value = parse(key, *text, 0, true);
  record(number_text(value));
  return value;
}

int64_t ParamReader::whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  const std::string* text = find(key, std::to_string(otherwise), whole_text(low, high));
  if (text == nullptr) return otherwise;
  const int64_t value = whole_number(key, *text, low, high);
  record(std::to_string(value));
  return value;
}

int64_t ParamReader::session_whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  const std::string* text = find(key, std::to_string(otherwise), whole_text(low, high));
  if (text == nullptr) return otherwise;
  const int64_t value = whole_number(key, *text, low, high);
  record(std::to_string(value), true);
  return value;
}

std::optional<int64_t> ParamReader::whole_or(std::string_view key, std::string_view absent, int64_t low, int64_t high) {
  const std::string* text = find(key, std::string(absent), std::string(absent) + ", or " + whole_text(low, high));
  if (text == nullptr || *text == absent) return std::nullopt;
  const int64_t value = whole_number(key, *text, low, high);
  record(std::to_string(value));
  return value;
}

int64_t ParamReader::whole_number(std::string_view key, const std::string& text, int64_t low, int64_t high) const {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    refuse(key, text, params_.back().allowed);
  return value;
}

void ParamReader::refuse_unknown() const {
  std::vector<std::string> known;
  for (const SchemeParam& param : params_) known.push_back(param.key);
  for (size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      throw Error(sort_ + " '" + spec_.name + "' has no parameter '" + spec_.params[i].first + "' here",
                  known.empty() ? "no parameters" : joined(known), spec_.params[i].first + "=" + spec_.params[i].second,
                  see_list());
}

void ParamReader::refuse_missing() const {
  for (const SchemeParam& param : params_)
    if (param.value.empty())
      throw Error(sort_ + " '" + spec_.name + "' needs " + param.key + " here", param.key + ": " + param.allowed,
                  "no " + param.key, see_list());
}

SchemeFacts ParamReader::facts() const {
  SchemeFacts facts{.spec = spec_.name, .kind = {}, .params = params_, .remarks = remarks_, .tensors = {}};
  for (size_t i = 0; i < stated_.size(); ++i) facts.spec += (i == 0 ? ":" : ",") + stated_[i];
  return facts;
}

std::string SchemeFacts::param(std::string_view key, std::string_view otherwise) const {
  const auto found = std::ranges::find(params, key, &SchemeParam::key);
  return found == params.end() ? std::string(otherwise) : found->value;
}

}  // namespace ordinal
