// schemes.cpp: the list of schemes, specs, and what all schemes share.
#include "position/scheme.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ordinal {

void PositionScheme::add_to_embedding(Positions, Rows) const {}
void PositionScheme::transform_query_key(int64_t, Positions, Rows, Rows) const {}
void PositionScheme::add_to_scores(const AttentionSite&, std::span<const float>, std::span<float>) const {}
void PositionScheme::add_to_values(const AttentionSite&, std::span<const float>, std::span<float>) const {}

namespace {

using Maker = SchemePtr (*)(ParamReader&, const AttentionShape&, const TensorLookup&);

constexpr SchemeInfo kSchemes[] = {
#define SCHEME(name, kind, summary) {#name, #kind, summary},
#include "position/schemes.def"
#undef SCHEME
};
constexpr Maker kMakers[] = {
#define SCHEME(name, kind, summary) make_##name,
#include "position/schemes.def"
#undef SCHEME
};

std::string join(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

}  // namespace

std::span<const SchemeInfo> position_schemes() { return kSchemes; }

PositionSpec parse_position_spec(std::string_view text) {
  const auto malformed = [&](const std::string& found) {
    return Error("'" + std::string(text) + "' is not a position spec", "name or name:key=value,key=value", found,
                 "rope:theta=10000,pairing=half (`ordinal positions list` shows every scheme)");
  };
  PositionSpec spec;
  const size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (!is_word(spec.name)) throw malformed("the name '" + spec.name + "'");
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view pair = rest.substr(0, comma);
    if (more) rest.remove_prefix(comma + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !is_word(pair.substr(0, equals)) || equals + 1 == pair.size())
      throw malformed("'" + std::string(pair) + "' where key=value should be");
    std::string key(pair.substr(0, equals));
    for (const auto& [other, value] : spec.params)
      if (other == key) throw malformed("the key '" + key + "' twice");
    spec.params.emplace_back(std::move(key), pair.substr(equals + 1));
  }
  return spec;
}

std::shared_ptr<const PositionScheme> make_position_scheme(std::string_view text, const AttentionShape& shape,
                                                           const TensorLookup& lookup) {
  ParamReader params(parse_position_spec(text));
  for (size_t i = 0; i < std::size(kSchemes); ++i) {
    if (kSchemes[i].name != params.scheme()) continue;
    std::shared_ptr<PositionScheme> scheme = kMakers[i](params, shape, lookup);
    params.finish();
    scheme->spec_ = params.canonical();
    return scheme;
  }
  std::vector<std::string> names;
  for (const SchemeInfo& info : kSchemes) names.emplace_back(info.name);
  throw Error("there is no position scheme '" + params.scheme() + "'", join(names), std::string(text),
              "`ordinal positions list` shows every scheme with its parameters");
}

const std::string* ParamReader::find(std::string_view key) {
  known_.emplace_back(key);
  for (size_t i = 0; i < spec_.params.size(); ++i)
    if (spec_.params[i].first == key) {
      used_[i] = true;
      return &spec_.params[i].second;
    }
  return nullptr;
}

void ParamReader::refuse(std::string_view key, const std::string& value, const std::string& expected) const {
  throw Error("position scheme '" + spec_.name + "' cannot use " + std::string(key) + "=" + value, expected, value,
              "`ordinal positions list` shows every scheme with its parameters");
}

void ParamReader::record(std::string_view key, std::string text, bool is_default) {
  if (!is_default) stated_.push_back(std::string(key) + "=" + std::move(text));
}

std::string ParamReader::choice(std::string_view key, std::initializer_list<std::string_view> choices) {
  const std::string* value = find(key);
  if (value == nullptr) return std::string(*choices.begin());
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    const std::vector<std::string> names(choices.begin(), choices.end());
    refuse(key, *value, join(names));
  }
  record(key, *value, *value == *choices.begin());
  return *value;
}

double ParamReader::number(std::string_view key, double otherwise) {
  const std::string* text = find(key);
  if (text == nullptr) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value))
    refuse(key, *text, "a number");
  record(key, shortest(value), value == otherwise);
  return value;
}

double ParamReader::positive(std::string_view key, double otherwise) {
  const double value = number(key, otherwise);
  if (!(value > 0)) refuse(key, shortest(value), "a number above 0");
  return value;
}

int64_t ParamReader::whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  const std::string* text = find(key);
  if (text == nullptr) return otherwise;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high)
    refuse(key, *text, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  record(key, *text, value == otherwise);
  return value;
}

void ParamReader::finish() const {
  for (size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      throw Error("position scheme '" + spec_.name + "' has no parameter '" + spec_.params[i].first + "' here",
                  known_.empty() ? "no parameters" : join(known_), spec_.params[i].first + "=" + spec_.params[i].second,
                  "`ordinal positions list` shows every scheme with its parameters");
}

std::string ParamReader::canonical() const {
  std::string text = spec_.name;
  for (size_t i = 0; i < stated_.size(); ++i) text += (i == 0 ? ":" : ",") + stated_[i];
  return text;
}

const TensorView& require_table(const TensorLookup& lookup, std::string_view tensor, std::string_view scheme,
                                int64_t rows, int64_t cols) {
  const TensorView* view = lookup ? lookup(tensor) : nullptr;
  const std::string wanted =
      std::string(tensor) + " [" + (rows < 0 ? "positions" : std::to_string(rows)) + ", " + std::to_string(cols) + "]";
  if (view == nullptr)
    throw Error("this model cannot run under '" + std::string(scheme) + "': it lacks that scheme's tensor", wanted,
                "no tensor of that name", "a scheme without tensors: --position none, sinusoidal or rope");
  std::string shape;
  for (const int64_t size : view->shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  if (view->shape.size() != 2 || view->shape[1] != cols || (rows >= 0 && view->shape[0] != rows) ||
      view->layout != Layout::rows || dtype_info(view->dtype).block_items != 1)
    throw Error("the table of position scheme '" + std::string(scheme) + "' has another form", wanted + ", rows, plain",
                std::string(tensor) + " [" + shape + "], " + std::string(kLayouts[static_cast<size_t>(view->layout)]) +
                    ", " + std::string(dtype_info(view->dtype).name));
  return *view;
}

}  // namespace ordinal
