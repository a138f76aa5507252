// utf8.h: where well-formed characters begin and end in a string of bytes (Unicode standard, table 3-7).
#pragma once

#include <cstddef>
#include <string_view>

namespace ordinal {

// Bytes of the well-formed character that `text` begins with, 1 to 4; 0 when it begins with none.
size_t utf8_length(std::string_view text);

// Whether a byte is one that continues characters, 80 to BF.
inline bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Whether `text` (1 to 3 bytes) could become a character with more bytes after it.
bool utf8_is_cut_short(std::string_view text);

// The end of the longest stretch of well-formed characters from `begin`.
size_t utf8_end(std::string_view text, size_t begin);

// The end of the longest stretch of bytes from `begin` that belong to no well-formed character.
size_t utf8_broken_end(std::string_view text, size_t begin);

}  // namespace ordinal
