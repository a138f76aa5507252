// sha256.h: SHA-256 of a string, for cases that give their answer as one. FIPS 180-4.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace test {

inline std::string sha256_hex(std::string_view data) {
  // The constants are the first 32 bits of the fractions of square and cube roots of primes.
  std::array<uint32_t, 64> constants{};
  std::array<uint32_t, 8> state{};
  size_t primes = 0;
  for (uint64_t n = 2; primes < constants.size(); ++n) {
    bool prime = true;
    for (uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    const auto fraction = [](long double root) { return static_cast<uint32_t>((root - std::floor(root)) * 0x1p32L); };
    if (primes < state.size()) state[primes] = fraction(std::sqrt(static_cast<long double>(n)));
    constants[primes++] = fraction(std::cbrt(static_cast<long double>(n)));
  }
  std::string message(data);
  message += '\x80';
  message.append((120 - message.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(uint64_t{data.size()} * 8 >> shift);
  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<uint32_t, 64> w{};
    for (size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(message[block + i]);
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t t1 =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
      const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) state[i] += added[i];
  }
  std::string hex;
  for (const uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
  return hex;
}

}  // namespace test
