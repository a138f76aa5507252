// scheme.h: what a scheme file includes: the hook interface, a reader for its parameters, its entry in the list.
//
// Adding a scheme is one file here with a function make_<name>, one line in schemes.def, and one test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/error.h"
#include "ordinal/position.h"

namespace ordinal {

using SchemePtr = std::unique_ptr<PositionScheme>;

// Hands a spec's parameters to the scheme that is being made. Each getter names a key, its default and what is
// allowed; what was asked for is the list of keys that exist, so an unknown key can be answered with that list.
// All throw Error for a value that is not allowed.
class ParamReader {
 public:
  explicit ParamReader(PositionSpec spec) : spec_(std::move(spec)), used_(spec_.params.size(), false) {}

  const std::string& scheme() const { return spec_.name; }

  // One of `choices`; the first is the default.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> choices);
  double positive(std::string_view key, double otherwise);
  double number(std::string_view key, double otherwise);
  // A whole number in [low, high].
  int64_t whole(std::string_view key, int64_t otherwise, int64_t low, int64_t high);

  // Throws Error when the spec has keys that nobody asked for.
  void finish() const;

  // "name" or "name:key=value,...": keys in the order asked for, those at their default left out.
  std::string canonical() const;

 private:
  const std::string* find(std::string_view key);
  [[noreturn]] void refuse(std::string_view key, const std::string& value, const std::string& expected) const;
  void record(std::string_view key, std::string text, bool is_default);

  PositionSpec spec_;
  std::vector<bool> used_;
  std::vector<std::string> known_;   // keys asked for, in order
  std::vector<std::string> stated_;  // "key=value" of those not at their default
};

// The rows [rows, cols] of a scheme's own tensor; rows -1 takes what is there. The view has layout rows and a plain
// kind. Throws Error naming tensor and scheme when it is missing or has another shape.
const TensorView& require_table(const TensorLookup& lookup, std::string_view tensor, std::string_view scheme,
                                int64_t rows, int64_t cols);

#define SCHEME(name, kind, summary) \
  SchemePtr make_##name(ParamReader& params, const AttentionShape& shape, const TensorLookup& lookup);
#include "position/schemes.def"
#undef SCHEME

}  // namespace ordinal
