// crc32c.cpp: see crc32c.h. Eight bytes a step, by tables that say what a byte becomes 0 to 7 bytes later.
#include "convert/tensorflow/crc32c.h"

#include <array>
#include <cstddef>

namespace ordinal::convert {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // its bits in reverse
constexpr uint32_t kMask = 0xa282ead8;

constexpr auto kSteps = [] {
  std::array<std::array<uint32_t, 256>, 8> steps{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? kPolynomial : 0);
    steps[0][byte] = rest;
  }
  for (size_t later = 1; later < 8; ++later)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = steps[later - 1][byte];
      steps[later][byte] = before >> 8 ^ steps[0][before & 255];
    }
  return steps;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  uint32_t sum = ~uint32_t{0};
  size_t at = 0;
  for (; bytes.size() - at >= 8; at += 8) {
    uint32_t next = 0;
    for (size_t i = 0; i < 4; ++i) next ^= kSteps[7 - i][byte(at + i) ^ (sum >> (8 * i) & 255)];
    for (size_t i = 4; i < 8; ++i) next ^= kSteps[7 - i][byte(at + i)];
    sum = next;
  }
  for (; at < bytes.size(); ++at) sum = sum >> 8 ^ kSteps[0][(sum ^ byte(at)) & 255];
  return ~sum;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t sum = crc32c(bytes);
  return (sum >> 15 | sum << 17) + kMask;
}

}  // namespace ordinal::convert
