// byte_spelling.cpp: see byte_spelling.h.
#include "base/byte_spelling.h"

#include <array>
#include <cstdint>

namespace ordinal {
namespace {

constexpr size_t kSpelledCodes = 324;  // 256 and the 68 bytes that are not spelled as themselves

// byte_of[code] is the byte that the character stands for, or -1.
constexpr std::array<int16_t, kSpelledCodes> make_byte_of() {
  std::array<int16_t, kSpelledCodes> byte_of{};
  size_t next = 256;
  for (auto& byte : byte_of) byte = -1;
  for (size_t byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    byte_of[itself ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byte_of;
}
constexpr auto kByteOf = make_byte_of();

}  // namespace

std::string spelling_of_bytes(std::string_view bytes) {
  static const std::array<std::array<char, 2>, 256> spellings = [] {
    std::array<std::array<char, 2>, 256> all{};
    for (size_t code = 0; code < kSpelledCodes; ++code)
      if (const int byte = kByteOf[code]; byte >= 0)
        all[static_cast<size_t>(byte)] = code < 0x80 ? std::array<char, 2>{static_cast<char>(code), '\0'}
                                                     : std::array<char, 2>{static_cast<char>(0xc0 | code >> 6),
                                                                           static_cast<char>(0x80 | (code & 0x3f))};
    return all;
  }();
  std::string spelling;
  spelling.reserve(bytes.size() + bytes.size() / 2);
  for (const char byte : bytes) {
    const auto& characters = spellings[static_cast<unsigned char>(byte)];
    spelling += characters[0];
    if (characters[1] != '\0') spelling += characters[1];
  }
  return spelling;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  for (size_t at = 0; at < spelling.size(); ++at) {
    size_t code = static_cast<uint8_t>(spelling[at]);
    if (code >= 0x80) {  // the alphabet ends below 0x800, where characters of three bytes begin
      if (code < 0xc2 || code > 0xdf || at + 1 == spelling.size()) return std::nullopt;
      const uint8_t second = static_cast<uint8_t>(spelling[++at]);
      if ((second & 0xc0) != 0x80) return std::nullopt;
      code = (code & 0x1f) << 6 | (second & 0x3f);
    }
    if (code >= kSpelledCodes || kByteOf[code] < 0) return std::nullopt;
    bytes += static_cast<char>(kByteOf[code]);
  }
  return bytes;
}

std::optional<unsigned char> byte_of_piece(std::string_view piece) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  const size_t high = kDigits.find(piece[3]), low = kDigits.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(16 * high + low);
}

}  // namespace ordinal
