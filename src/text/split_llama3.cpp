// split_llama3.cpp: the cut of Llama 3, and that of Qwen 2, which takes digits one by one. By hand, for speed:
//
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)          contractions, in either case
//   [^\r\n\p{L}\p{N}]?\p{L}+              letters, with one mark or blank before them
//   \p{N}{1,3}                            up to three digits; one for Qwen 2
//    ?[^\s\p{L}\p{N}]+[\r\n]*             marks, with a space before them and line ends behind
//   \s*[\r\n]+                            blanks up to the last line end among them
//   \s+(?!\S) | \s+                       blanks, of which a run leaves its last to what follows
//
// Published with the Llama 3 models; the alternatives are tried in this order.
#include <array>

#include "base/utf8.h"
#include "text/rule_cursor.h"
#include "text/unicode.h"

namespace ordinal {
namespace {

// A well-formed text, read character by character.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool is_at_end(size_t at) const { return at >= text_.size(); }
  char byte(size_t at) const { return text_[at]; }

  struct Char {
    CharClass kind;
    size_t end;
  };
  Char at(size_t at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {class_of(byte), at + 1};
    size_t end = at;
    const char32_t character = take_character(text_, end);
    return {class_of(character), end};
  }

  // The end of the run of characters of this kind from `at`.
  size_t run_end(size_t from, CharClass kind) const {
    while (!is_at_end(from)) {
      const auto byte = static_cast<unsigned char>(text_[from]);
      if (byte < 0x80) {
        if (kAsciiClasses[byte] != kind) break;
        ++from;
        continue;
      }
      const Char next = at(from);
      if (next.kind != kind) break;
      from = next.end;
    }
    return from;
  }

  // The end of the contraction whose apostrophe stands at `at`; `at` when there is none.
  size_t contraction_end(size_t at) const {
    const std::string_view rest = text_.substr(at + 1, 2);
    if (rest.starts_with("\xc5\xbf")) return at + 3;  // the long s is an s in either case
    const char first = lower(rest, 0), second = lower(rest, 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    const bool two =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return two ? at + 3 : at;
  }

 private:
  static char lower(std::string_view text, size_t at) {
    const char c = at < text.size() ? text[at] : '\0';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  std::string_view text_;
};

bool is_line_end(char byte) { return byte == '\r' || byte == '\n'; }

size_t digits_end(const Reader& text, size_t at, int most) {
  for (int i = 0; i < most && !text.is_at_end(at); ++i) {
    const Reader::Char next = text.at(at);
    if (next.kind != CharClass::number) break;
    at = next.end;
  }
  return at;
}

// Marks from `at`, and the line ends behind them; `at` when there are none.
size_t marks_end(const Reader& text, size_t at) {
  size_t end = text.run_end(at, CharClass::other);
  if (end == at) return at;
  while (!text.is_at_end(end) && is_line_end(text.byte(end))) ++end;
  return end;
}

size_t blanks_end(const Reader& text, size_t begin) {
  size_t end = begin, last = begin, line_end = begin;
  while (!text.is_at_end(end)) {
    const Reader::Char next = text.at(end);
    if (next.kind != CharClass::blank) break;
    last = end;
    end = next.end;
    if (is_line_end(text.byte(last))) line_end = end;
  }
  if (line_end > begin) return line_end;
  return text.is_at_end(end) || last == begin ? end : last;
}

struct Llama3Rule {
  int digits;  // most in a piece

  size_t piece_end(std::string_view run, size_t begin) const {
    const Reader text(run);
    const char byte = text.byte(begin);
    if (byte == '\'')
      if (const size_t end = text.contraction_end(begin); end > begin) return end;
    const Reader::Char first = text.at(begin);
    if (first.kind == CharClass::letter) return text.run_end(first.end, CharClass::letter);
    if (first.kind == CharClass::number) return digits_end(text, begin, digits);
    if (!is_line_end(byte))
      if (const size_t end = text.run_end(first.end, CharClass::letter); end > first.end) return end;
    const size_t marks = byte == ' ' ? begin + 1 : begin;
    if (const size_t end = marks_end(text, marks); end > marks) return end;
    return blanks_end(text, begin);
  }
};

class Llama3Splitter final : public Splitter {
 public:
  explicit Llama3Splitter(int digits) : rule_{digits} {}
  std::unique_ptr<SplitCursor> open() const override { return std::make_unique<RuleCursor<Llama3Rule>>(rule_); }

 private:
  const Llama3Rule rule_;
};

}  // namespace

const Splitter& llama3_splitter() {
  static const Llama3Splitter splitter(3);
  return splitter;
}

const Splitter& qwen2_splitter() {
  static const Llama3Splitter splitter(1);
  return splitter;
}

}  // namespace ordinal
