// parts_test.cpp: the strict JSON reader, the checksum, and the config as JSON.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "format/checksum.h"
#include "format/config_fields.h"
#include "format/json_reader.h"
#include "format/mapped_file.h"
#include "format/words.h"
#include "ordinal/error.h"
#include "support.h"
#include "tiny_model.h"

using ordinal::JsonReader;

namespace {

std::string string_error(std::string_view json) {
  return test::error_of([&] { (void)JsonReader(json, "text").string("value"); });
}

}  // namespace

TEST_CASE("json_reader: strings are decoded as RFC 8259 says") {
  struct Case {
    const char *json, *text;
  };
  // The last two: U+1D11E as the pair of RFC 8259 section 7, and the largest code point.
  for (const Case& c : {Case{R"("")", ""}, Case{R"("a\"\\\/\b\f\n\r\tb")", "a\"\\/\b\f\n\r\tb"},
                        Case{R"("\u00e9\u20AC")", "\xc3\xa9\xe2\x82\xac"}, Case{"\"\xc3\xa9\"", "\xc3\xa9"},
                        Case{R"("\uD834\uDD1E")", "\xf0\x9d\x84\x9e"}, Case{R"("\udbff\udfff")", "\xf4\x8f\xbf\xbf"}})
    CHECK(JsonReader(c.json, "text").string("value") == c.text);
}

TEST_CASE("json_reader: refuses strings that are not") {
  for (const char* json : {"",
                           "x",
                           "\"",
                           "\"abc",
                           "\"\\\"",
                           "\"\\x41\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\u-123\"",
                           "\"\\ud834\"",
                           "\"\\ud834x\"",
                           "\"\\ud834\\u0041\"",
                           "\"\\udd1e\"",
                           "\"\n\"",
                           "\"\x1f\"",
                           "\"\x80\"",
                           "\"\xc3\"",
                           "\"\xc0\x80\"",
                           "\"\xe0\x80\x80\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf0\x80\x80\x80\"",
                           "\"\xf4\x90\x80\x80\"",
                           "\"\xff\"",
                           "\"\\"})
    CHECK(test::mentions(string_error(json), {"at byte"}));
}

TEST_CASE("json_reader: numbers follow the grammar and must fit") {
  const auto integer = [](const char* json) {
    JsonReader reader(json, "text");
    const int64_t value = reader.integer("value");
    reader.end();
    return value;
  };
  CHECK(integer("0") == 0);
  CHECK(integer(" -12") == -12);
  CHECK(integer("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(integer("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  for (const char* json : {"", "-", "+1", "01", "1.0", "1e3", "9223372036854775808", "x", "\"1\"", "0x10", "--1"})
    CHECK_THROWS_AS((void)integer(json), ordinal::Error);
  const auto number = [](const char* json) {
    JsonReader reader(json, "text");
    const float value = reader.number("value");
    reader.end();
    return value;
  };
  CHECK(number("1e-05") == 1e-5f);
  CHECK(number("0.70710677") == 0.70710677f);
  CHECK(number("-2.5E+2") == -250.0f);
  for (const char* json : {"1.", ".5", "1e", "1e+", "nan", "inf", "-", "1e39", "1e400", "00"})
    CHECK_THROWS_AS((void)number(json), ordinal::Error);
}

TEST_CASE("json_reader: brackets and commas are where they must be") {
  const auto sum = [](const char* json) {
    JsonReader reader(json, "text");
    int64_t total = 0;
    reader.array("list", [&] { total += reader.integer("item"); });
    reader.end();
    return total;
  };
  CHECK(sum(" [ 1 ,\n2,\t3 ] ") == 6);
  CHECK(sum("[]") == 0);
  for (const char* json : {"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[1] x", "{}", "[[1]]", "[true]"})
    CHECK_THROWS_AS((void)sum(json), ordinal::Error);

  const auto flag = [](const char* json) {
    JsonReader reader(json, "text");
    bool value = false;
    reader.object("thing", {{"on", [&] { value = reader.boolean("on"); }}, {"more", [] {}, false}});
    return value;
  };
  CHECK(flag(R"({ "on" : true })"));
  CHECK(flag(R"({"\u006fn":true})"));
  for (const char* json : {"{", "{\"on\"", "{\"on\":", "{\"on\" true}", "{\"on\":true", "{\"on\":true,}", "{on:true}",
                           "{\"on\":tru}", "{\"on\":null}", "{\"on\":1}", "{}", "{\"off\":true}", "[]"})
    CHECK_THROWS_AS((void)flag(json), ordinal::Error);
}

TEST_CASE("json_reader: any value is passed over, its text kept") {
  for (const char* json : {"null", "true", "false", "-1.5e3", "1e999", "\"a\\n\"", "[]", "{}", "[1,[2,{\"a\":[null]}]]",
                           "{\"a\" : 1, \"b\":{}}"}) {
    const std::string text = " " + std::string(json) + " ";
    JsonReader reader(text, "text");
    CHECK(reader.any_value("value") == json);
    CHECK_NOTHROW(reader.end());
  }
  for (const char* json : {"", "nul", "tru", "-", "01", "\"", "[1,]", "{\"a\"}", "[[[[]]]]", "x"})
    CHECK_THROWS_AS((void)JsonReader(json, "text").any_value("value", 3), ordinal::Error);
}

TEST_CASE("json_reader: natural numbers have 64 bits") {
  CHECK(JsonReader("18446744073709551615", "text").natural("value") == UINT64_MAX);
  for (const char* json : {"18446744073709551616", "-1", "1.0", "\"1\"", ""})
    CHECK_THROWS_AS((void)JsonReader(json, "text").natural("value"), ordinal::Error);
}

TEST_CASE("json_reader: of a line it says the line and the column in characters") {
  const std::string text = "\"\xc3\xa9\" x";
  JsonReader reader(text, "file", 7);
  (void)reader.string("value");
  CHECK(
      test::mentions(test::error_of([&] { reader.end(); }), {"file, line 7, column 5: there is more than one value"}));
}

TEST_CASE("json_reader: deep nesting is refused at the first bracket, not followed") {
  const std::string deep(10'000'000, '[');
  JsonReader reader(deep, "text");
  CHECK(
      test::mentions(test::error_of([&] { reader.array("list", [&] { (void)reader.integer("item"); }); }), {"byte 1"}));
}

TEST_CASE("json_reader: what it writes reads back") {
  const std::string nasty("\"\\/\b\0\x1f\x7f\xc3\xa9", 9);
  CHECK(JsonReader(ordinal::json_string(nasty), "text").string("value") == nasty);
  for (const float value : {0.0f, -0.0f, 1e-45f, 3.4028235e38f, 1.0f / 3})
    CHECK(test::same_bits({JsonReader(ordinal::json_number(value), "text").number("value")}, {value}));
}

TEST_CASE("words: text in messages is short and printable") {
  CHECK(ordinal::quoted("a\x1b[31m\xc3\xa9") == R"('a\x1b[31m\xc3\xa9')");
  CHECK(ordinal::quoted(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
  CHECK(ordinal::bytes_text(0) == "0 bytes");
  CHECK(ordinal::bytes_text(1) == "1 byte");
  CHECK(ordinal::bytes_text(999) == "999 bytes");
  CHECK(ordinal::bytes_text(1000) == "1,000 bytes");
  CHECK(ordinal::bytes_text(499208192) == "499,208,192 bytes");
}

TEST_CASE("checksum: in one piece or in many, with any length") {
  test::Random random(3);
  std::string bytes(100, '\0');
  for (char& c : bytes) c = static_cast<char>(random.bits());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view text = std::string_view(bytes).substr(0, size);
    ordinal::Checksum checksum;
    for (size_t at = 0; at < size;) {
      const size_t step = std::min(size - at, static_cast<size_t>(random.below(20)));
      checksum.add(std::as_bytes(std::span(text.substr(at, step))));
      at += step;
    }
    CHECK(checksum.value() == tiny::naive_checksum(text));
    CHECK(ordinal::checksum_of(std::as_bytes(std::span(text))) == checksum.value());
  }
  // One step by hand, for nothing at all: (0xcbf29ce484222325 * 0x100000001b3) mod 2^64 is 0xaf63bd4c8601b7df, turned
  // left by 29 bits.
  CHECK(ordinal::checksum_of({}) == ((0xaf63bd4c8601b7dfu << 29) | (0xaf63bd4c8601b7dfu >> 35)));
  CHECK(ordinal::checksum_text(0x0123456789abcdef) == "0123456789abcdef");
}

TEST_CASE("checksum: zeros count") {
  const std::array<std::byte, 24> zeros{};
  CHECK(ordinal::checksum_of(std::span(zeros).first(8)) != ordinal::checksum_of(std::span(zeros).first(16)));
  CHECK(ordinal::checksum_of(std::span(zeros).first(1)) != ordinal::checksum_of(std::span(zeros).first(0)));
}

TEST_CASE("config: has a JSON form that reads back") {
  const ordinal::ModelConfig config = tiny::odd_shapes().config;
  const std::string json = ordinal::config_json(config);
  JsonReader reader(json, "config");
  CHECK(ordinal::config_json(ordinal::read_config(reader)) == json);
}

TEST_CASE("mapped_file: gives the bytes of a file, and none of an empty one") {
  const test::Scratch scratch;
  test::write_file(scratch.path("three"), "abc");
  test::write_file(scratch.path("empty"), "");
  const auto file = ordinal::MappedFile::open(scratch.path("three"));
  REQUIRE(file->bytes().size() == 3);
  CHECK(file->bytes()[2] == std::byte{'c'});
  CHECK(file->path() == scratch.path("three"));
  CHECK(ordinal::MappedFile::open(scratch.path("empty"))->bytes().empty());
}
