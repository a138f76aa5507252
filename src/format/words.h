// words.h: text of unknown origin and large numbers, made fit for an error message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordinal {

// In quotes, cut short, bytes that could upset a terminal as \x1b.
std::string quoted(std::string_view text);

// "1 byte", "12,345 bytes".
std::string bytes_text(uint64_t bytes);

// Whether `text` is 1 to `limit` characters of printable ASCII without blanks, as names in a model file are.
bool is_plain_word(std::string_view text, size_t limit);

}  // namespace ordinal
