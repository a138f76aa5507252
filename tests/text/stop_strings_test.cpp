// stop_strings_test.cpp: the end of a text does not depend on how it came in pieces.
#include "text/stop_strings.h"

#include "support.h"

namespace {

// The text before the first stop string to be complete, by looking at every prefix.
std::string naive(const std::string& text, const std::vector<std::string>& stops, bool& found) {
  for (size_t end = 0; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops)
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0)
        longest = std::max(longest, stop.size());
    if (longest > 0) {
      found = true;
      return text.substr(0, end - longest);
    }
  }
  found = false;
  return text;
}

// Pushes the text in the given pieces; also checks that nothing is held back without need.
std::string streamed(const std::vector<std::string>& pieces, const std::vector<std::string>& stops, bool& found) {
  ordinal::StopStrings matcher(stops);
  std::string text, given;
  size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  for (const std::string& piece : pieces) {
    if (matcher.found()) break;
    given += piece;
    text += matcher.push(piece);
    if (!matcher.found()) CHECK(given.size() - text.size() < std::max<size_t>(longest, 1));
  }
  found = matcher.found();
  if (!found) text += matcher.finish();
  return text;
}

}  // namespace

TEST_CASE("stop_strings: a stop string split over pieces ends the text before it") {
  bool found = false;
  CHECK(streamed({"one, t", "w", "o, three"}, {"two"}, found) == "one, ");
  CHECK(found);
  CHECK(streamed({"one", ", two"}, {"two, t"}, found) == "one, two");
  CHECK(!found);
  CHECK(streamed({"a\n", "\nb"}, {"\n\n"}, found) == "a");
  CHECK(streamed({"\xe2\x80", "\x9c"}, {"\xe2\x80\x9c"}, found).empty());
  CHECK(found);
}

TEST_CASE("stop_strings: bytes that only looked like a beginning are not lost") {
  bool found = false;
  CHECK(streamed({"ab", "ab", "ac"}, {"ababx"}, found) == "ababac");
  CHECK(!found);
  CHECK(streamed({"aab", "aaab"}, {"aaab"}, found) == "aab");
  CHECK(streamed({"text"}, {}, found) == "text");
}

TEST_CASE("stop_strings: the first to be complete wins, and the longer of two complete at once") {
  bool found = false;
  for (const std::vector<std::string>& pieces :
       std::vector<std::vector<std::string>>{{"xabcd"}, {"x", "a", "b", "c", "d"}, {"xab", "cd"}}) {
    CHECK(streamed(pieces, {"abcd", "bc"}, found) == "xa");
    CHECK(streamed(pieces, {"bc", "abc"}, found) == "x");
    CHECK(streamed(pieces, {"abc", "bc"}, found) == "x");
  }
}

TEST_CASE("stop_strings: any cut of any text gives what the whole text gives") {
  test::Random random(21);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const auto word = [&](int64_t least, int64_t most) {
      std::string text;
      for (int64_t n = least + random.below(most - least + 1); n > 0; --n)
        text += static_cast<char>('a' + random.below(2));
      return text;
    };
    std::vector<std::string> stops, pieces;
    for (int64_t n = 1 + random.below(3); n > 0; --n) stops.push_back(word(1, 6));
    std::string text;
    for (int64_t n = random.below(12); n > 0; --n) text += pieces.emplace_back(word(0, 4));
    bool found = false, expected_found = false;
    const std::string expected = naive(text, stops, expected_found);
    CHECK(streamed(pieces, stops, found) == expected);
    CHECK(found == expected_found);
  }
}

TEST_CASE("stop_strings: an empty string is refused") {
  CHECK(test::mentions(test::error_of([] { ordinal::StopStrings({"a", ""}); }), {"stop string is empty"}));
}
