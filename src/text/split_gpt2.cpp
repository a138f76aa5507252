// split_gpt2.cpp: GPT-2's cut into words, numbers, marks and blanks, matched by PCRE2.
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, and its published encoder.
//
// Bytes that are not UTF-8: every longest run of bytes that belong to no well-formed character is a piece of its own,
// and the text on either side of it is cut as if it were a text alone.
#include <string>

#include "base/utf8.h"
#include "text/pattern.h"
#include "text/split.h"

namespace ordinal {
namespace {

// The published alternatives ` ?\p{L}+`, ` ?\p{N}+` and ` ?[^\s\p{L}\p{N}]+` share their optional space here and are
// possessive: a run never gives back what it took, so the time is linear and nothing is kept on a stack.
std::string gpt2_pattern() {
  const std::string blanks(kBlankClass);
  return R"('(?:[stmd]|re|ve|ll)| ?(?:\p{L}++|\p{N}++|[^)" + blanks + R"(\p{L}\p{N}]++)|[)" + blanks + "]+(?![^" +
         blanks + "])|[" + blanks + "]+";
}

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
  explicit Gpt2Cursor(const Pattern& pattern) : matcher_(pattern) {}

  void start(std::string_view text) override {
    text_ = text;
    at_ = run_begin_ = run_end_ = 0;
  }

  size_t next(std::span<TextRange> pieces) override {
    size_t count = 0;
    while (count < pieces.size() && at_ < text_.size()) {
      const size_t from = at_;
      if (at_ == run_end_) {
        run_begin_ = at_;
        run_end_ = utf8_end(text_, at_);
      }
      if (at_ == run_end_) {
        at_ = run_begin_ = run_end_ = utf8_broken_end(text_, at_);
      } else {
        at_ = run_begin_ + piece_end(text_.substr(run_begin_, run_end_ - run_begin_), at_ - run_begin_);
      }
      pieces[count++] = {from, at_};
    }
    return count;
  }

 private:
  // The end of the piece at `begin` of `run`, which is well-formed. Some alternative takes any character.
  size_t piece_end(std::string_view run, size_t begin) {
    if (const size_t end = ascii_word_end(run, begin); end > begin) return end;
    TextRange found{begin, run.size()};
    matcher_.find(run, begin, found);
    return found.end;
  }

  Matcher matcher_;
  std::string_view text_;
  size_t at_ = 0;
  size_t run_begin_ = 0, run_end_ = 0;  // the well-formed stretch around `at_`
};

class Gpt2Splitter final : public Splitter {
 public:
  std::unique_ptr<SplitCursor> open() const override { return std::make_unique<Gpt2Cursor>(pattern_); }

 private:
  Pattern pattern_{gpt2_pattern(), Pattern::At::front};
};

}  // namespace

const Splitter& gpt2_splitter() {
  static const Gpt2Splitter splitter;
  return splitter;
}

}  // namespace ordinal
