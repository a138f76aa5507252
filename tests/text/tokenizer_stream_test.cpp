// tokenizer_stream_test.cpp: characters found in bytes, and text streamed without half of one.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer_data.h"

using namespace ordinal;

namespace {

std::string utf8_of(uint32_t code) {
  std::string bytes;
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  bytes += static_cast<char>((0xff00 >> (more + 1) & 0xff) | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) bytes += static_cast<char>(0x80 | (code >> 6 * i & 0x3f));
  return bytes;
}

bool is_whole(std::string_view text) { return utf8_end(text, 0) == text.size(); }

}  // namespace

TEST_CASE("utf8: the well-formed characters are the encodings of the scalar values and nothing else") {
  // Every scalar value is one; all of them together are as many as pass among all strings of up to three bytes and
  // among those of four that begin with F0 to F4.
  size_t scalars = 0;
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    const std::string bytes = utf8_of(code);
    const bool scalar = code < 0xd800 || code > 0xdfff;
    scalars += scalar;
    if ((utf8_length(bytes) == bytes.size()) != scalar) FAIL("U+", code);
  }
  size_t passed = 0;
  for (uint32_t first = 0; first < 256; ++first) {
    std::string bytes(1, static_cast<char>(first));
    if (utf8_length(bytes) == 1) ++passed;
    for (uint32_t second = 0; second < 256; ++second) {
      bytes.resize(1);
      bytes += static_cast<char>(second);
      if (utf8_length(bytes) == 2) ++passed;
      for (uint32_t third = 0; third < 256; ++third) {
        bytes.resize(2);
        bytes += static_cast<char>(third);
        if (utf8_length(bytes) == 3) ++passed;
        if (first < 0xf0 || first > 0xf4) continue;
        // The last byte has no rule but 80..BF; which three bytes may come before it is what could go wrong.
        bytes += '\x80';
        if (utf8_length(bytes) == 4) passed += 64;
        bytes[3] = '\xc0';
        if (utf8_length(bytes) == 4) FAIL("a fourth byte that continues nothing");
      }
    }
  }
  CHECK(passed == scalars);
  CHECK(utf8_length("\xf5\x80\x80\x80") == 0);
  CHECK(utf8_length("") == 0);
}

TEST_CASE("utf8: a cut character is one that some bytes would complete") {
  for (uint32_t code : {0xe9u, 0x20acu, 0xfffdu, 0x800u, 0x1f6a2u, 0x10ffffu, 0x10000u}) {
    const std::string bytes = utf8_of(code);
    for (size_t cut = 1; cut < bytes.size(); ++cut) CHECK(utf8_is_cut_short(bytes.substr(0, cut)));
    CHECK_FALSE(utf8_is_cut_short(bytes));
  }
  for (const char* never :
       {"a", "\x80", "\xc0", "\xc1", "\xe0\x9f", "\xed\xa0", "\xf0\x8f", "\xf4\x90", "\xf5", "\xe2\x82\x41"})
    CHECK_FALSE(utf8_is_cut_short(never));
}

TEST_CASE("stream: what is written is whole characters, held back at most three bytes, and nothing is lost") {
  test::Random random(41);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += utf8_of(static_cast<uint32_t>(random.below(3) == 0 ? random.below(0xd800) : random.below(0x300)));
    Utf8Stream stream;
    std::string written;
    for (size_t at = 0; at < text.size();) {
      const size_t length = static_cast<size_t>(random.below(6));
      const std::string chunk = stream.push(std::string_view(text).substr(at, length));
      at = std::min(text.size(), at + length);
      CHECK(is_whole(chunk));
      written += chunk;
      CHECK(at - written.size() <= 3);
    }
    CHECK(stream.finish().empty());
    CHECK(written == text);
  }
}

TEST_CASE("stream: bytes that become no character pass as they are, in the end at the latest") {
  test::Random random(42);
  for (int round = 0; round < 300; ++round) {
    const std::string text = test::random_bytes(random, static_cast<size_t>(random.below(60)));
    Utf8Stream stream;
    std::string written;
    for (const char byte : text) written += stream.push(std::string_view(&byte, 1));
    CHECK(text.size() - written.size() <= 3);
    written += stream.finish();
    CHECK(written == text);
    CHECK(stream.finish().empty());
  }
}

TEST_CASE("stream: a character is written as soon as it is whole or cannot become so") {
  Utf8Stream stream;
  CHECK(stream.push("a\xe2") == "a");
  CHECK(stream.push("\x82") == "");
  CHECK(stream.push("\xac") == "\xe2\x82\xac");
  CHECK(stream.push("\xf0\x9f") == "");
  CHECK(stream.push("b") ==
        "\xf0\x9f"
        "b");
  CHECK(stream.push("\xe2\xe2\x82") == "\xe2");
  CHECK(stream.push("") == "");
  CHECK(stream.finish() == "\xe2\x82");
  CHECK(stream.push("\xff\x80") == "\xff\x80");
}
