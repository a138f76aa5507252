// report_test.cpp: JSON, tables and .npy headers from plain structs.
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/npy.h"
#include "report/text.h"
#include "support.h"

using namespace ordinal;
using namespace ordinal::report;

TEST_CASE("report: JSON stays JSON whatever bytes a text has") {
  Generated result;
  result.text = std::string("a\0\"\\\n\xff\xe2\x82 \xe2\x82\xac", 12);
  result.model = "x\x01";
  const nlohmann::json json = nlohmann::json::parse(to_json(result));
  CHECK(json["text"] == std::string("a\0\"\\\n\xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac", 15));
  CHECK(json["model"] == "x\x01");
  CHECK(json["logprobs"].is_null());
}

TEST_CASE("report: JSON keys come in the documented order") {
  Generated result;
  result.seed = 18446744073709551615u;
  result.ids = {1, 2};
  CHECK(to_json(result) ==
        "{\"model\":\"\",\"position\":\"\",\"seed\":18446744073709551615,\"prompt_ids\":[],\"ids\":[1,2],\"text\":\"\","
        "\"finish\":\"\",\"logprobs\":null,\"timings\":{\"load_ms\":0.0,\"prefill_tokens\":0,\"prefill_ms\":0.0,"
        "\"decode_tokens\":0,\"decode_ms\":0.0,\"draft_proposed\":0,\"draft_accepted\":0,\"passes\":0},\"standing\":"
        "\"\"}");
  CHECK(to_json(result, 7, "[1e999]", "{}") ==
        "{\"line\":7,\"id\":[1e999],\"settings\":{}," + to_json(result).substr(1));
  const std::vector<Generated> two(2, result);
  CHECK(nlohmann::json::parse(to_json(two)).size() == 2);
}

TEST_CASE("report: floats in JSON read back as the same floats, infinity as null") {
  Evaluated result;
  result.logits = {{0.1f, -1.5e-39f, 3.4e38f, 1.0f / 3.0f, -0.0f, std::numeric_limits<float>::infinity()}};
  const std::string text = to_json(result);
  CHECK(text.find("[0.1,") != std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(text);
  for (size_t i = 0; i < 5; ++i) CHECK(json["logits"][i].get<float>() == result.logits[0][i]);
  CHECK(json["logits"][5].is_null());
}

TEST_CASE("report: provenance is embedded as JSON, or as text when it is none") {
  Inspected result;
  result.provenance_json = "{\"source\":\"gpt2\"}";
  CHECK(nlohmann::json::parse(to_json(result))["provenance"]["source"] == "gpt2");
  result.provenance_json = "{broken";
  CHECK(nlohmann::json::parse(to_json(result))["provenance"] == "{broken");
  CHECK(members_of("{\"a\":\"x\",\"b\":3}") ==
        std::vector<std::pair<std::string, std::string>>{{"a", "x"}, {"b", "3"}});
  CHECK(members_of("nonsense").empty());
}

TEST_CASE("report: escaped text holds nothing that acts on a terminal") {
  CHECK(escaped("plain \xe2\x82\xac") == "plain \xe2\x82\xac");
  CHECK(escaped("\x1b[31m\r\n\t\\\x7f") == "\\x1b[31m\\r\\n\\t\\\\\\x7f");
  CHECK(escaped("\xc2\x9b") == "\\xc2\\x9b");
  CHECK(escaped("a\xe2\x82") == "a\\xe2\\x82");
  CHECK(escaped(std::string(1, '\0')) == "\\x00");
}

TEST_CASE("report: tables align by characters, not bytes") {
  CHECK(table({{"a", "1"}, {"\xe2\x82\xac\xe2\x82\xac", "22"}}, "lr") == "a    1\n\xe2\x82\xac\xe2\x82\xac  22\n");
  CHECK(table({{"a", "b"}, {"long", "c"}}, "ll") == "a     b\nlong  c\n");
}

TEST_CASE("report: numbers for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-123456) == "-123,456");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(byte_size(999) == "999 bytes");
  CHECK(byte_size(1000) == "1.0 kB");
  CHECK(byte_size(999999) == "1.0 MB");
  CHECK(byte_size(498818048) == "498.8 MB");
  CHECK(fixed(1.005, 1) == "1.0");
  CHECK(shortest(0.1f) == "0.1");
}

TEST_CASE("report: a .npy header is padded to 64 bytes and names the shape as a tuple") {
  for (const auto& [shape, text] : std::vector<std::pair<std::vector<int64_t>, std::string>>{
           {{5}, "(5, )"}, {{5, 257}, "(5, 257)"}, {{1024, 50257}, "(1024, 50257)"}}) {
    const std::string header = npy_header(shape);
    CHECK(header.size() % 64 == 0);
    CHECK(header.substr(0, 6) == "\x93NUMPY");
    CHECK(header.substr(6, 2) == std::string("\x01\x00", 2));
    CHECK(static_cast<unsigned char>(header[8]) + 256u * static_cast<unsigned char>(header[9]) == header.size() - 10);
    CHECK(header.find("'shape': " + text + ", }") != std::string::npos);
    CHECK(header.back() == '\n');
  }
}

TEST_CASE("report: a .npy file appears when it is whole") {
  const test::Scratch scratch;
  const std::string path = scratch.path("x.npy");
  const std::vector<float> row = {1.0f, 2.0f};
  {
    NpyFile file(path, {2, 2});
    file.add(row);
    CHECK(!std::filesystem::exists(path));
    test::error_of([&] { file.finish(); });
  }
  CHECK(std::filesystem::is_empty(scratch.folder()));
  NpyFile file(path, {2, 2});
  file.add(row);
  file.add(row);
  file.finish();
  CHECK(std::filesystem::file_size(path) == npy_header(std::vector<int64_t>{2, 2}).size() + 16);
}

TEST_CASE("report: checks in JSON have every key, null where there is no number") {
  const Checks rows = {{{"C1", "what", "rope"}, 0.5, 0, 1e-12, "0", 1e-12},
                       {{"C13", "\"x\"", "learned"}, std::numeric_limits<double>::infinity()}};
  CHECK(to_json(rows) ==
        "[{\"id\":\"C1\",\"what\":\"what\",\"scheme\":\"rope\",\"measured\":0.5,\"expected\":\"0\",\"tolerance\":1e-12,"
        "\"pass\":false},{\"id\":\"C13\",\"what\":\"\\\"x\\\"\",\"scheme\":\"learned\",\"measured\":null,"
        "\"expected\":null,\"tolerance\":null,\"pass\":true}]");
}
