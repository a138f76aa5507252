// words.cpp: see words.h.
#include "base/words.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"

namespace ordinal {
namespace {

// C1 controls (U+0080 to U+009F) act on terminals as their 7-bit kin do.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string with_commas(std::string digits) {
  for (size_t at = digits.size(); at > 3 && digits[at - 4] != '-'; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string escaped(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef", kNamed = "\n\r\t\\", kNames = "nrt\\";
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<size_t>(1, length));
    bytes.remove_prefix(character.size());
    if (const size_t named = kNamed.find(character); named != std::string_view::npos) {
      text += '\\';
      text += kNames[named];
    } else if (length == 0 || is_control(character)) {
      for (const char c : character) {
        text += "\\x";
        text += kHex[static_cast<unsigned char>(c) >> 4];
        text += kHex[static_cast<unsigned char>(c) & 15];
      }
    } else {
      text += character;
    }
  }
  return text;
}

std::string in_quotes(std::string_view bytes) {
  constexpr size_t kLimit = 80;
  if (bytes.size() <= kLimit) return "'" + escaped(bytes) + "'";
  size_t cut = kLimit;
  while (cut > kLimit - 4 && continues_character(bytes[cut])) --cut;
  return "'" + escaped(bytes.substr(0, cut)) + "...'";
}

std::string grouped(int64_t number) { return with_commas(std::to_string(number)); }
std::string bytes_text(uint64_t bytes) {
  return with_commas(std::to_string(bytes)) + (bytes == 1 ? " byte" : " bytes");
}

std::string shape_text(std::span<const int64_t> shape) { return "[" + joined(shape) + "]"; }

std::string nearest_word(std::string_view word, std::span<const std::string_view> words) {
  // Distances of prefixes, a row for each letter of `word` (Damerau 1964; Levenshtein 1966).
  const auto distance = [&](std::string_view other) {
    std::vector<std::vector<size_t>> d(word.size() + 1, std::vector<size_t>(other.size() + 1));
    for (size_t i = 0; i <= word.size(); ++i)
      for (size_t j = 0; j <= other.size(); ++j) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        const size_t changed = d[i - 1][j - 1] + (word[i - 1] == other[j - 1] ? 0 : 1);
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, changed});
        if (i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    return d.back().back();
  };
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const std::string_view other : words)
    if (const size_t far = distance(other); far < least && far < other.size()) best = other, least = far;
  return best;
}

bool is_plain_word(std::string_view text, size_t limit) {
  return !text.empty() && text.size() <= limit &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace ordinal
