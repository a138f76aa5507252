// words.h: lists, large numbers and bytes of unknown origin as words for a person.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/number_text.h"

namespace ordinal {

// Printable text as it is; line ends, tabs and backslashes as \n, \r, \t, \\; other control characters and bytes that
// are not UTF-8 as \x1b. Reversible, and nothing in it can upset a terminal.
std::string escaped(std::string_view bytes);

// The same in quotes, cut short.
std::string in_quotes(std::string_view bytes);

// 1234567 as "1,234,567"; "1 byte", "12,345 bytes".
std::string grouped(int64_t number);
std::string bytes_text(uint64_t bytes);

// The items one after another: strings, or numbers. `part` says what of an item is meant: &Row::name.
template <class List, class Part = std::identity>
std::string joined(const List& list, std::string_view between = ", ", const Part& part = {}) {
  std::string all;
  bool first = true;
  for (const auto& item : list) {
    if (!first) all += between;
    first = false;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<std::invoke_result_t<Part, decltype(item)>>>)
      all += std::to_string(std::invoke(part, item));
    else
      all += std::invoke(part, item);
  }
  return all;
}

// The sizes of a tensor: "[2, 3]".
std::string shape_text(std::span<const int64_t> shape);

// The word of a list that is nearest to a mistyped one: the fewest letters put in, left out, changed, or swapped with
// their neighbour; "" when none is near.
std::string nearest_word(std::string_view word, std::span<const std::string_view> words);
template <class List, class Part>
std::string nearest_word(std::string_view word, const List& list, const Part& part) {
  std::vector<std::string_view> words;
  for (const auto& item : list) words.push_back(std::invoke(part, item));
  return nearest_word(word, words);
}

// Whether `text` is 1 to `limit` characters of printable ASCII without blanks, as names in a model file are.
bool is_plain_word(std::string_view text, size_t limit);

}  // namespace ordinal
