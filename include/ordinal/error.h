// error.h: the one exception type of the library.
#pragma once

#include <exception>
#include <string>

namespace ordinal {

// Thrown for every failure a caller can cause or meet: bad files, bad options, limits. Its four parts are sentences
// for a person: what is wrong, what was expected, what was found, and what to try next. Any but the first may be empty.
class Error : public std::exception {
 public:
  explicit Error(std::string summary, std::string expected = "", std::string found = "", std::string suggestion = "");

  // All parts, one a line: the summary, then "  expected: ...", "  found:    ...", "  try:      ...".
  const char* what() const noexcept override { return text_.c_str(); }

  const std::string& summary() const { return summary_; }
  const std::string& expected() const { return expected_; }
  const std::string& found() const { return found_; }
  const std::string& suggestion() const { return suggestion_; }

 private:
  std::string summary_, expected_, found_, suggestion_, text_;
};

}  // namespace ordinal
