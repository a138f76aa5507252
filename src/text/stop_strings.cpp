// stop_strings.cpp: holds back what may be the beginning of a stop string, and no more.
#include "text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "ordinal/error.h"

namespace ordinal {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    if (stop.empty()) throw Error("a stop string is empty", "text of one byte or more", "\"\"");
}

std::string StopStrings::push(std::string_view bytes) {
  std::string text = std::exchange(held_, std::string());
  text += bytes;

  size_t first_end = std::string::npos, begin = 0;
  for (const std::string& stop : stops_) {
    const size_t at = text.find(stop);
    if (at == std::string::npos) continue;
    const size_t end = at + stop.size();
    if (first_end == std::string::npos || end < first_end || (end == first_end && at < begin)) {
      first_end = end;
      begin = at;
    }
  }
  if (first_end != std::string::npos) {
    found_ = true;
    text.resize(begin);
    return text;
  }

  size_t hold = 0;
  for (const std::string& stop : stops_)
    for (size_t n = std::min(stop.size() - 1, text.size()); n > hold; --n)
      if (std::string_view(text).ends_with(std::string_view(stop).substr(0, n))) hold = n;
  held_ = text.substr(text.size() - hold);
  text.resize(text.size() - hold);
  return text;
}

std::string StopStrings::finish() { return std::exchange(held_, std::string()); }

}  // namespace ordinal
