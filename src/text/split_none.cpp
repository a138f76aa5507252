// split_none.cpp: no cut at all, the text is one piece.
#include "text/split.h"

namespace ordinal {
namespace {

class WholeTextCursor final : public SplitCursor {
 public:
  explicit WholeTextCursor(std::string_view text) : left_(text.size()) {}

  size_t next(std::span<size_t> ends) override {
    if (left_ == 0) return 0;
    ends[0] = left_;
    left_ = 0;
    return 1;
  }

 private:
  size_t left_;
};

class WholeTextSplitter final : public Splitter {
 public:
  std::unique_ptr<SplitCursor> open(std::string_view text) const override {
    return std::make_unique<WholeTextCursor>(text);
  }
};

}  // namespace

const Splitter& whole_text_splitter() {
  static const WholeTextSplitter splitter;
  return splitter;
}

}  // namespace ordinal
