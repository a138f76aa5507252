// split_none.cpp: no cut at all, the text is one piece.
#include "text/split.h"

namespace ordinal {
namespace {

class WholeTextCursor final : public SplitCursor {
 public:
  void start(std::string_view text) override { left_ = text.size(); }

  size_t next(std::span<TextRange> pieces) override {
    if (left_ == 0) return 0;
    pieces[0] = {0, left_};
    left_ = 0;
    return 1;
  }

 private:
  size_t left_ = 0;
};

class WholeTextSplitter final : public Splitter {
 public:
  std::unique_ptr<SplitCursor> open() const override { return std::make_unique<WholeTextCursor>(); }
};

}  // namespace

const Splitter& whole_text_splitter() {
  static const WholeTextSplitter splitter;
  return splitter;
}

}  // namespace ordinal
