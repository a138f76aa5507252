// split.h: text cut into pieces that are merged each on its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"
#include "text/pattern.h"

namespace ordinal {

// A walk over one text after another. Belongs to one thread; the splitter and the text at hand must outlive it.
class SplitCursor {
 public:
  virtual ~SplitCursor() = default;
  // Begins with a text.
  virtual void start(std::string_view text) = 0;
  // Writes the next pieces, in order, and returns how many it wrote: 0 at the end of the text only. None is empty.
  // Pieces follow each other without a gap, but for what a cut removes.
  virtual size_t next(std::span<TextRange> pieces) = 0;
};

// A rule for cutting; any bytes can be cut. Immutable and shared between threads.
class Splitter {
 public:
  virtual ~Splitter() = default;
  virtual std::unique_ptr<SplitCursor> open() const = 0;
};

// The rule called `name` (TokenizerData::split). Throws Error, listing the rules there are.
const Splitter& splitter_named(const std::string& name);

// The rules themselves, each in a file of its own.
const Splitter& gpt2_splitter();
const Splitter& llama3_splitter();
const Splitter& qwen2_splitter();
const Splitter& whole_text_splitter();

// Cuts by several, each applied to the pieces of the one before. Throws Error for a cut that is not known and for a
// pattern that does not compile.
std::unique_ptr<const Splitter> make_cuts_splitter(const std::vector<TokenizerData::Cut>& cuts);

}  // namespace ordinal
