// sniff.h: what a file that is no checkpoint looks like, so that a refusal can say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/words.h"

namespace ordinal::convert {

// The little-endian number at `at`, which must lie within `bytes`.
uint32_t read_u32(std::span<const std::byte> bytes, size_t at);
int32_t read_i32(std::span<const std::byte> bytes, size_t at);
uint64_t read_u64(std::span<const std::byte> bytes, size_t at);
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
