// json_test.cpp: JSON that nobody vouches for: what is read, what is refused and where; and what is written.
#include "base/json.h"

#include <limits>
#include <optional>

#include "ordinal/error.h"
#include "support.h"

using namespace ordinal;
using test::error_of, test::mentions;

namespace {

std::string refused(std::string_view json, const JsonLimits& limits = {}) {
  return error_of([&] { parse_json(json, "the text", 0, limits); });
}

}  // namespace

TEST_CASE("json: strings are decoded as RFC 8259 says") {
  struct Case {
    const char *json, *text;
  };
  // The last two: U+1D11E as the pair of RFC 8259 section 7, and the largest code point.
  for (const Case& c : {Case{R"("")", ""}, Case{R"("a\"\\\/\b\f\n\r\tb")", "a\"\\/\b\f\n\r\tb"}, Case{R"("\\")", "\\"},
                        Case{R"("\"")", "\""}, Case{R"("\\\"")", "\\\""},
                        Case{R"("\u00e9\u20AC")", "\xc3\xa9\xe2\x82\xac"}, Case{"\"\xc3\xa9\"", "\xc3\xa9"},
                        Case{R"("\uD834\uDD1E")", "\xf0\x9d\x84\x9e"}, Case{R"("\udbff\udfff")", "\xf4\x8f\xbf\xbf"}})
    CHECK(text(parse_json(c.json, "text"), "value") == c.text);
}

TEST_CASE("json: refuses strings that are not") {
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
    CHECK(mentions(refused(json), {"at byte"}));
  CHECK(mentions(refused("\"\n\""), {"at line 1, column 2"}));
}

TEST_CASE("json: numbers follow the grammar and must fit") {
  const auto integer = [](const char* json) { return whole_number(parse_json(json, "text"), "value"); };
  CHECK(integer("0") == 0);
  CHECK(integer(" -12") == -12);
  CHECK(integer("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(integer("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  for (const char* json : {"", "-", "+1", "01", "1.0", "1e3", "9223372036854775808", "x", "\"1\"", "0x10", "--1", "[]"})
    CHECK_THROWS_AS((void)integer(json), Error);
  const auto within = [](const char* json) { return whole_number(parse_json(json, "text"), "value", -2, 5); };
  CHECK(within("-2") == -2);
  CHECK(within("5") == 5);
  CHECK_THROWS_AS((void)within("6"), Error);
  CHECK_THROWS_AS((void)within("-3"), Error);

  const auto number = [](const char* json) { return number_f32(parse_json(json, "text"), "value"); };
  CHECK(number("1e-05") == 1e-5f);
  CHECK(number("0.70710677") == 0.70710677f);
  CHECK(number("-2.5E+2") == -250.0f);
  for (const char* json : {"1.", ".5", "1e", "1e+", "nan", "inf", "-", "1e39", "1e400", "00", "true"})
    CHECK_THROWS_AS((void)number(json), Error);

  CHECK(natural(parse_json("18446744073709551615", "text"), "value") == UINT64_MAX);
  for (const char* json : {"18446744073709551616", "-1", "1.0", "\"1\""})
    CHECK_THROWS_AS((void)natural(parse_json(json, "text"), "value"), Error);
  CHECK(whole_number_32(parse_json("-2147483648", "text"), "value") == INT32_MIN);
  CHECK_THROWS_AS((void)whole_number_32(parse_json("2147483648", "text"), "value"), Error);
}

TEST_CASE("json: a tree is walked in the order of its text") {
  const JsonDocument tree =
      parse_json(R"( {"b": [1, {"c": "\u00e9"}, [], null], "a" : -2.5, "d":true, "e\n": {}} )", "x");
  std::string walked;
  for (const auto& [key, value] : tree->items()) walked += key + "=" + std::string(value.raw()) + ";";
  CHECK(walked == R"(b=[1, {"c": "\u00e9"}, [], null];a=-2.5;d=true;)"
                  "e\n={};");
  CHECK(tree->size() == 4);
  const Json& list = *find(tree, "b");
  CHECK(list.size() == 4);
  CHECK(whole_number(list[0], "item") == 1);
  CHECK(member(list[1], "c") == "\xc3\xa9");
  CHECK(list[2].empty());
  CHECK(list[3].is_null());
  CHECK(number(member(tree, "a"), "a") == -2.5);
  CHECK(boolean(member(tree, "d"), "d"));
  CHECK(find(tree, "c") == nullptr);
  CHECK(find(list[1], "c") != nullptr);
  CHECK(tree->contains("d"));
  CHECK(!tree->contains("c"));
  const Json copy = list[1];
  CHECK(copy.size() == 1);
  CHECK(parse_json("[null]", "x")->size() == 1);
  CHECK(find(parse_json(R"({"a":null})", "x"), "a") == nullptr);
}

TEST_CASE("json: brackets and commas are where they must be") {
  for (const char* json : {"[",         "[1",           "[1,",           "[1,]",         "[,1]",
                           "[1 2]",     "[1]]",         "[1] x",         "[1}",          "{",
                           "{\"on\"",   "{\"on\":",     "{\"on\" true}", "{\"on\":true", "{\"on\":true,}",
                           "{on:true}", "{\"on\":tru}", "{\"a\"}",       "nul",          "{} {}",
                           "1e999",     "NaN"})
    CHECK(mentions(refused(json), {"the text is not valid JSON"}));
}

TEST_CASE("json: bounds are kept at the first byte too many, not after") {
  CHECK(mentions(refused(std::string(10'000'000, '[')), {"nested too deeply"}));
  CHECK(mentions(refused(std::string(40, '[')), {"at byte 32"}));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  CHECK(mentions(refused(objects), {"nested too deeply"}));
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_json(nested(32), "the text")->size() == 1);
  CHECK(mentions(refused(nested(33)), {"nested too deeply"}));
  CHECK(parse_json("[1,2]", "x", 0, {.bytes = 5, .depth = 1, .values = 3})->size() == 2);
  CHECK(mentions(refused("[1,2]", {.bytes = 4}), {"too large"}));
  CHECK(mentions(refused("[1,2]", {.depth = 0}), {"nested too deeply"}));
  CHECK(mentions(refused("[1,2]", {.values = 2}), {"too many values"}));
}

TEST_CASE("json: a key may come once in each object, and the second is named with its place") {
  CHECK(mentions(refused(R"({"a": 1, "b": {"a": 2}, "a": 3})"), {"key twice"}));
  CHECK(mentions(refused(R"({"a": 1, "b": {"a": 2}, "a": 3})"), {"'a' at byte 24"}));
  CHECK(mentions(refused(R"([{"a": {"b": 1, "\u0062": 1}}])"), {"'b' at byte 16"}));
  CHECK(parse_json(R"([{"a": 1}, {"a": 1}])", "x")->size() == 2);
}

TEST_CASE("json: a byte order mark in front is passed over and is no column") {
  CHECK(parse_json("\xef\xbb\xbf[1]", "x")->size() == 1);
  CHECK(parse_json("\xef\xbb\xbf [1]", "x")->raw() == "[1]");
  const std::string error = error_of([&] { parse_json("\xef\xbb\xbf[1,]", "x", 1); });
  CHECK(mentions(error, {"x, line 1, column 4: "}));
  CHECK(mentions(refused("[1]\xef\xbb\xbf"), {"not valid JSON"}));
}

TEST_CASE("json: places are bytes in one line, else lines and columns in characters") {
  const JsonDocument line = parse_json("\"\xc3\xa9\"", "file", 7);
  CHECK(
      mentions(error_of([&] { (void)number(line, "the temperature"); }), {"file, line 7, column 1: the temperature"}));
  CHECK(mentions(error_of([&] { parse_json("\"\xc3\xa9\" x", "file", 7); }), {"file, line 7, column 5: "}));
  const JsonDocument lines = parse_json("{\n  \"\xc3\xa9\": 12}", "file");
  CHECK(mentions(error_of([&] { (void)boolean(member(lines, "\xc3\xa9"), "e"); }), {"12 at line 2, column 8"}));
  const JsonDocument bytes = parse_json("[\"\xc3\xa9\", 12]", "file");
  CHECK(mentions(error_of([&] { (void)boolean(bytes.root()[1], "e"); }), {"12 at byte 7"}));
}

TEST_CASE("json: an object is checked for keys that are missing or unknown") {
  const auto check = [](const char* json) {
    constexpr std::array<std::string_view, 1> kOptional = {"maybe"};
    check_members(parse_json(json, "x"), "thing", {"on", "off"}, kOptional);
  };
  const auto error = [&](const char* json) { return error_of([&] { check(json); }); };
  CHECK_NOTHROW(check(R"({"on":1,"\u006fff":2})"));
  CHECK_NOTHROW(check(R"({"off":1,"maybe":0,"on":2})"));
  CHECK(mentions(error(R"({"on":1})"), {"also off"}));
  CHECK(mentions(error(R"({"on":1,"off":1,"of":1})"), {"'of' at byte 16"}));
  CHECK(mentions(error(R"({"on":1,"off":1,"of":1})"), {"on, off, maybe"}));
  CHECK(mentions(error("[]"), {"an object, {...}"}));
}

TEST_CASE("json: a value is one of the words, or the words are named") {
  constexpr std::array<std::string_view, 2> kWords = {"rows", "panels"};
  CHECK(one_of(kWords, parse_json("\"panels\"", "x"), "layout") == 1);
  CHECK(mentions(error_of([&] { one_of(kWords, parse_json("\"tiles\"", "x"), "layout"); }), {"rows, panels"}));
}

TEST_CASE("json: what is written reads back") {
  const std::string nasty("\"\\/\b\0\x1f\x7f\xc3\xa9", 9);
  JsonWriter json;
  json.begin_object();
  json.add("text", nasty);
  json.add("none", std::optional<int>());
  json.add("some", std::optional<int64_t>(INT64_MIN));
  json.add("ids", std::vector<int32_t>{1, -2, 3});
  json.add("names", std::vector<std::string>{"a", "b"});
  json.add("empty", std::vector<float>());
  json.add("truth", true);
  json.add("word", "w");
  json.add("inner", [&] {
    json.begin_array();
    json.begin_object();
    json.end_object();
    json.value(UINT64_MAX);
    json.end_array();
  });
  json.key("raw");
  json.raw("[ 1 ]");
  json.end_object();
  const std::string text = json.take();
  CHECK(text == R"({"text":"\"\\/\b\u0000\u001f)"
                "\x7f\xc3\xa9"
                R"(","none":null,"some":-9223372036854775808,)"
                R"("ids":[1,-2,3],"names":["a","b"],"empty":[],"truth":true,"word":"w",)"
                R"("inner":[{},18446744073709551615],"raw":[ 1 ]})");
  CHECK(member(parse_json(text, "x"), "text") == nasty);
  for (const float value : {0.0f, -0.0f, 1e-45f, 3.4028235e38f, 1.0f / 3, 16777216.0f}) {
    JsonWriter one;
    one.value(value);
    CHECK(test::same_bits({number_f32(parse_json(one.take(), "x"), "value")}, {value}));
  }
  const auto written = [](auto value) {
    JsonWriter one;
    one.value(value);
    return one.take();
  };
  CHECK(written(0.1f) == "0.1");
  CHECK(written(0.1) == "0.1");
  CHECK(written(std::numeric_limits<float>::infinity()) == "null");
  CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(written(std::string("a\xff")) == "\"a\xef\xbf\xbd\"");
}
