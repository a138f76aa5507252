// random_numbers.h: numbers that are the same everywhere for one seed, for samples, checks and made-up tables.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace ordinal {

// splitmix64 (Steele, Lea, Flood 2014); normal deviates by Box and Muller.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed) {}

  double uniform() {  // above 0, at most 1
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 1) * 0x1p-53;
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  std::vector<double> normals(size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = normal();
    return values;
  }

 private:
  uint64_t state_;
};

}  // namespace ordinal
