// tokenizer_gpt2_test.cpp: GPT-2's own vocabulary, and the tokenization and streaming cases that are handed over.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/utf8.h"
#include "gpt2_vocabulary.h"
#include "sha256.h"
#include "tokenizer_data.h"

using namespace ordinal;
using Ids = std::vector<TokenId>;

namespace {

// nullptr when the shared material is absent.
const Tokenizer* gpt2() {
  static const std::string folder = test::shared("checkpoints/gpt2-tokenizer");
  static const std::unique_ptr<Tokenizer> tokenizer =
      folder.empty() ? nullptr : make_tokenizer(test::load_gpt2_vocabulary(folder));
  return tokenizer.get();
}

std::string le32(const Ids& ids) {
  std::string bytes(ids.size() * 4, '\0');
  for (size_t i = 0; i < ids.size(); ++i)
    for (size_t b = 0; b < 4; ++b) bytes[4 * i + b] = static_cast<char>(ids[i] >> 8 * b);
  return bytes;
}

// All items of the cases whose id begins with `prefix`.
void for_each_item(const std::string& prefix,
                   const std::function<void(const std::string&, const nlohmann::json&)>& check) {
  const std::string path = test::shared("cases/cases.json");
  if (path.empty()) return;
  const nlohmann::json cases = nlohmann::json::parse(test::read_file(path));
  size_t found = 0;
  for (const auto& row : cases.at("cases")) {
    const std::string id = row.at("id");
    if (!id.starts_with(prefix)) continue;
    for (const auto& item : row.at("items")) {
      const std::string name = id + " " + item.at("name").get<std::string>();
      CAPTURE(name);
      check(id, item);
      ++found;
    }
  }
  CHECK(found > 0);
}

std::string text_of(const nlohmann::json& input) {
  std::string text;
  if (input.contains("repeat")) {
    const std::string unit = input["repeat"]["text"];
    for (int i = 0; i < input["repeat"]["times"].get<int>(); ++i) text += unit;
  } else {
    text = test::from_hex(input.at("hex").get<std::string>());
  }
  return text;
}

}  // namespace

TEST_CASE("gpt2: the published vectors give their ids") {
  if (gpt2() == nullptr) return;
  const std::string path = test::shared("checkpoints/gpt2-tokenizer/vectors.json");
  if (path.empty()) return;
  const nlohmann::json vectors = nlohmann::json::parse(test::read_file(path));
  CHECK(vectors.size() == 63);
  for (const auto& vector : vectors) {
    const std::string text = vector.at("text");
    CAPTURE(text);
    const Ids ids = gpt2()->encode(text);
    CHECK(ids == vector.at("ids").get<Ids>());
    CHECK(gpt2()->decode(ids) == text);
    test::check_offsets(*gpt2(), text);
  }
}

TEST_CASE("gpt2: whole files have their known numbers of tokens and come back") {
  if (gpt2() == nullptr) return;
  const std::pair<const char*, size_t> files[] = {{"corpus/shakespeare.txt", 338025},
                                                  {"corpus/tales.valid.txt", 208121}};
  for (const auto& [name, count] : files) {
    const std::string path = test::shared(name);
    if (path.empty()) continue;
    const std::string text = test::read_file(path);
    // The first number is also nanoGPT's; the second, 47 marks at ends of documents taken as ids, is tiktoken's.
    const Ids ids = gpt2()->encode(text, {.parse_special = true});
    CAPTURE(name);
    CHECK(ids.size() == count);
    CHECK(gpt2()->decode(ids, true) == text);
  }
}

TEST_CASE("gpt2: the tokenization cases hold") {
  if (gpt2() == nullptr) return;
  for_each_item("tok-", [&](const std::string&, const nlohmann::json& item) {
    const auto& expect = item.at("expect");
    const std::string text = text_of(item.at("input"));
    if (item.at("input").contains("file"))
      CHECK(test::read_file(test::shared("cases/" + item["input"]["file"].get<std::string>())) == text);
    Ids ids;
    const double seconds = test::seconds_of([&] { ids = gpt2()->encode(text); });
    CHECK(gpt2()->decode(ids) == text);
    const Ids special = gpt2()->encode(text, {.parse_special = true});
    if (expect.contains("ids")) {
      CHECK(ids == expect["ids"].get<Ids>());
      CHECK(special == ids);
    }
    if (expect.contains("ids_when_treated_as_text")) {
      CHECK(ids == expect["ids_when_treated_as_text"].get<Ids>());
      CHECK(special == expect.at("ids_when_special_allowed").get<Ids>());
    }
    if (expect.contains("count")) {
      CHECK(ids.size() == expect["count"].get<size_t>());
      CHECK(test::sha256_hex(le32(ids)) == expect.at("sha256_of_ids_as_le32").get<std::string>());
      CHECK(seconds < expect.at("max_seconds").get<double>() * test::kPatience);
    }
  });
}

TEST_CASE("gpt2: the streaming cases hold") {
  if (gpt2() == nullptr) return;
  for_each_item("str-", [&](const std::string& id, const nlohmann::json& item) {
    Utf8Stream stream;
    std::string written;
    TokenId previous = -1;
    const bool whole = id == "str-01";
    for (const auto& row : item.at("input").at("token_bytes")) {
      const std::string bytes = gpt2()->decode_next(previous, row.at("id"));
      CHECK(bytes == test::from_hex(row.at("bytes").get<std::string>()));
      const std::string chunk = stream.push(bytes);
      if (whole) CHECK(utf8_end(chunk, 0) == chunk.size());
      written += chunk;
      previous = row.at("id");
    }
    const std::string rest = stream.finish();
    CHECK(stream.finish().empty());
    const auto& expect = item.at("expect");
    if (whole) {
      CHECK(rest.empty());
      CHECK(written == test::from_hex(expect.at("stdout_hex").get<std::string>()));
    } else {
      bool right = false;
      for (const auto& one : expect.at("one_of")) {
        right = right || written + rest == test::from_hex(one.at("stdout_hex").get<std::string>());
      }
      CHECK(right);
    }
  });
}

TEST_CASE("gpt2: a word of a million letters takes less than a second, whatever the letters" *
          doctest::test_suite("alone")) {
  if (gpt2() == nullptr) return;
  test::Random random(51);
  const auto letters = [&](auto&& next) {
    std::string text;
    while (text.size() < 1000000) text += next();
    return text;
  };
  const std::pair<const char*, std::string> texts[] = {
      {"one letter", std::string(1000000, 'a')},
      {"random letters", letters([&] { return std::string(1, static_cast<char>('a' + random.below(26))); })},
      {"common letters", letters([&] { return std::string(1, "etaoinshr"[random.below(9)]); })},
      {"chinese", letters([] { return std::string("\xe7\x81\xaf\xe5\xa1\x94"); })},
      {"spaces", std::string(1000000, ' ')},
      {"newlines", std::string(1000000, '\n')},
      {"marks", std::string(1000000, '^')},
      {"not UTF-8", std::string(1000000, '\xc3')},
      {"mixed", test::random_bytes(random, 1000000)},
  };
  for (const auto& [name, text] : texts) {
    CAPTURE(name);
    Ids ids;
    const double seconds = test::seconds_of([&] { ids = gpt2()->encode(text); });
    CHECK(seconds < 1.0 * test::kPatience);
    CHECK(gpt2()->decode(ids) == text);
  }
}

TEST_CASE("gpt2: the tiny checkpoint's vocabulary gives the ids of its published test") {
  const std::string folder = test::shared("checkpoints/hf-tiny-gpt2");
  if (folder.empty()) return;
  const nlohmann::json vocabulary = nlohmann::json::parse(test::read_file(folder + "/vocab.json"));
  TokenizerData data;
  data.kind = "bpe";
  data.pieces.resize(vocabulary.size());
  for (const auto& [piece, id] : vocabulary.items())
    data.pieces.at(id.get<size_t>()) = piece[0] == '<' ? piece : test::bytes_of_stand_ins(piece);
  const auto id = [&](const char* piece) { return vocabulary.at(piece).get<TokenId>(); };
  data.merges = {{id("\u0120"), id("l"), id("\u0120l")},
                 {id("\u0120l"), id("o"), id("\u0120lo")},
                 {id("\u0120lo"), id("w"), id("\u0120low")},
                 {id("e"), id("r"), id("er")}};
  data.special_ids = {19, 20};
  data.unknown_id = 19;
  const auto tokenizer = make_tokenizer(data);
  CHECK(tokenizer->encode(" lower newer") == Ids{14, 15, 10, 9, 3, 2, 15});
  CHECK(tokenizer->encode("x<|endoftext|>", {.parse_special = true}) == Ids{19, 20});
}

TEST_CASE("gpt2: a published vocabulary without a cut gives its published ids") {
  const std::string folder = test::shared("checkpoints/gpt2basic-bpe384-2x48");
  if (folder.empty()) return;
  const std::string file = test::read_file(folder + "/VOCAB.BIN");
  size_t at = 0;
  const auto next = [&] {
    int32_t value = 0;
    std::memcpy(&value, file.data() + at, 4);
    at += 4;
    return value;
  };
  TokenizerData data;
  data.kind = "bpe";
  data.split = "none";
  data.pieces = {"<end>", "<unk>"};
  data.special_ids = {0, 1};
  for (int byte = 0; byte < 256; ++byte) data.pieces.push_back(std::string(1, static_cast<char>(byte)));
  for (int32_t count = next(); count > 0; --count) {
    const auto length = static_cast<size_t>(next());
    const std::string piece = file.substr(at, length);
    at += 16;
    const auto id = static_cast<size_t>(next());
    if (id < 258) continue;
    data.pieces.resize(std::max(data.pieces.size(), id + 1));
    data.pieces[id] = piece;
  }
  std::map<int32_t, TokenizerData::Merge> by_rank;
  for (int32_t count = next(); count > 0; --count) {
    const int32_t left = next(), right = next(), result = next();
    by_rank[next()] = {left, right, result};
  }
  for (const auto& [rank, merge] : by_rank) data.merges.push_back(merge);
  const auto tokenizer = make_tokenizer(data);
  const nlohmann::json golden = nlohmann::json::parse(test::read_file(folder + "/golden.json"));
  for (const auto& row : golden.at("cases")) {
    const std::string text = row.at("text");
    CAPTURE(text);
    CHECK(tokenizer->encode(text) == row.at("ids").get<Ids>());
    Ids all = row.at("ids");
    for (const auto& id : row.at("greedy_ids")) all.push_back(id);
    CHECK(tokenizer->decode(all) == row.at("greedy_text").get<std::string>());
  }
}

TEST_CASE("sha256: the examples of its standard hold") {
  CHECK(test::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(test::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(test::sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}
