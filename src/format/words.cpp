// words.cpp: see words.h.
#include "format/words.h"

#include <algorithm>

namespace ordinal {

std::string quoted(std::string_view text) {
  constexpr size_t kLimit = 60;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kLimit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out + (text.size() > kLimit ? "...'" : "'");
}

std::string bytes_text(uint64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits + (bytes == 1 ? " byte" : " bytes");
}

bool is_plain_word(std::string_view text, size_t limit) {
  return !text.empty() && text.size() <= limit &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace ordinal
