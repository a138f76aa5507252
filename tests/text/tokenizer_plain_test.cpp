// tokenizer_plain_test.cpp: the byte and the character tokenizer.
#include <doctest/doctest.h>

#include <algorithm>

#include "tokenizer_data.h"

using namespace ordinal;

namespace {

// Bytes in reverse order after two special tokens.
TokenizerData bytes_data() {
  TokenizerData data;
  data.kind = "bytes";
  data.pieces = {"<end>", ""};
  for (int byte = 255; byte >= 0; --byte) data.pieces.push_back(std::string(1, static_cast<char>(byte)));
  data.special_ids = {0, 1};
  return data;
}

TokenizerData chars_data() {
  TokenizerData data;
  data.kind = "chars";
  data.pieces = {"<unk>", "b", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2", "\n", "\xff"};
  data.special_ids = {0};
  return data;
}

}  // namespace

TEST_CASE("tokenizer: a byte tokenizer has an id for every byte and gives all bytes back") {
  const auto tokenizer = make_tokenizer(bytes_data());
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto ids = tokenizer->encode(all);
  REQUIRE(ids.size() == 256);
  for (int byte = 0; byte < 256; ++byte) CHECK(ids[static_cast<size_t>(byte)] == 2 + 255 - byte);
  CHECK(tokenizer->decode(ids) == all);
  test::check_offsets(*tokenizer, all);
  CHECK(tokenizer->encode("").empty());
  CHECK(tokenizer->encode("<end>").size() == 5);
  CHECK(tokenizer->encode("<end>", {.parse_special = true}) == std::vector<TokenId>{0});
}

TEST_CASE("tokenizer: a byte tokenizer without a byte, or with one twice, is refused") {
  TokenizerData data = bytes_data();
  data.pieces[2 + 255 - 'a'] = "b";
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data); }), {"two tokens for one byte"}));
  data.pieces[2 + 255 - 'a'] = "aa";
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data); }), {"none for 'a'"}));
  data = bytes_data();
  data.special_ids.push_back(2 + 255 - 'a');
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data); }), {"none for 'a'"}));
}

TEST_CASE("tokenizer: a character tokenizer has an id for every character of its set") {
  TokenizerData data = chars_data();
  const std::string text =
      "ab\xc3\xa9\n\xe2\x82\xac\xf0\x9f\x9a\xa2\xff"
      "a";
  const auto tokenizer = make_tokenizer(data);
  CHECK(tokenizer->encode(text) == std::vector<TokenId>{2, 1, 3, 6, 4, 5, 7, 2});
  CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  test::check_offsets(*tokenizer, text);
}

TEST_CASE("tokenizer: a character without a token is the unknown one, or an error when there is none") {
  TokenizerData data = chars_data();
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data)->encode("abz"); }), {"'z'"}));
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data)->encode("\xc3\xa8"); }), {"'\xc3\xa8'"}));
  data.unknown_id = 0;
  const auto tokenizer = make_tokenizer(data);
  const std::string text = "a\xc3\xa8\xe2\x82z\xc3\xa9\xf0\x9f";
  std::vector<std::vector<int64_t>> found;
  for (const TextToken& token : tokenizer->encode_with_offsets(text, {}))
    found.push_back({token.id, token.begin, token.end});
  CHECK(found == std::vector<std::vector<int64_t>>{
                     {2, 0, 1}, {0, 1, 3}, {0, 3, 4}, {0, 4, 5}, {0, 5, 6}, {3, 6, 8}, {0, 8, 9}, {0, 9, 10}});
  test::Random random(31);
  for (int round = 0; round < 100; ++round) test::check_offsets(*tokenizer, test::random_bytes(random, 200));
}

TEST_CASE("tokenizer: a character tokenizer with a longer piece, or a character twice, is refused") {
  TokenizerData data = chars_data();
  data.pieces[1] = "ab";
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data); }), {"token 1 'ab'"}));
  data.pieces[1] = "a";
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data); }), {"tokens 1 and 2"}));
}

TEST_CASE("tokenizer: the published byte model's texts have their published ids") {
  const std::string path = test::shared("checkpoints/gpt2basic-byte-3x64/golden.json");
  if (path.empty()) return;
  TokenizerData data;
  data.kind = "bytes";
  data.pieces = {"<end>", "<unk>"};
  for (int byte = 0; byte < 256; ++byte) data.pieces.push_back(std::string(1, static_cast<char>(byte)));
  data.special_ids = {0, 1};
  const auto tokenizer = make_tokenizer(data);
  const nlohmann::json golden = nlohmann::json::parse(test::read_file(path));
  for (const auto& row : golden.at("cases"))
    CHECK(tokenizer->encode(row.at("text").get<std::string>()) == row.at("ids").get<std::vector<TokenId>>());
}
