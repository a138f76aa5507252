// support.cpp: see support.h.
#include "support.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numbers>
#include <set>
#include <sstream>

namespace test {
namespace fs = std::filesystem;

std::string repository(const std::string& relative) {
  return (fs::path(__FILE__).is_absolute() ? fs::path(__FILE__).parent_path().parent_path() / relative
                                           : fs::path(relative))
      .string();
}

std::string shared(const std::string& relative) {
  const char* root = std::getenv("ORDINAL_SHARED");
  const fs::path path = (root != nullptr ? fs::path(root) : fs::path(repository("../shared"))) / relative;
  if (fs::exists(path)) return path.string();
  static std::set<std::string> said;
  if (said.insert(relative).second) MESSAGE("skipped: no ", path.string());
  return "";
}

Scratch::Scratch() {
  static std::atomic<int> count{0};
  folder_ = fs::temp_directory_path() /
            ("ordinal-test-" + std::to_string(getpid()) + "-" + std::to_string(count.fetch_add(1)));
  fs::create_directories(folder_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, "cannot read ", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE_MESSAGE(file.good(), "cannot write ", path);
}

uint64_t Random::bits() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

int64_t Random::below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }

float Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
}

std::vector<float> Random::normals(size_t count, float scale) {
  std::vector<float> values(count);
  for (float& value : values) value = scale * normal();
  return values;
}

bool mentions(std::string_view text, const std::vector<std::string>& any_of) {
  const auto lower = [](std::string_view from) {
    std::string to(from);
    std::transform(to.begin(), to.end(), to.begin(), [](unsigned char c) { return std::tolower(c); });
    return to;
  };
  return std::any_of(any_of.begin(), any_of.end(),
                     [&](const std::string& word) { return lower(text).find(lower(word)) != std::string::npos; });
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace test
