// settings.h: a config.json whose settings are handed out by name, so that in the end those that nobody asked for are
// known: a setting that could change the result and is not understood is an error.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "convert/stored.h"
#include "ordinal/model_file.h"

namespace ordinal::convert {

class Settings {
 public:
  // The names that a setting goes by; where a file states several, they must agree.
  using Names = std::initializer_list<std::string_view>;

  // `name` is the document in messages. `config` outlives this.
  Settings(const Json& config, std::string name, const Note& note)
      : config_(object(config, name)), name_(std::move(name)), note_(note) {}

  // nullptr when it is absent or null. Throws Error when two names contradict each other.
  const Json* take(Names names);
  const Json* take(std::string_view key) { return take({key}); }
  // Whether the file names it, be it null.
  bool states(std::string_view key) const { return config_.contains(key); }

  // The value as what it should be, or `otherwise`; Throws Error for another type, or out of range.
  int64_t size(Names names);  // must be stated
  int64_t size(Names names, int64_t otherwise);
  double number(Names names, double otherwise);
  double positive(Names names, double otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::string word(std::string_view key, std::string_view otherwise);
  std::vector<bool> flags(std::string_view key);  // of 0 and 1, empty when absent
  Activation activation(Names names, std::string_view otherwise);
  // Ids that the vocabulary does not have can never come up: they are left out with a remark.
  std::vector<TokenId> ids(std::string_view key, int64_t vocab_size);

  // Throws Error when the setting is stated and is anything else: "true", "8", "\"multihead_attention\"".
  void must_be(std::string_view key, std::string_view json);
  // Settings that this family's code reads and that change nothing.
  void pass_over(Names names) {
    for (const std::string_view name : names) known_.emplace(name);
  }

  // Throws Error for a setting that nobody asked for, unless it is one of those that change nothing.
  void refuse_rest() const;

  // The name under which the setting is stated; the first when none is.
  std::string_view stated_name(Names names) const;

  std::string what(std::string_view key) const { return std::string(key) + " in " + name_; }
  const std::string& document() const { return name_; }
  const Note& note() const { return note_; }

 private:
  const Json& config_;
  const std::string name_;
  const Note note_;
  std::set<std::string, std::less<>> known_;
};

// Ids of a setting: a number, a list or nothing.
std::vector<TokenId> ids_of(const Json* value, const std::string& what, int64_t vocab_size, const Note& note);

}  // namespace ordinal::convert
