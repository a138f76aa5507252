// stop_strings.h: ends a stream of bytes at the first of several strings, wherever the pieces were cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordinal {

// The first string to be completed ends the stream; of several completed by the same byte, the longest. So the result
// does not depend on how the bytes came in pieces.
class StopStrings {
 public:
  // Throws Error for an empty string.
  explicit StopStrings(std::vector<std::string> stops);

  // The bytes that are now known to come before any stop string. Call no more once found() is true.
  std::string push(std::string_view bytes);
  // What was held back because a stop string could have begun there.
  std::string finish();
  bool found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace ordinal
