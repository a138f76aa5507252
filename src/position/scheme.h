// scheme.h: what a scheme file includes: the hook interface, readers for its parameters and its tables, its entry in
// the list.
//
// Adding a scheme is one file here with a function make_<name>, one line in schemes.def, and one test. The function
// asks for all parameters first and declares its tensors after them (tables.h), so that help can list both without a
// model.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ordinal/error.h"
#include "ordinal/position.h"
#include "position/tables.h"

namespace ordinal {

using SchemePtr = std::unique_ptr<PositionScheme>;

// Hands a spec's parameters to the scheme that is being made. Each getter names a key, its default and what is
// allowed; what was asked for is the list of keys that exist, so an unknown key can be answered with that list.
// All throw Error for a value that is not allowed.
class ParamReader {
 public:
  // `sort` is what errors call it: a position scheme, or a modifier of one.
  explicit ParamReader(PositionSpec spec, std::string_view sort = "position scheme")
      : spec_(std::move(spec)), sort_(sort), used_(spec_.params.size(), false) {}

  const std::string& scheme() const { return spec_.name; }

  // One of `choices`; the first is the default.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> choices);
  std::string choice(std::string_view key, std::span<const std::string_view> choices);
  double number(std::string_view key, double otherwise);
  double positive(std::string_view key, double otherwise);
  // A number of `low` or more; without a default it must be stated.
  double at_least(std::string_view key, double low, std::optional<double> otherwise = std::nullopt);
  // A number above 0, or nothing when the key is absent or "auto".
  std::optional<double> positive_or_auto(std::string_view key);
  // A whole number in [low, high], or nothing when the key is absent or the word `absent`.
  std::optional<int64_t> whole_or(std::string_view key, std::string_view absent, int64_t low, int64_t high);
  // A whole number in [low, high].
  int64_t whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high);
  // The same, for a default that follows the session: once stated it stays in the canonical spec.
  int64_t session_whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high);

  // Something that follows from the parameters and is worth a line in a report.
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  // Throws Error when the spec has keys that nobody asked for; when a required key was not stated.
  void refuse_unknown() const;
  void refuse_missing() const;

  // Spec, parameters and remarks; the rest is for others to fill in.
  SchemeFacts facts() const;

  // Throws Error: this scheme cannot use key=value; `expected` says what it can.
  [[noreturn]] void refuse(std::string_view key, const std::string& value, const std::string& expected) const;

 private:
  // The value stated for the key, or nullptr; the key is known from here on.
  const std::string* find(std::string_view key, const std::string& otherwise, std::string allowed);
  // Notes the value in effect; `stays` keeps it in the canonical spec even at its default.
  void record(std::string text, bool stays = false);
  double parse(std::string_view key, const std::string& text, double low, bool above) const;
  int64_t whole_number(std::string_view key, const std::string& text, int64_t low, int64_t high) const;

  PositionSpec spec_;
  std::string sort_;
  std::vector<bool> used_;
  std::vector<SchemeParam> params_;  // keys asked for, in order
  std::vector<std::string> stated_;  // "key=value" of those in the canonical spec
  std::vector<std::string> remarks_;
};

// "base;layers=LIST:spec;heads=LIST:spec;...", cut into its parts; layers and heads are not checked against a model.
struct LayeredSpec {
  struct Part {
    bool of_heads = false;
    std::string list;                                      // "3,7-9"; of heads "3.0,3.4-7"
    std::vector<std::pair<int64_t, int64_t>> ranges = {};  // first and last layer of every item of the list
    std::vector<std::pair<int64_t, int64_t>> heads = {};   // first and last head of every item, where it is of heads
    std::string spec = {};

    std::string head() const { return (of_heads ? ";heads=" : ";layers=") + list + ":"; }
  };
  std::string base;
  std::vector<Part> parts;
};
LayeredSpec parse_layered_spec(std::string_view text);

// "base;with=NAME:key=value;with=...", cut into its parts, the modifiers without "with=". What follows it in a longer
// spec, from end_of_modified() on, is for layers of their own.
struct ModifiedSpec {
  std::string base;
  std::vector<std::string> modifiers;

  std::string text() const;  // put together again
};
ModifiedSpec parse_modified_spec(std::string_view text);
size_t end_of_modified(std::string_view text);
// The first scheme of any spec, without its modifiers and without those of layers and heads of their own.
PositionSpec parse_first_scheme(std::string_view text);

// The entry of a scheme in the list. Throws Error, naming all there are, when it is not there.
const SchemeInfo& scheme_info(std::string_view name);
// The same of a modifier.
const SchemeInfo& modifier_info(std::string_view name);

// The one way in for specs that a person typed, before there is a model to ask: throws Error for text of another form
// and unless every scheme in it exists or is "native". What depends on the model is found when the scheme is made.
void check_position_spec(std::string_view spec);

// Where a person finds the schemes, for the last line of an error.
std::string see_list();

// The shortest text that reads back as the same number.
std::string number_text(double value);

// How many positions back a key is. Keys are never ahead of their query; one that were would count as at hand.
inline int64_t distance_back(const AttentionSite& site, size_t key) {
  const int64_t distance = site.query_position - site.key_positions[key];
  return distance < 0 ? 0 : distance;
}

// Makes the scheme of "base;layers=LIST:part;heads=LIST:part;...": see per_layer.cpp. `make` makes a scheme for one
// spec.
using SchemeMaker = std::function<std::shared_ptr<const PositionScheme>(std::string_view spec)>;
std::pair<SchemePtr, SchemeFacts> make_per_layer(std::string_view spec, const AttentionShape& shape,
                                                 const SchemeMaker& make);

// A scheme that turns every head by an angle that grows with the position: what a modifier needs that gives keys other
// places, some of them between two positions.
class TurningScheme : public PositionScheme {
 public:
  // Turns the heads of one row of q or k, in place. Pure, as the hooks are.
  virtual void turn(double position, std::span<float> heads) const = 0;
};

#define SCHEME(name, kind, acts_on, source, summary) \
  SchemePtr make_##name(ParamReader& params, const AttentionShape& shape, TableReader& tables);
#include "position/schemes.def"
#undef SCHEME

}  // namespace ordinal
