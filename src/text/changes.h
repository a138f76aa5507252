// changes.h: a text changed before it is cut: normal forms, replacements, and where each byte of the result came from.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"
#include "text/pattern.h"

namespace ordinal {

// A text and, where they were asked for, its origins: origins[i] is the byte of the source that byte i stands for,
// never falling, and origins[size] the source's end. What was put in stands for no byte, and has the next one's.
struct ChangedText {
  std::string bytes;
  std::vector<size_t> origins;
};

// The changes of a tokenizer, one after another. Bytes that are not UTF-8 stay as they are, and what stands on either
// side of them is changed as if it were alone. Immutable and shared between threads.
class TextChanges {
 public:
  // Throws Error for a change that is not known, and for a pattern that does not compile.
  explicit TextChanges(const std::vector<TokenizerData::Change>& changes);

  bool empty() const { return steps_.empty(); }
  ChangedText apply(std::string_view text, bool with_origins) const;

  struct Step;  // a change made ready

 private:
  std::deque<Step> steps_;
};

struct TextChanges::Step {
  TokenizerData::Change change;
  void (*run)(const Step& step, class ChangeRun& run) = nullptr;
  std::optional<Pattern> pattern;
};

}  // namespace ordinal
