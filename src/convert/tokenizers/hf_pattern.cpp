// hf_pattern.cpp: see hf_pattern.h. Where the two differ, in Oniguruma's Ruby syntax:
//
//   [^(\s|[.,])]     a class in a class is joined with it; PCRE2 ends the class at the first ]
//   \s \w \h \v      Unicode's blanks without U+180E; words with marks; a hexadecimal digit; the one vertical tab
//   \uXXXX           a character
//   x{1,3}+  x{,3}   repeated once more, not possessive; from none to three
//   ^ $              at every line (PCRE2's multiline)
//
// Groups that look around or set the case ((?i: alone) mean the same; other options are refused.
#include "convert/tokenizers/hf_pattern.h"

#include <optional>
#include <vector>

#include "base/utf8.h"
#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr std::string_view kBlanks =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Alphabetic characters (letters in circles and squares among them), marks, decimal digits, connectors, and of
// Latin-1's other numbers those that Oniguruma's table for it calls words.
constexpr std::string_view kWords = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}\x{24b6}-\x{24e9})"
                                    R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kHexRange = "0-9a-fA-F";

// An escape that stands for a set of characters: what stands in a class for it, and whether it is all others.
struct SetEscape {
  char letter;
  std::string_view members;
  bool negated = false;
};
constexpr SetEscape kSetEscapes[] = {{'s', kBlanks},      {'S', kBlanks, true}, {'w', kWords},
                                     {'W', kWords, true}, {'h', kHexRange},     {'H', kHexRange, true}};

// Escapes that mean the same in both.
constexpr std::string_view kSharedEscapes = "dDbBAzZtnrfaeRX";
constexpr size_t kDeepest = 64;

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& what) : pattern_(pattern), what_(what) {}

  std::string translate() {
    size_t atom = 0;  // where in out_ what a repetition would repeat begins
    std::vector<size_t> groups;
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '(') {
        groups.push_back(out_.size());
        if (groups.size() > kDeepest) refuse("groups within groups", "at most 64 deep");
        open_group();
      } else if (c == ')') {
        if (groups.empty()) refuse("a ) too many", "as many as there are (");
        atom = groups.back();
        groups.pop_back();
        copy(1);
      } else if (c == '{') {
        repeat(atom);
      } else if (c == '*' || c == '+' || c == '?' || c == '|' || c == '^' || c == '$') {
        copy(1);
      } else {
        atom = out_.size();
        if (c == '[') {
          out_ += translated_class(0);
        } else if (c == '\\') {
          out_ += escape(false);
        } else {
          copy(std::max<size_t>(1, utf8_length(pattern_.substr(at_))));
        }
      }
    }
    if (!groups.empty()) refuse("a ( without its )", "as many as there are (");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw Error("the pattern of " + what_ + " cannot be carried over", expected,
                found + " at byte " + std::to_string(at_) + " of " + in_quotes(pattern_));
  }

  bool follows(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  void copy(size_t bytes) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }

  void open_group() {
    static constexpr std::string_view kOpenings[] = {"(?:", "(?=",  "(?!",   "(?<=", "(?<!",
                                                     "(?>", "(?i:", "(?-i:", "(?i)"};
    for (const std::string_view opening : kOpenings)
      if (follows(opening)) {
        if (opening == "(?i)") refuse("(?i)", "(?i: around what it is for");
        return copy(opening.size());
      }
    if (follows("(?") || follows("(*")) refuse(std::string(pattern_.substr(at_, 4)), "groups, looks around, (?i:");
    copy(1);
  }

  // {n}, {n,}, {n,m}, {,m}; a + behind repeats once more. Anything else is a brace.
  void repeat(size_t atom) {
    const size_t end = pattern_.find('}', at_);
    const std::string_view inside = end == std::string_view::npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
    if (inside.empty() || inside == "," || inside.find_first_not_of("0123456789,") != std::string_view::npos) {
      out_ += "\\{";
      ++at_;
      return;
    }
    out_ += "{" + (inside[0] == ',' ? "0" + std::string(inside) : std::string(inside)) + "}";
    at_ = end + 1;
    if (at_ < pattern_.size() && pattern_[at_] == '+') {
      out_.insert(atom, "(?:");
      out_ += ")+";
      ++at_;
    }
  }

  std::string code_point(size_t digits) {
    const std::string_view hex = pattern_.substr(at_ + 2, digits);
    if (hex.size() != digits || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      refuse(std::string(pattern_.substr(at_, 2)), std::to_string(digits) + " hexadecimal digits behind it");
    at_ += 2 + digits;
    return "\\x{" + std::string(hex) + "}";
  }

  // What the escape at hand is in PCRE2; within a class without brackets.
  std::string escape(bool in_class) {
    if (at_ + 1 >= pattern_.size()) refuse("a \\ at the end", "something behind it");
    const char letter = pattern_[at_ + 1];
    for (const SetEscape& set : kSetEscapes) {
      if (set.letter != letter) continue;
      if (in_class && set.negated) {
        if (letter != 'S') refuse(std::string("\\") + letter + " in a class", "a class without it");
        at_ += 2;
        return "\\S";  // but for U+180E, which no class can leave out
      }
      at_ += 2;
      const std::string members(set.members);
      return in_class ? members : (set.negated ? "[^" : "[") + members + "]";
    }
    if (letter == 'p' || letter == 'P') {
      const size_t end = follows("\\p{") || follows("\\P{") ? pattern_.find('}', at_) : std::string_view::npos;
      if (end == std::string_view::npos) refuse("\\p", "a name in braces behind it");
      const std::string escape(pattern_.substr(at_, end + 1 - at_));
      at_ = end + 1;
      return escape;
    }
    if (letter == 'v') return at_ += 2, "\\x0b";
    if (letter == 'u') return code_point(4);
    if (letter == 'x') {
      if (!follows("\\x{")) return code_point(2);
      const size_t end = pattern_.find('}', at_);
      if (end == std::string_view::npos) refuse("\\x{", "a } behind it");
      const std::string escape(pattern_.substr(at_, end + 1 - at_));
      at_ = end + 1;
      return escape;
    }
    const bool is_word =
        (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    if (is_word && kSharedEscapes.find(letter) == std::string_view::npos)
      refuse(std::string("\\") + letter, "escapes that Oniguruma and PCRE2 share");
    const std::string escape(pattern_.substr(at_, 1 + std::max<size_t>(1, utf8_length(pattern_.substr(at_ + 1)))));
    at_ += escape.size();
    return escape;
  }

  // The class at hand; those within it are joined with it. At depth 0 with its brackets.
  std::string translated_class(size_t depth) {
    if (depth > kDeepest) refuse("classes within classes", "at most 64 deep");
    ++at_;
    const bool negated = follows("^");
    if (negated) ++at_;
    if (negated && depth > 0) refuse("a class of all others within a class", "one class");
    if (follows(":")) refuse("[:", "classes of characters by \\p{...}");
    std::string members;
    for (bool first = true; first || !follows("]"); first = false) {
      if (at_ >= pattern_.size()) refuse("a [ without its ]", "an end of the class");
      if (follows("&&")) refuse("&&", "a class without intersections");
      if (first && follows("]")) {
        members += "\\]";
        ++at_;
      } else if (follows("[")) {
        members += translated_class(depth + 1);
      } else if (follows("\\")) {
        members += escape(true);
      } else {
        const size_t length = std::max<size_t>(1, utf8_length(pattern_.substr(at_)));
        members += pattern_.substr(at_, length);
        at_ += length;
      }
    }
    ++at_;
    return depth > 0 ? members : (negated ? "[^" : "[") + members + "]";
  }

  std::string_view pattern_;
  const std::string& what_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string translate_pattern(std::string_view pattern, const std::string& what) {
  return Translator(pattern, what).translate();
}

}  // namespace ordinal::convert
