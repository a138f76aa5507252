// split.h: text cut into pieces that are merged each on its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ordinal {

// A walk over one text. Belongs to one thread; the text must outlive it.
class SplitCursor {
 public:
  virtual ~SplitCursor() = default;
  // Writes where the next pieces end, in order, and returns how many it wrote: 0 at the end of the text only.
  // Pieces follow each other without a gap, and none is empty.
  virtual size_t next(std::span<size_t> ends) = 0;
};

// A rule for cutting; any bytes can be cut. Immutable and shared between threads.
class Splitter {
 public:
  virtual ~Splitter() = default;
  virtual std::unique_ptr<SplitCursor> open(std::string_view text) const = 0;
};

// The rule called `name` (TokenizerData::split). Throws Error, listing the rules there are.
const Splitter& splitter_named(const std::string& name);

// The rules themselves, each in a file of its own.
const Splitter& gpt2_splitter();
const Splitter& whole_text_splitter();

}  // namespace ordinal
