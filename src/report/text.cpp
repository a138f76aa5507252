// text.cpp: see text.h.
#include "report/text.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace ordinal::report {
namespace {

// C1 controls (U+0080 to U+009F) act on terminals as their 7-bit kin do.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string escaped(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<size_t>(1, length));
    bytes.remove_prefix(character.size());
    if (character == "\n") {
      text += "\\n";
    } else if (character == "\r") {
      text += "\\r";
    } else if (character == "\t") {
      text += "\\t";
    } else if (character == "\\") {
      text += "\\\\";
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

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
  std::vector<size_t> widths(alignment.size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      if (c > 0) text += "  ";
      if (alignment[c] == 'r')
        text += padding + row[c];
      else
        text += c + 1 < row.size() ? row[c] + padding : row[c];
    }
    text += "\n";
  }
  return text;
}

std::string grouped(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t rest = digits.size() - i;
    if (i > (number < 0 ? 1 : 0) && rest % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string byte_size(int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000.0;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) value /= 1000.0, ++unit;
  return fixed(value, 1) + " " + kUnits[unit];
}

}  // namespace ordinal::report
