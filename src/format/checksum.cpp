// checksum.cpp: see checksum.h.
#include "format/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ordinal {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are little-endian and are read in place");

uint64_t step(uint64_t state, uint64_t word) { return std::rotl((state ^ word) * 0x100000001b3, 29); }

uint64_t word_at(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

void Checksum::add(std::span<const std::byte> bytes) {
  const size_t waiting = length_ % tail_.size();
  length_ += bytes.size();
  if (waiting != 0) {
    const size_t taken = std::min(tail_.size() - waiting, bytes.size());
    std::copy_n(bytes.begin(), taken, tail_.begin() + static_cast<ptrdiff_t>(waiting));
    bytes = bytes.subspan(taken);
    if (waiting + taken < tail_.size()) return;
    state_ = step(state_, word_at(tail_.data()));
  }
  uint64_t state = state_;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) state = step(state, word_at(bytes.data() + at));
  state_ = state;
  std::copy(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), tail_.begin());
}

uint64_t Checksum::value() const {
  uint64_t state = state_;
  if (const size_t waiting = length_ % tail_.size(); waiting != 0) {
    std::array<std::byte, 8> word{};
    std::copy_n(tail_.begin(), waiting, word.begin());
    state = step(state, word_at(word.data()));
  }
  return step(state, length_);
}

uint64_t checksum_of(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

std::string checksum_text(uint64_t checksum) {
  std::string text(16, '0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = "0123456789abcdef"[(checksum >> (60 - 4 * i)) & 15];
  return text;
}

}  // namespace ordinal
