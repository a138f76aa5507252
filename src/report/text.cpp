// text.cpp: see text.h.
#include "report/text.h"

#include <algorithm>
#include <array>

namespace ordinal::report {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t width(std::string_view text) { return static_cast<size_t>(std::ranges::count_if(text, begins_character)); }

// The first `count` characters; from the end when `count` is what is to be left out.
size_t bytes_of(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && count-- == 0) break;
  return at;
}

// "rope:scal…factor=4": the beginning and the end tell specs apart.
std::string cut_in_middle(const std::string& text, size_t most) {
  const size_t wide = width(text);
  if (wide <= most || most < 3) return text;
  const size_t front = (most - 1) / 2, back = most - 1 - front;
  return text.substr(0, bytes_of(text, front)) + "…" + text.substr(bytes_of(text, wide - back));
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

std::vector<std::vector<std::string>> fitted(std::vector<std::vector<std::string>> rows, size_t most) {
  constexpr size_t kNarrowest = 12;
  if (most == 0 || rows.empty()) return rows;
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  size_t total = 2 * (widths.size() - 1);
  for (const size_t wide : widths) total += wide;
  while (total > most) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrowest) break;
    --*widest, --total;
  }
  for (auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) row[c] = cut_in_middle(row[c], widths[c]);
  return rows;
}

std::string table_in_parts(const std::vector<std::vector<std::string>>& rows, std::string_view alignment, size_t most) {
  std::vector<size_t> widths(alignment.size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (size_t from = 1; from < widths.size();) {
    size_t total = widths[0], to = from;
    while (to < widths.size() && (to == from || most == 0 || total + 2 + widths[to] <= most)) total += 2 + widths[to++];
    std::vector<std::vector<std::string>> part;
    for (const auto& row : rows) {
      part.push_back({row[0]});
      part.back().insert(part.back().end(), row.begin() + static_cast<ptrdiff_t>(from),
                         row.begin() + static_cast<ptrdiff_t>(to));
    }
    text += (text.empty() ? "" : "\n") + table(fitted(part, most), std::string(alignment.substr(0, 1)) +
                                                                       std::string(alignment.substr(from, to - from)));
    from = to;
  }
  return text;
}

std::string wrapped(std::string_view text, size_t most) {
  if (most == 0) return std::string(text) + "\n";
  std::string lines;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool fits = column == 0 || column + 1 + width(word) <= most;
    lines += column == 0 ? "" : fits ? " " : "\n  ";
    column = fits ? column + (column > 0) + width(word) : 2 + width(word);
    lines += word;
  }
  return lines + "\n";
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
