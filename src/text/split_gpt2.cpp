// split_gpt2.cpp: GPT-2's cut into words, numbers, marks and blanks, matched by PCRE2.
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, and its published encoder.
#include <string>

#include "text/pattern.h"
#include "text/rule_cursor.h"

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

class Gpt2Rule {
 public:
  explicit Gpt2Rule(const Pattern& pattern) : matcher_(pattern) {}

  // Some alternative takes any character.
  size_t piece_end(std::string_view run, size_t begin) {
    if (const size_t end = ascii_word_end(run, begin); end > begin) return end;
    TextRange found{begin, run.size()};
    matcher_.find(run, begin, found);
    return found.end;
  }

 private:
  Matcher matcher_;
};

class Gpt2Splitter final : public Splitter {
 public:
  std::unique_ptr<SplitCursor> open() const override {
    return std::make_unique<RuleCursor<Gpt2Rule>>(Gpt2Rule(pattern_));
  }

 private:
  Pattern pattern_{gpt2_pattern(), Pattern::At::front};
};

}  // namespace

const Splitter& gpt2_splitter() {
  static const Gpt2Splitter splitter;
  return splitter;
}

}  // namespace ordinal
