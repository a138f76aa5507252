// utf8.cpp: see utf8.h.
#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace ordinal {
namespace {

unsigned byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// What a leading byte promises: the bytes of its character, and the range of the second, which is narrower than
// 80..BF where it would otherwise spell a character twice, a surrogate, or something past U+10FFFF.
struct Lead {
  size_t length = 0;  // 0: no character begins with this byte
  unsigned second_min = 0x80, second_max = 0xbf;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xc2) return {};
  if (byte < 0xe0) return {2};
  if (byte < 0xf0) return {3, byte == 0xe0 ? 0xa0u : 0x80u, byte == 0xed ? 0x9fu : 0xbfu};
  if (byte < 0xf5) return {4, byte == 0xf0 ? 0x90u : 0x80u, byte == 0xf4 ? 0x8fu : 0xbfu};
  return {};
}

// How many bytes of the promise are kept, from the first on.
size_t kept_bytes(std::string_view text, const Lead& lead) {
  size_t kept = lead.length == 0 ? 0 : 1;
  while (kept < lead.length && kept < text.size()) {
    const unsigned byte = byte_at(text, kept);
    if (byte < (kept == 1 ? lead.second_min : 0x80u) || byte > (kept == 1 ? lead.second_max : 0xbfu)) break;
    ++kept;
  }
  return kept;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(byte_at(text, 0));
  return kept_bytes(text, lead) == lead.length ? lead.length : 0;
}

bool utf8_is_cut_short(std::string_view text) {
  if (text.empty()) return false;
  const Lead lead = lead_of(byte_at(text, 0));
  return text.size() < lead.length && kept_bytes(text, lead) == text.size();
}

size_t utf8_end(std::string_view text, size_t begin) {
  size_t at = begin;
  while (at < text.size()) {
    uint64_t eight = 0;
    while (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) != 0) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

size_t utf8_broken_end(std::string_view text, size_t begin) {
  size_t at = begin;
  while (at < text.size() && utf8_length(text.substr(at)) == 0) ++at;
  return at;
}

}  // namespace ordinal
