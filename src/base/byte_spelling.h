// byte_spelling.h: the printable form in which GPT-2's files, and those made after them, spell bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordinal {

// The bytes that a printable spelling stands for, or nothing when it has a character outside the alphabet of 256:
// bytes 33-126, 161-172 and 174-255 are spelled as themselves, the others in order as the characters from 256 on.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

// A character a byte.
std::string spelling_of_bytes(std::string_view bytes);

// The byte that a piece of SentencePiece like <0x0A> stands for, or nothing for other pieces.
std::optional<unsigned char> byte_of_piece(std::string_view piece);

}  // namespace ordinal
