// split_gpt2.cpp: GPT-2's cut into words, numbers, marks and blanks, matched by PCRE2.
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, and its published encoder.
//
// Bytes that are not UTF-8: every longest run of bytes that belong to no well-formed character is a piece of its own,
// and the text on either side of it is cut as if it were a text alone.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>
#include <string>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/split.h"

namespace ordinal {
namespace {

// White_Space of Unicode, spelled out: PCRE2's \s with UCP also takes U+180E, which is no blank since Unicode 6.3.
constexpr const char* kBlanks =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// The published alternatives ` ?\p{L}+`, ` ?\p{N}+` and ` ?[^\s\p{L}\p{N}]+` share their optional space here and are
// possessive: a run never gives back what it took, so the time is linear and nothing is kept on a stack.
std::string pattern_text() {
  const std::string blanks = kBlanks;
  return R"('(?:[stmd]|re|ve|ll)| ?(?:\p{L}++|\p{N}++|[^)" + blanks + R"(\p{L}\p{N}]++)|[)" + blanks + "]+(?![^" +
         blanks + "])|[" + blanks + "]+";
}

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

[[noreturn]] void fail(const std::string& what, int code) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(code, message.data(), message.size());
  throw Error(what, "", "PCRE2: " + std::string(reinterpret_cast<const char*>(message.data())));
}

// The pattern, compiled once; machine code where PCRE2 can make it, its interpreter elsewhere.
class Pattern {
 public:
  Pattern() {
    const std::string text = pattern_text();
    int code = 0;
    size_t offset = 0;
    compiled_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_ANCHORED | PCRE2_NO_AUTO_CAPTURE, &code, &offset, nullptr);
    if (compiled_ == nullptr) fail("the pattern that cuts text into words does not compile", code);
    if (pcre2_jit_compile(compiled_, PCRE2_JIT_COMPLETE) == 0) match_ = pcre2_jit_match;
  }
  ~Pattern() { pcre2_code_free(compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  MatchData match_data() const {
    MatchData data(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
    if (data == nullptr) throw std::bad_alloc();
    return data;
  }

  // The end of the piece at `begin` of `text`, which is well-formed. Some alternative takes any character.
  size_t piece_end(std::string_view text, size_t begin, pcre2_match_data* data) const {
    const int matched = match_(compiled_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                               PCRE2_NO_UTF_CHECK, data, nullptr);
    if (matched < 0) fail("a text could not be cut into words", matched);
    return pcre2_get_ovector_pointer(data)[1];
  }

 private:
  pcre2_code* compiled_ = nullptr;
  decltype(&pcre2_match) match_ = pcre2_match;
};

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A shortcut for the commonest piece, which the pattern cuts the same way: an optional space and ASCII letters, up to
// an ASCII byte or the end. Returns `begin` when that is not what stands there.
size_t ascii_word_end(std::string_view text, size_t begin) {
  const size_t letters = begin + (text[begin] == ' ' ? 1 : 0);
  size_t end = letters;
  while (end < text.size() && is_ascii_letter(text[end])) ++end;
  return end > letters && (end == text.size() || static_cast<unsigned char>(text[end]) < 0x80) ? end : begin;
}

class Gpt2Cursor final : public SplitCursor {
 public:
  Gpt2Cursor(const Pattern& pattern, std::string_view text)
      : pattern_(pattern), data_(pattern.match_data()), text_(text) {}

  size_t next(std::span<size_t> ends) override {
    size_t count = 0;
    while (count < ends.size() && at_ < text_.size()) {
      if (at_ == run_end_) {
        run_begin_ = at_;
        run_end_ = utf8_end(text_, at_);
      }
      if (at_ == run_end_) {
        at_ = run_begin_ = run_end_ = utf8_broken_end(text_, at_);
      } else {
        const std::string_view run = text_.substr(run_begin_, run_end_ - run_begin_);
        const size_t begin = at_ - run_begin_;
        const size_t word_end = ascii_word_end(run, begin);
        at_ = run_begin_ + (word_end > begin ? word_end : pattern_.piece_end(run, begin, data_.get()));
      }
      ends[count++] = at_;
    }
    return count;
  }

 private:
  const Pattern& pattern_;
  MatchData data_;
  std::string_view text_;
  size_t at_ = 0;
  size_t run_begin_ = 0, run_end_ = 0;  // the well-formed stretch around `at_`
};

class Gpt2Splitter final : public Splitter {
 public:
  std::unique_ptr<SplitCursor> open(std::string_view text) const override {
    return std::make_unique<Gpt2Cursor>(pattern_, text);
  }

 private:
  Pattern pattern_;
};

}  // namespace

const Splitter& gpt2_splitter() {
  static const Gpt2Splitter splitter;
  return splitter;
}

}  // namespace ordinal
