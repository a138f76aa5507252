// checksum.h: the checksum of a model file's parts: it finds accidents, not forgeries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ordinal {

// FNV-1a's step on 64-bit words, with a rotation: state = rotate_left((state ^ word) * prime, 29). The last word is
// filled up with zeros, and the length in bytes follows as a word of its own. Each step is a bijection of the word, so
// one changed word always changes the result. Without the rotation a word's top bit would stay the top bit for good,
// and two flipped signs of floats at odd places would cancel.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  uint64_t state_ = 0xcbf29ce484222325;
  uint64_t length_ = 0;
  std::array<std::byte, 8> tail_{};  // the first length_ % 8 bytes are waiting
};

uint64_t checksum_of(std::span<const std::byte> bytes);

// 16 lower-case hexadecimal digits.
std::string checksum_text(uint64_t checksum);

}  // namespace ordinal
