// support.h: what several tests need: the handed-over material, scratch files, seeded numbers, and checks on errors.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/error.h"

namespace test {

// A file or folder of the shared material (ORDINAL_SHARED, or ../shared beside the checkout), "" when it is absent;
// says so once per path on the test output, so that a skipped check is seen.
std::string shared(const std::string& relative);

// A file of the repository, found from the place of this source file.
std::string repository(const std::string& relative);

// A fresh folder that goes when the object does.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

// Numbers that are the same everywhere for one seed (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits();
  double uniform();          // [0, 1)
  int64_t below(int64_t n);  // 0 .. n-1
  float normal();            // mean 0, deviation 1
  std::vector<float> normals(size_t count, float scale = 1.0f);

 private:
  uint64_t state_;
};

// Runs `action`, which must throw ordinal::Error; returns its full text.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const ordinal::Error& error) {
    return error.what();
  }
  FAIL("no Error was thrown");
  return "";
}

// Whether `text` holds one of the words, case ignored.
bool mentions(std::string_view text, const std::vector<std::string>& any_of);

// The same double or float bit for bit; NaN equals the same NaN.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace test
