// words_test.cpp: bytes, numbers and lists as words.
#include "base/words.h"

#include <array>

#include "support.h"

using namespace ordinal;

TEST_CASE("words: bytes in messages are printable, and reversible") {
  CHECK(escaped("a\x1b[31m\n\t\r\\") == R"(a\x1b[31m\n\t\r\\)");
  CHECK(escaped("\xc3\xa9\xe2\x82\xac") == "\xc3\xa9\xe2\x82\xac");
  CHECK(escaped("\xc3\xff\x7f\xc2\x9b") == R"(\xc3\xff\x7f\xc2\x9b)");  // the last is a control character, CSI
  CHECK(escaped("") == "");
}

TEST_CASE("words: a long text in quotes is cut between characters") {
  CHECK(in_quotes("a\x1b") == R"('a\x1b')");
  CHECK(in_quotes(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  CHECK(in_quotes(std::string(81, 'x')) == "'" + std::string(80, 'x') + "...'");
  CHECK(in_quotes(std::string(79, 'x') + "\xc3\xa9y") == "'" + std::string(79, 'x') + "...'");
  CHECK(in_quotes(std::string(78, 'x') + "\xc3\xa9y") == "'" + std::string(78, 'x') + "\xc3\xa9...'");
  CHECK(in_quotes(std::string(90, '\x80')).starts_with("'\\x80\\x80"));
}

TEST_CASE("words: large numbers have commas") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(-999) == "-999");
  CHECK(grouped(-1000) == "-1,000");
  CHECK(grouped(INT64_MIN) == "-9,223,372,036,854,775,808");
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(999) == "999 bytes");
  CHECK(bytes_text(1000) == "1,000 bytes");
  CHECK(bytes_text(499208192) == "499,208,192 bytes");
  CHECK(bytes_text(UINT64_MAX) == "18,446,744,073,709,551,615 bytes");
}

TEST_CASE("words: lists are joined, empty items included") {
  struct Row {
    std::string_view name;
    int size;
  };
  const std::array<Row, 3> rows = {{{"", 1}, {"b", -2}, {"c", 3}}};
  CHECK(joined(rows, ", ", &Row::name) == ", b, c");
  CHECK(joined(rows, "x", &Row::size) == "1x-2x3");
  CHECK(joined(std::array<std::string, 1>{"a"}) == "a");
  CHECK(joined(std::array<std::string, 0>{}) == "");
}

TEST_CASE("words: a mistyped word is answered with the nearest, or with none") {
  constexpr std::array<std::string_view, 4> kWords = {"rope", "alibi", "sinusoidal", "none"};
  CHECK(nearest_word("rpoe", kWords) == "rope");
  CHECK(nearest_word("aliby", kWords) == "alibi");
  CHECK(nearest_word("sinusodal", kWords) == "sinusoidal");
  CHECK(nearest_word("sinusoid", kWords) == "sinusoidal");
  CHECK(nearest_word("transformer", kWords).empty());
  CHECK(nearest_word("", kWords).empty());
  CHECK(nearest_word(std::string(2000, 'x'), kWords).empty());
}
