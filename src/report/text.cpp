// text.cpp: see text.h.
#include "report/text.h"

#include <algorithm>
#include <array>

namespace ordinal::report {
namespace {

size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

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

std::string byte_size(int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000.0;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) value /= 1000.0, ++unit;
  return fixed(value, 1) + " " + kUnits[unit];
}

}  // namespace ordinal::report
