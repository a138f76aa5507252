// tokenizer_scores_test.cpp: llama2.c's tokenizer against SentencePiece, llama2.c's loop and a published vocabulary.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <map>

#include "tokenizer_data.h"

using namespace ordinal;

namespace {

constexpr const char* kScoreGoldens = "tokenizer_scores.json";

// llama2.c's tokenizer file: the longest piece, then a score, a length and the bytes of each piece. Its pieces for
// bytes are written <0x0A>.
TokenizerData load_llama2c(const std::string& path) {
  const std::string file = test::read_file(path);
  TokenizerData data;
  data.kind = "scores";
  for (size_t at = 4; at < file.size();) {
    float score = 0;
    int32_t length = 0;
    std::memcpy(&score, file.data() + at, 4);
    std::memcpy(&length, file.data() + at + 4, 4);
    const auto id = static_cast<int>(data.pieces.size());
    const bool is_byte = id >= 3 && id < 259;
    data.pieces.push_back(is_byte ? std::string(1, static_cast<char>(id - 3))
                                  : file.substr(at + 8, static_cast<size_t>(length)));
    data.scores.push_back(score);
    at += 8 + static_cast<size_t>(length);
  }
  data.special_ids = {0, 1, 2};
  data.bos_id = 1;
  data.adds_bos = true;
  return data;
}

}  // namespace

TEST_CASE("tokenizer: scored pieces give the ids of SentencePiece and of llama2.c, ties and broken bytes included") {
  const nlohmann::json goldens = test::golden(kScoreGoldens);
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  for (const auto& row : goldens.at("vocabularies"))
    tokenizers[row.at("name")] = make_tokenizer(test::golden_vocabulary(row));
  REQUIRE(goldens.at("cases").size() > 100);
  for (const auto& golden : goldens.at("cases")) {
    const std::string name = golden.at("vocabulary"), title = golden.at("name");
    CAPTURE(name);
    CAPTURE(title);
    const Tokenizer& tokenizer = *tokenizers.at(name);
    const std::string text = test::from_hex(golden.at("bytes").get<std::string>());
    const auto ids = tokenizer.encode(text);
    CHECK(ids == golden.at("ids").get<std::vector<TokenId>>());
    CHECK(tokenizer.decode(ids) == text);
    test::check_offsets(tokenizer, text);
  }
}

TEST_CASE("tokenizer: any bytes come back from scored pieces, with and without the start id") {
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kScoreGoldens, "trained"));
  test::Random random(21);
  for (int round = 0; round < 300; ++round) {
    const std::string text = test::random_bytes(random, static_cast<size_t>(random.below(300)));
    CAPTURE(round);
    for (const bool add_bos : {false, true}) {
      const auto ids = tokenizer->encode(text, {.add_bos = add_bos});
      CHECK((!ids.empty() && ids[0] == 1) == add_bos);
      CHECK(tokenizer->decode(ids) == text);
      test::check_offsets(*tokenizer, text, {.add_bos = add_bos});
    }
  }
}

TEST_CASE("tokenizer: a text with its start id written in it comes back too") {
  TokenizerData data = test::golden_vocabulary(kScoreGoldens, "trained");
  const auto tokenizer = make_tokenizer(data);
  const std::string text = "the ship" + data.pieces[1] + "the ship" + data.pieces[2] + "the ship";
  const auto ids = tokenizer->encode(text, {.parse_special = true});
  CHECK(tokenizer->decode(ids, true) == data.pieces[1] + text);
  CHECK(tokenizer->decode(ids) == "the shipthe shipthe ship");
}

TEST_CASE("tokenizer: only the first piece after the start loses its space") {
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kScoreGoldens, "trained"));
  const auto ids = tokenizer->encode("the the", {.add_bos = false});
  REQUIRE(ids.size() == 2);
  CHECK(ids[0] == ids[1]);
  CHECK(tokenizer->decode_next(-1, ids[0]) == "the");
  CHECK(tokenizer->decode_next(1, ids[0]) == "the");
  CHECK(tokenizer->decode_next(ids[0], ids[0]) == " the");
  CHECK(tokenizer->decode_next(2, ids[0]) == " the");
}

TEST_CASE("tokenizer: a piece of score -1e10 or less is never merged into, as in llama2.c") {
  TokenizerData data = test::golden_vocabulary(kScoreGoldens, "trained");
  const auto ids = make_tokenizer(data)->encode("the", {.add_bos = false});
  REQUIRE(ids.size() == 1);
  data.scores[static_cast<size_t>(ids[0])] = -1e10f;
  CHECK(make_tokenizer(data)->encode("the", {.add_bos = false}).size() > 1);
}

TEST_CASE("tokenizer: scored data that contradicts itself is refused") {
  const TokenizerData good = test::golden_vocabulary(kScoreGoldens, "trained");
  struct Fault {
    const char* name;
    std::vector<std::string> mentioned;
    void (*plant)(TokenizerData&);
  };
  const Fault faults[] = {
      {"a score missing", {"scores"}, [](TokenizerData& d) { d.scores.pop_back(); }},
      {"a score too many", {"scores"}, [](TokenizerData& d) { d.scores.push_back(0); }},
      {"a score that is none",
       {"finite"},
       [](TokenizerData& d) { d.scores[300] = std::numeric_limits<float>::quiet_NaN(); }},
      {"an endless score", {"finite"}, [](TokenizerData& d) { d.scores[0] = std::numeric_limits<float>::infinity(); }},
      {"a byte as text", {"token 13 for '\\n'"}, [](TokenizerData& d) { d.pieces[13] = "<0x0A>"; }},
      {"no bytes", {"259"}, [](TokenizerData& d) { d.pieces.resize(258), d.scores.resize(258); }},
      {"a piece too long", {"1024"}, [](TokenizerData& d) { d.pieces[400] = std::string(1025, 'x'); }},
      {"no start id", {"start id"}, [](TokenizerData& d) { d.bos_id = -1; }},
  };
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    TokenizerData data = good;
    fault.plant(data);
    const std::string error = test::error_of([&] { make_tokenizer(data); });
    CAPTURE(error);
    CHECK(test::mentions(error, fault.mentioned));
  }
}

TEST_CASE("tokenizer: a million bytes are merged by score in a time near-linear in their number" *
          doctest::test_suite("alone")) {
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kScoreGoldens, "trained"));
  test::Random random(22);
  std::string letters;
  for (int i = 0; i < 1000000; ++i) letters += static_cast<char>('a' + random.below(26));
  for (const std::string& text : {letters, test::random_bytes(random, 1000000), std::string(1000000, ' '),
                                  std::string(1000000, 't'), std::string(1000000, '\x80')}) {
    CAPTURE(text.substr(0, 4));
    std::vector<TokenId> ids;
    CHECK(test::seconds_of([&] { ids = tokenizer->encode(text); }) < 2.0 * test::kPatience);
    CHECK(tokenizer->decode(ids) == text);
  }
}

TEST_CASE("tokenizer: the published story vocabulary gives its published ids") {
  const std::string folder = test::shared("checkpoints/stories260K");
  if (folder.empty()) return;
  const auto tokenizer = make_tokenizer(load_llama2c(folder + "/tok512.bin"));
  const nlohmann::json golden = nlohmann::json::parse(test::read_file(folder + "/golden.json"));
  for (const auto& row : golden.at("cases")) {
    const std::string text = row.at("text");
    CAPTURE(text);
    const auto ids = row.at("ids").get<std::vector<TokenId>>();
    CHECK(tokenizer->encode(text) == ids);
    CHECK(tokenizer->decode(ids) == text);
    auto all = ids;
    for (const auto& id : row.at("greedy_ids")) all.push_back(id);
    CHECK(tokenizer->decode(all) == row.at("greedy_text").get<std::string>());
  }
}
