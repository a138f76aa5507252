// compared_text_test.cpp: a comparison in a terminal, and its tokens as a NumPy file.
#include "report/compared_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compared_sample.h"
#include "report/npy.h"
#include "report/text.h"
#include "support.h"

using namespace ordinal;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

size_t characters(const std::string& line) {
  return static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

TEST_CASE("compared_text: no table is wider than the terminal, and every number is still there") {
  const Compared result = test::sample_comparison({.schemes = 12});
  for (const size_t width : {60, 80, 120}) {
    const std::string text = report::to_text(result, width, false);
    for (const std::string& line : lines_of(text)) {
      const bool is_story = line.starts_with("  ") && line.find(":  ") != std::string::npos;
      if (!is_story) CHECK_MESSAGE(characters(line) <= width, line);
    }
    CHECK(text.find("ntrained") != std::string::npos);
    CHECK(text.find("+0.015 [") != std::string::npos);
  }
  CHECK(report::to_text(result, 0, false).find("rope:scaling=linear,factor=4  ") != std::string::npos);
}

TEST_CASE("compared_text: findings first, then at each length the best first") {
  const Compared result = test::sample_comparison();
  const std::string text = report::to_text(result, 0, false);
  CHECK(text.starts_with("Trained under 3 schemes at once"));
  const size_t longest = text.find("\n2,048 tokens, past the trained length of 512\n");
  REQUIRE(longest != std::string::npos);
  CHECK(text.find("alibi", longest) < text.find("rope ", longest));
  CHECK(text.find("extrapolating", longest) != std::string::npos);
  // What is of one scheme alone is counted, not listed.
  CHECK(text.find("1 more finding,") != std::string::npos);
  CHECK(text.find("no verdict on it") == std::string::npos);
}

TEST_CASE("compared_text: recall is a table with its intervals where something is recalled") {
  Compared result = test::sample_comparison();
  result.recall_chance = 0.05;
  CHECK(report::to_text(result, 0, false).find("of 2048") != std::string::npos);
  for (RecallRow& row : result.recall) row.accuracy = row.low = 0.02;
  const std::string text = report::to_text(result, 0, false);
  CHECK(text.find("right best token") == std::string::npos);
  CHECK(text.find("of 2048") == std::string::npos);
}

TEST_CASE("text: cells are cut in their middle where a table would be too wide, paragraphs at blanks") {
  const std::vector<std::vector<std::string>> cells = {{"rope:scaling=linear,factor=4", "1.25"}, {"é", "-"}};
  CHECK(report::fitted(cells, 0) == cells);
  CHECK(report::fitted(cells, 100) == cells);
  const auto cut = report::fitted(cells, 26);
  CHECK(cut[0][0] == "rope:scal…r,factor=4");
  CHECK(characters(report::table(cut, "lr")) == 2 * 27);
  CHECK(cut[1][0] == "é");
  // A table of many columns goes on below itself, the names once more.
  const std::vector<std::vector<std::string>> wide = {{"scheme", "64", "128", "256"}, {"rope", "1.5", "2.5", "3.5"}};
  CHECK(report::table_in_parts(wide, "lrrr", 0) == report::table(wide, "lrrr"));
  CHECK(report::table_in_parts(wide, "lrrr", 16) == "scheme   64  128\nrope    1.5  2.5\n\nscheme  256\nrope    3.5\n");
  CHECK(report::wrapped("one two three", 7) == "one two\n  three\n");
  CHECK(report::wrapped("one two three", 0) == "one two three\n");
  CHECK(report::wrapped("incomprehensible", 4) == "incomprehensible\n");
}

TEST_CASE("npy: the losses of tokens are records that say what they are") {
  TokenLosses losses;
  TokenLosses::Pass& pass = losses.passes.emplace_back();
  pass.length = 16, pass.protocol = kSliding;
  pass.positions = {"alibi", "rope:theta=500"};
  pass.text = {0, 1}, pass.target = {1, 2}, pass.place = {1, 2}, pass.id = {7, 8};
  pass.nll = {{1.5f, 2.5f}, {3.5f, 4.5f}};
  const std::string bytes = report::to_npy(losses, std::vector<std::string>{"learned", "alibi", "rope:theta=500"});
  CHECK(bytes.starts_with("\x93NUMPY\x01"));
  CHECK(bytes.find("('protocol', '|i1'), ('learned', '<f4'), ('alibi', '<f4'), ('rope:theta=500', '<f4'), ]") !=
        std::string::npos);
  CHECK(bytes.find("'shape': (2, )") != std::string::npos);
  constexpr size_t kRecord = 5 * 4 + 1 + 3 * 4;
  REQUIRE((bytes.size() - 2 * kRecord) % 64 == 0);
  const char* second = bytes.data() + bytes.size() - kRecord;
  int32_t whole[5];
  float nll[3];
  std::memcpy(whole, second, sizeof whole);
  std::memcpy(nll, second + sizeof whole + 1, sizeof nll);
  CHECK(std::vector<int32_t>(whole, whole + 5) == std::vector<int32_t>{1, 2, 2, 8, 16});
  CHECK(second[sizeof whole] == 1);
  CHECK(std::isnan(nll[0]));
  CHECK(nll[1] == 2.5f);
  CHECK(nll[2] == 4.5f);
}
