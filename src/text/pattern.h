// pattern.h: regular expressions, matched by PCRE2: the one file that knows it is pattern.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ordinal {

// A stretch of a text, [begin, end).
struct TextRange {
  size_t begin, end;
};

// White_Space of Unicode, for use within a class of characters: PCRE2's \s also takes U+180E, which is no blank since
// Unicode 6.3.
inline constexpr std::string_view kBlankClass =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// A pattern of PCRE2's syntax in Unicode, compiled: to machine code where PCRE2 can make it. Immutable and shared.
class Pattern {
 public:
  enum class At { anywhere, front };  // where a match may begin: anywhere from a place on, or at that place

  // Throws Error, with PCRE2's words, for a pattern that does not compile.
  explicit Pattern(const std::string& text, At at = At::anywhere);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

 private:
  friend class Matcher;
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

// What matching needs beside the pattern. Belongs to one thread; the pattern must outlive it.
class Matcher {
 public:
  explicit Matcher(const Pattern& pattern);
  ~Matcher();
  Matcher(Matcher&&) noexcept;

  // Whether the pattern matches in `text`, which is well-formed UTF-8, from `begin` on; then `found` is where. What
  // stands before `begin` is seen by looks behind. Throws Error when a match takes more steps than PCRE2 allows.
  bool find(std::string_view text, size_t begin, TextRange& found);

 private:
  struct Scratch;
  const Pattern& pattern_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace ordinal
