// sniff.h: what a file that is no checkpoint looks like, so that a refusal can say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/words.h"

namespace ordinal::convert {

// The little-endian number at `at`, which must lie within `bytes`.
uint32_t read_u32(std::span<const std::byte> bytes, size_t at);
int32_t read_i32(std::span<const std::byte> bytes, size_t at);
uint64_t read_u64(std::span<const std::byte> bytes, size_t at);

// A number as protobuf and LevelDB write it, seven bits a byte, the lowest first; nothing when it goes on past 64 bits.
// `next` gives a byte, or throws.
template <class Next>
std::optional<uint64_t> read_varint(const Next& next) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(next());
    number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}
float read_f32(std::span<const std::byte> bytes, size_t at);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What the bytes look like, such as "a zip archive", and what to do about it; "" when they look like nothing known.
struct Likeness {
  std::string what, suggestion;
};
Likeness likeness(std::span<const std::byte> bytes);

// Weights of a program that no importer reads, by the usual names of their files; "" when the folder has none.
std::string other_weights_in(const std::string& folder);

// Throws the Error for a path that no importer recognises.
[[noreturn]] void refuse_unrecognised(const std::string& path, std::span<const std::byte> bytes);
[[noreturn]] void refuse_folder(const std::string& path);

}  // namespace ordinal::convert
