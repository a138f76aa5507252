// readme_test.cpp: the worked example in src/format/README.md is what the writer writes.
#include <cstdlib>
#include <sstream>

#include "ordinal/model_file.h"
#include "support.h"
#include "tiny_model.h"

namespace {

// The lines between ```kind and ```, of the `index`th such block.
std::vector<std::string> block(const std::string& text, const std::string& kind, int index) {
  std::istringstream lines(text);
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!inside && line == "```" + kind && index-- == 0) {
      inside = true;
    } else if (inside && line == "```") {
      return found;
    } else if (inside) {
      found.push_back(line);
    }
  }
  FAIL("README.md has no such block: ", kind);
  return found;
}

// The bytes of lines "00000010  4f 52 ...  ; remark"; "*" repeats the line before it up to the next one.
std::string bytes_of(const std::vector<std::string>& lines, size_t begin) {
  std::string bytes, row;
  for (const std::string& line : lines) {
    if (line == "*") continue;
    const size_t at = std::stoul(line.substr(0, 8), nullptr, 16) - begin;
    while (bytes.size() < at && !row.empty()) bytes += row;
    CHECK(bytes.size() == at);
    row.clear();
    std::istringstream digits(line.substr(8, line.find(';') - 8));
    for (std::string pair; digits >> pair;) row += static_cast<char>(std::stoi(pair, nullptr, 16));
    bytes += row;
  }
  return bytes;
}

}  // namespace

TEST_CASE("model_file: the worked example in README.md is true to the byte") {
  const std::string readme = test::read_file(test::repository("src/format/README.md"));
  std::string example = bytes_of(block(readme, "hexdump", 0), 0);
  REQUIRE(example.size() == 64);
  for (const std::string& line : block(readme, "json", 0)) example += line.substr(line.find_first_not_of(' '));
  example.resize((example.size() + 63) / 64 * 64);
  example += bytes_of(block(readme, "hexdump", 1), example.size());

  const test::Scratch scratch;
  write_model_file(tiny::example(), scratch.path("example.ordinal"));
  CHECK(test::read_file(scratch.path("example.ordinal")) == example);
  CHECK_NOTHROW(tiny::open_bytes(example).verify());
}
