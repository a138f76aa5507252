// tokenizer_bpe_test.cpp: byte pair encoding against other implementations, on small vocabularies kept in goldens.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "text/bpe_merge.h"
#include "tokenizer_data.h"

using namespace ordinal;

namespace {

constexpr const char* kGoldens = "tokenizer_bpe.json";

// a, b, c, ab, abc, <|end|>, "" and <unk>.
TokenizerData small_data() {
  TokenizerData data;
  data.kind = "bpe";
  data.pieces = {"a", "b", "c", "ab", "abc", "<|end|>", "", "<unk>"};
  data.merges = {{0, 1, 3}, {3, 2, 4}};
  data.special_ids = {5, 7};
  return data;
}

// The definition, step by step: of all neighbours that merge, the first of the lowest rank, again and again.
std::vector<TokenId> merge_slowly(const std::vector<MergeRules::Rule>& rules, std::vector<TokenId> ids) {
  for (;;) {
    const MergeRules::Rule* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (const MergeRules::Rule& rule : rules) {
        if (rule.left != ids[i] || rule.right != ids[i + 1] || (best != nullptr && best->rank <= rule.rank)) continue;
        best = &rule;
        place = i;
      }
    }
    if (best == nullptr) return ids;
    ids[place] = best->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace

TEST_CASE("tokenizer: byte pair encoding gives the ids of tokenizers and tiktoken on nasty texts") {
  const nlohmann::json goldens = test::golden(kGoldens);
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  std::map<std::string, TokenizerData> vocabularies;
  for (const auto& row : goldens.at("vocabularies")) {
    tokenizers[row.at("name")] = make_tokenizer(test::golden_vocabulary(row));
    vocabularies[row.at("name")] = test::golden_vocabulary(row);
  }
  REQUIRE(goldens.at("cases").size() > 100);
  for (const auto& golden : goldens.at("cases")) {
    const std::string name = golden.at("vocabulary"), title = golden.at("name");
    CAPTURE(name);
    CAPTURE(title);
    const Tokenizer& tokenizer = *tokenizers.at(name);
    const std::string text = test::from_hex(golden.at("bytes").get<std::string>());
    const EncodeOptions options{.parse_special = golden.value("parse_special", false)};
    const auto ids = tokenizer.encode(text, options);
    CHECK(ids == golden.at("ids").get<std::vector<TokenId>>());
    test::check_offsets(tokenizer, text, options);
    if (vocabularies.at(name).unknown_id < 0) CHECK(tokenizer.decode(ids, true) == text);
  }
}

TEST_CASE("tokenizer: merging takes the lowest rank first and the leftmost of equals, however long the piece") {
  test::Random random(11);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    // Rules over ids that stand for nothing: any pair becomes any id, ranks often tie. No rule gives back what it took
    // (results are new ids), so the definition ends.
    const int64_t letters = 1 + random.below(4), made = 1 + random.below(30);
    std::vector<MergeRules::Rule> rules;
    std::map<std::pair<TokenId, TokenId>, bool> taken;
    for (int64_t i = 0; i < made; ++i) {
      const auto left = static_cast<TokenId>(random.below(letters + i));
      const auto right = static_cast<TokenId>(random.below(letters + i));
      if (taken.emplace(std::pair(left, right), true).second)
        rules.push_back({left, right, static_cast<TokenId>(letters + i), static_cast<uint32_t>(random.below(20))});
    }
    // Equal ranks for one left or right piece may meet; the heap and the scan must agree with the definition there too.
    std::vector<TokenId> ids(static_cast<size_t>(random.below(round % 2 == 0 ? 48 : 200)));
    for (TokenId& id : ids) id = static_cast<TokenId>(random.below(letters));
    std::vector<TokenId> merged = {7, 7};  // what stands before the piece is left alone
    merged.insert(merged.end(), ids.begin(), ids.end());
    merge_ids(MergeRules(rules), merged, 2);
    CHECK(merged[0] == 7);
    CHECK(std::vector<TokenId>(merged.begin() + 2, merged.end()) == merge_slowly(rules, ids));
  }
}

TEST_CASE("tokenizer: rules are found though their pairs are chosen to share one place in the table") {
  test::Random random(16);
  std::vector<MergeRules::Rule> rules;
  while (rules.size() < 500) {
    const auto left = static_cast<TokenId>(random.below(1 << 30)), right = static_cast<TokenId>(random.below(1 << 30));
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
    if (pair * 0x9e3779b97f4a7c15u >> 54 != 77) continue;  // the hash of a table of 1024 places
    rules.push_back({left, right, static_cast<TokenId>(rules.size()), static_cast<uint32_t>(rules.size())});
  }
  const MergeRules table(rules);
  for (const MergeRules::Rule& rule : rules) {
    CHECK(table.find(rule.left, rule.right).result == rule.result);
    CHECK(table.find(rule.left, rule.right).rank == rule.rank);
    CHECK(table.find(rule.right, rule.left).rank == MergeRules::kNever);
  }
}

TEST_CASE("tokenizer: of two merges for one pair the last counts, as in GPT-2's encoder") {
  TokenizerData data = small_data();
  data.split = "none";
  data.pieces = {"a", "b", "c", "ab", "bc"};
  data.special_ids = {};
  data.merges = {{0, 1, 3}, {1, 2, 4}};
  CHECK(make_tokenizer(data)->encode("abc") == std::vector<TokenId>{3, 2});
  data.merges.push_back({0, 1, 3});
  CHECK(make_tokenizer(data)->encode("abc") == std::vector<TokenId>{0, 4});
}

TEST_CASE("tokenizer: any bytes come back from byte pair encoding, with offsets that cut them all") {
  test::Random random(12);
  for (const char* name : {"words", "whole"}) {
    const auto tokenizer = make_tokenizer(test::golden_vocabulary(kGoldens, name));
    for (int round = 0; round < 200; ++round) {
      const std::string text = test::random_bytes(random, static_cast<size_t>(random.below(400)));
      CAPTURE(name);
      CAPTURE(round);
      for (const bool parse : {false, true}) {
        CHECK(tokenizer->decode(tokenizer->encode(text, {.parse_special = parse}), true) == text);
        test::check_offsets(*tokenizer, text, {.parse_special = parse});
      }
    }
  }
}

TEST_CASE("tokenizer: a text in pieces seen before has the ids that each piece has alone") {
  // Long enough to fill and overwrite what a call remembers of its words.
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kGoldens, "words"));
  test::Random random(13);
  std::string text;
  std::vector<TokenId> expected;
  for (int i = 0; i < 20000; ++i) {
    std::string word = " ";
    for (int64_t letters = 1 + random.below(random.below(20) == 0 ? 90 : 3); letters > 0; --letters)
      word += static_cast<char>('a' + random.below(26));
    text += word;
    const auto ids = tokenizer->encode(word);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  CHECK(tokenizer->encode(text) == expected);
}

TEST_CASE("tokenizer: one tokenizer serves several threads") {
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kGoldens, "words"));
  test::Random random(14);
  const std::string text = test::random_bytes(random, 20000);
  const auto expected = tokenizer->encode(text);
  std::vector<int> same(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&, t] { same[t] = tokenizer->encode(text) == expected; });
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::vector<int>(4, 1));
}

TEST_CASE("tokenizer: names of special tokens are text unless asked for, and then the longest counts") {
  TokenizerData data = test::golden_vocabulary(kGoldens, "words");
  const auto tokenizer = make_tokenizer(data);
  const TokenId end = data.special_ids[0], end_x = data.special_ids[1];
  const std::string text = "a<|end|x|>b<|end|><|end|";
  const auto plain = tokenizer->encode(text);
  CHECK(std::none_of(plain.begin(), plain.end(), [&](TokenId id) { return tokenizer->is_special(id); }));
  CHECK(tokenizer->decode(plain) == text);

  const auto tokens = tokenizer->encode_with_offsets(text, {.parse_special = true});
  CHECK(tokens[1].id == end_x);
  CHECK(tokens[1].begin == 1);
  CHECK(tokens[1].end == 10);
  CHECK(tokens[3].id == end);
  CHECK(tokens[3].begin == 11);
  CHECK(tokens[3].end == 18);
  CHECK(tokenizer->decode(tokenizer->encode(text, {.parse_special = true})) == "ab<|end|");
  CHECK(tokenizer->decode(tokenizer->encode(text, {.parse_special = true}), true) == text);
}

TEST_CASE("tokenizer: a byte without a piece is the unknown token, or an error when there is none") {
  TokenizerData data = small_data();
  CHECK(test::mentions(test::error_of([&] { make_tokenizer(data)->encode("abz"); }), {"no token"}));
  data.unknown_id = 7;
  const auto tokenizer = make_tokenizer(data);
  const auto tokens = tokenizer->encode_with_offsets(
      "abc\xc3\xa9"
      "c",
      {});
  std::vector<std::vector<int64_t>> found;
  for (const TextToken& token : tokens) found.push_back({token.id, token.begin, token.end});
  CHECK(found == std::vector<std::vector<int64_t>>{{4, 0, 3}, {7, 3, 4}, {7, 4, 5}, {2, 5, 6}});
  CHECK(tokenizer->encode("abzc") == std::vector<TokenId>{3, 7, 2});
  CHECK(tokenizer->decode(tokenizer->encode("abzc")) == "abc");
}

TEST_CASE("tokenizer: a space put before the text is in no token's offsets") {
  const auto tokenizer = make_tokenizer(test::golden_vocabulary(kGoldens, "gaps, space first"));
  const auto tokens = tokenizer->encode_with_offsets("the ship", {});
  REQUIRE(!tokens.empty());
  CHECK(tokenizer->piece(tokens[0].id).starts_with(' '));
  CHECK(tokens[0].begin == 0);
  CHECK(tokens[0].end == static_cast<int64_t>(tokenizer->piece(tokens[0].id).size()) - 1);
  CHECK(tokens.back().end == 8);
}

TEST_CASE("tokenizer: byte pair data that contradicts itself is refused") {
  struct Fault {
    const char* name;
    std::vector<std::string> mentioned;
    void (*plant)(TokenizerData&);
  };
  const Fault faults[] = {
      {"merge id below", {"merge 1"}, [](TokenizerData& d) { d.merges[1].left = -1; }},
      {"merge id above", {"merge 1"}, [](TokenizerData& d) { d.merges[1].right = 8; }},
      {"result id above", {"merge 0"}, [](TokenizerData& d) { d.merges[0].result = 1 << 30; }},
      {"result of other bytes", {"'abc'"}, [](TokenizerData& d) { d.merges[0].result = 4; }},
      {"result reversed", {"'ab'"}, [](TokenizerData& d) { d.merges[0] = {1, 0, 3}; }},
      {"merge of a special token", {"special"}, [](TokenizerData& d) { d.special_ids.push_back(2); }},
      {"merge of the unknown", {"unknown"}, [](TokenizerData& d) { d.unknown_id = 1; }},
      {"merge of nothing", {"empty"}, [](TokenizerData& d) { d.merges[0] = {0, 6, 0}; }},
      {"special id above", {"special id"}, [](TokenizerData& d) { d.special_ids.push_back(8); }},
      {"special id below", {"special id"}, [](TokenizerData& d) { d.special_ids.push_back(-1); }},
      {"two names alike", {"one name"}, [](TokenizerData& d) { d.pieces[7] = "<|end|>"; }},
      {"a name too long", {"1024"}, [](TokenizerData& d) { d.pieces[7] = std::string(1025, 'x'); }},
      {"start id above", {"start id"}, [](TokenizerData& d) { d.bos_id = 8; }},
      {"unknown id below", {"unknown id"}, [](TokenizerData& d) { d.unknown_id = -2; }},
      {"no start id", {"start id"}, [](TokenizerData& d) { d.adds_bos = true; }},
      {"two tokens for one byte", {"one byte"}, [](TokenizerData& d) { d.pieces[6] = "a"; }},
      {"unknown cut", {"gpt2, llama3, qwen2, none"}, [](TokenizerData& d) { d.split = "gpt4"; }},
      {"unknown kind", {"bpe, bytes, chars, scores, none"}, [](TokenizerData& d) { d.kind = "wordpiece"; }},
      {"no kind", {"no tokenizer"}, [](TokenizerData& d) { d.kind = "none"; }},
      {"no pieces", {"impossible size"}, [](TokenizerData& d) { d.pieces.clear(); }},
  };
  CHECK(make_tokenizer(small_data())->encode("abc") == std::vector<TokenId>{4});
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    TokenizerData data = small_data();
    fault.plant(data);
    const std::string error = test::error_of([&] { make_tokenizer(data); });
    CAPTURE(error);
    CHECK(test::mentions(error, fault.mentioned));
  }
}

TEST_CASE("tokenizer: an id outside the vocabulary is an error, one that stands for nothing is empty") {
  const auto tokenizer = make_tokenizer(small_data());
  CHECK(tokenizer->piece(6).empty());
  CHECK(tokenizer->decode(std::vector<TokenId>{0, 6, 5, 1}) == "ab");
  for (const TokenId id : {-1, 8, 1 << 30}) {
    CHECK(test::mentions(test::error_of([&] { tokenizer->piece(id); }), {"0 to 7"}));
    CHECK(test::mentions(test::error_of([&] { tokenizer->decode(std::vector<TokenId>{id}); }), {"0 to 7"}));
  }
}

TEST_CASE("tokenizer: a million bytes without a break take a time near-linear in their number" *
          doctest::test_suite("alone")) {
  const auto words = make_tokenizer(test::golden_vocabulary(kGoldens, "words"));
  const auto whole = make_tokenizer(test::golden_vocabulary(kGoldens, "whole"));
  test::Random random(15);
  std::string letters, mixed;
  for (int i = 0; i < 1000000; ++i) letters += static_cast<char>('a' + random.below(26));
  mixed = test::random_bytes(random, 1000000);
  const std::string texts[] = {letters,
                               mixed,
                               std::string(1000000, ' '),
                               std::string(1000000, '\n'),
                               std::string(1000000, '='),
                               std::string(1000000, 't'),
                               std::string(1000000, '\x80'),
                               std::string(1000000, '\xf0')};
  for (const Tokenizer* tokenizer : {words.get(), whole.get()}) {
    for (const std::string& text : texts) {
      CAPTURE(text.substr(0, 4));
      std::vector<TokenId> ids;
      CHECK(test::seconds_of([&] { ids = tokenizer->encode(text); }) < 2.0 * test::kPatience);
      CHECK(tokenizer->decode(ids) == text);
    }
  }
}
