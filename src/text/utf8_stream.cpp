// utf8_stream.cpp: pieces joined into text, so that no half of a character is ever written.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "ordinal/tokenizer.h"

namespace ordinal {

std::string Utf8Stream::push(std::string_view bytes) {
  std::string text = std::move(held_);
  text += bytes;
  size_t hold = 0;
  for (size_t tail = 1; tail <= std::min<size_t>(3, text.size()); ++tail)
    if (utf8_is_cut_short(std::string_view(text).substr(text.size() - tail))) hold = tail;
  held_ = text.substr(text.size() - hold);
  text.resize(text.size() - hold);
  return text;
}

std::string Utf8Stream::finish() { return std::exchange(held_, std::string()); }

}  // namespace ordinal
