// rule_cursor.h: the walk of a rule that knows where the piece at a place ends, for text that may not be UTF-8: every
// longest run of bytes that belong to no well-formed character is a piece of its own, and the text on either side of it
// is cut as if it were a text alone.
#pragma once

#include <utility>

#include "base/utf8.h"
#include "text/split.h"

namespace ordinal {

// `Rule` has size_t piece_end(std::string_view run, size_t begin): the end of the piece at `begin` of a run that is
// well-formed, beyond `begin`.
template <class Rule>
class RuleCursor final : public SplitCursor {
 public:
  explicit RuleCursor(Rule rule) : rule_(std::move(rule)) {}

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
        at_ = run_begin_ + rule_.piece_end(text_.substr(run_begin_, run_end_ - run_begin_), at_ - run_begin_);
      }
      pieces[count++] = {from, at_};
    }
    return count;
  }

 private:
  Rule rule_;
  std::string_view text_;
  size_t at_ = 0;
  size_t run_begin_ = 0, run_end_ = 0;  // the well-formed stretch around `at_`
};

}  // namespace ordinal
