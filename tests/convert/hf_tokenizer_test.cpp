// hf_tokenizer_test.cpp: tokenizers of Hugging Face and OpenAI folders, against the tokenizers package and the
// handed-over vectors.
#include <nlohmann/json.hpp>

#include "base/byte_spelling.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/tokenizer.h"
#include "support.h"

using namespace ordinal;
using nlohmann::json;
using Ids = std::vector<TokenId>;
using test::error_of, test::mentions, test::Scratch;

namespace {

json parsed(const std::string& path) { return json::parse(test::read_file(path)); }

struct Read {
  TokenizerData data;
  std::vector<std::string> notes;
};

Read read_json_text(const std::string& text, int64_t vocab_size, const std::string& folder = "") {
  Read result;
  result.data = convert::read_tokenizer_json(
      text, "tokenizer.json", folder, {vocab_size, -1, [&](const std::string& note) { result.notes.push_back(note); }});
  return result;
}

Read read_folder(const std::string& path, int64_t vocab_size) {
  Read result;
  const auto found = convert::read_folder_tokenizer(
      path, {vocab_size, -1, [&](const std::string& note) { result.notes.push_back(note); }});
  REQUIRE(found.has_value());
  result.data = *found;
  return result;
}

const std::string kGoldens = "tests/goldens/convert/";

json golden_tokenizer() { return parsed(test::repository(kGoldens + "tokenizer/tokenizer.json")); }

bool same_data(const TokenizerData& a, const TokenizerData& b) {
  const auto same_merge = [](const TokenizerData::Merge& x, const TokenizerData::Merge& y) {
    return x.left == y.left && x.right == y.right && x.result == y.result;
  };
  return a.kind == b.kind && a.pieces == b.pieces && a.special_ids == b.special_ids && a.split == b.split &&
         std::equal(a.merges.begin(), a.merges.end(), b.merges.begin(), b.merges.end(), same_merge) &&
         a.add_prefix_space == b.add_prefix_space && a.unknown_id == b.unknown_id;
}

// The golden tokenizer with one change, and what the reader says of it.
std::string error_with(const std::function<void(json&)>& change) {
  json tree = golden_tokenizer();
  change(tree);
  return error_of([&] { read_json_text(tree.dump(), 330); });
}

// A little vocabulary in two files.
struct Pair {
  std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4, "<|endoftext|>": 5})";
  std::string merges = "#version: 0.2\na b\n\xc4\xa0 ab\n";
  Scratch scratch;

  Read read(int64_t vocab_size = 6) const {
    test::write_file(scratch.path("vocab.json"), vocab);
    test::write_file(scratch.path("merges.txt"), merges);
    return read_folder(scratch.folder().string(), vocab_size);
  }
  std::string error(int64_t vocab_size = 6) const {
    return error_of([&] { read(vocab_size); });
  }
};

}  // namespace

TEST_CASE("hf tokenizer: tokenizer.json and vocab.json give the ids of the tokenizers package") {
  const json expected = parsed(test::repository(kGoldens + "expected.json"));
  const Read whole = read_folder(test::repository(kGoldens + "tokenizer"), 330);
  CHECK_EQ(whole.data.special_ids, Ids{0, 1});
  Scratch scratch;
  for (const char* file : {"vocab.json", "merges.txt"})
    test::write_file(scratch.path(file), test::read_file(test::repository(kGoldens + "tokenizer/") + file));
  test::write_file(scratch.path("special_tokens_map.json"), R"({"pad_token": "<pad>", "eos_token": "<|endoftext|>"})");
  const Read pair = read_folder(scratch.folder().string(), 330);
  CHECK(same_data(whole.data, pair.data));

  const auto tokenizer = make_tokenizer(whole.data);
  for (const json& row : expected["texts"]) {
    const auto text = row["text"].get<std::string>();
    CAPTURE(text);
    CHECK_EQ(tokenizer->encode(text), row["ids"].get<Ids>());
    CHECK_EQ(tokenizer->encode(text, {.parse_special = true}), row["ids_with_special"].get<Ids>());
    CHECK_EQ(tokenizer->decode(row["ids"].get<Ids>()), text);
  }
}

TEST_CASE("hf tokenizer: GPT-2's vocabulary is the same from both of its forms, and passes its vectors") {
  const std::string folder = test::shared("checkpoints/gpt2-tokenizer");
  if (folder.empty()) return;
  const Read whole = read_folder(folder, 50257);
  const convert::BpeFiles files = {"", "", "encoder.json", "vocab.bpe", ""};
  const std::string vocab = test::read_file(folder + "/encoder.json"), merges = test::read_file(folder + "/vocab.bpe");
  const TokenizerData pair =
      convert::read_bpe_files({vocab, merges, files.vocab_name, files.merges_name, ""}, {50257, -1, {}});
  CHECK(same_data(whole.data, pair));
  CHECK_EQ(pair.merges.size(), 50000);
  CHECK_EQ(pair.special_ids, Ids{50256});
  CHECK_EQ(pair.unknown_id, -1);
  const auto tokenizer = make_tokenizer(pair);
  const json vectors = parsed(folder + "/vectors.json");
  const json& rows = vectors.is_array() ? vectors : vectors.begin().value();
  size_t compared = 0;
  for (const json& row : rows) {
    CHECK_EQ(tokenizer->encode(row["text"].get<std::string>()), row["ids"].get<Ids>());
    ++compared;
  }
  CHECK_EQ(compared, 63);
}

TEST_CASE("hf tokenizer: hf-tiny-gpt2 writes ' lower newer' as its published test does, and knows its unknown") {
  const std::string folder = test::shared("checkpoints/hf-tiny-gpt2");
  if (folder.empty()) return;
  const Read read = read_folder(folder, 21);
  CHECK_EQ(read.data.special_ids, Ids{19, 20});
  CHECK_EQ(read.data.unknown_id, 19);
  const auto tokenizer = make_tokenizer(read.data);
  CHECK_EQ(tokenizer->encode(" lower newer"), Ids{14, 15, 10, 9, 3, 2, 15});
}

TEST_CASE("hf tokenizer: spelling and bytes agree for all 256") {
  CHECK_EQ(bytes_of_spelling("!~"), "!~");
  CHECK_EQ(bytes_of_spelling("\xc4\xa0"), " ");                   // U+0120
  CHECK_EQ(bytes_of_spelling("\xc4\x8a"), "\n");                  // U+010A
  CHECK_EQ(bytes_of_spelling("\xc4\x80"), std::string(1, '\0'));  // U+0100
  CHECK_EQ(bytes_of_spelling("\xc5\x83"), "\xad");                // U+0143, the last
  CHECK_EQ(bytes_of_spelling("\xc3\xbf"), "\xff");                // itself
  for (const char* outside :
       {" ", "\n", "\x7f", "\xc2\xa0", "\xc2\xad", "\xc5\x84", "\xe2\x82\xac", "\xc4", "\xff", "a\xc4"})
    CHECK_FALSE(bytes_of_spelling(outside).has_value());
}

TEST_CASE("hf tokenizer: merges may be lines or pairs, the model may have more ids than pieces") {
  json tree = golden_tokenizer();
  const Read pairs = read_json_text(tree.dump(), 330);
  for (json& merge : tree["model"]["merges"])
    merge = merge.is_array()
                ? json(merge[0].get<std::string>() + " " + merge[1].get<std::string>())
                : json(json::array({merge.get<std::string>().substr(0, merge.get<std::string>().find(' ')),
                                    merge.get<std::string>().substr(merge.get<std::string>().find(' ') + 1)}));
  CHECK(same_data(pairs.data, read_json_text(tree.dump(), 330).data));
  const Read padded = read_json_text(tree.dump(), 400);
  CHECK_EQ(padded.data.pieces.size(), 400);
  CHECK_EQ(padded.data.pieces[399], "");
  CHECK(mentions(error_of([&] { read_json_text(tree.dump(), 329); }), {"id that the model does not have"}));
}

TEST_CASE("hf tokenizer: what would change ids is refused by the name of the field") {
  const struct {
    const char* field;
    std::function<void(json&)> change;
  } kChanges[] = {
      {"normalizer", [](json& t) { t["normalizer"] = {{"type", "Precompiled"}}; }},
      {"normalizer",
       [](json& t) { t["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "BertNormalizer"}}}}}; }},
      {"decoder", [](json& t) { t["pre_tokenizer"] = nullptr; }},
      {"decoder", [](json& t) { t["pre_tokenizer"] = {{"type", "Metaspace"}}; }},
      {"pre_tokenizer", [](json& t) { t["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; }},
      {"(?m:",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(?m:x)"}}}, {"behavior", "Isolated"}};
       }},
      {"pre_tokenizer Split",
       [](json& t) { t["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", "x"}}}, {"behavior", "?"}}; }},
      {"add_prefix_space", [](json& t) { t["pre_tokenizer"].erase("add_prefix_space"); }},
      {"post_processor", [](json& t) { t["post_processor"] = {{"type", "TemplateProcessing"}}; }},
      {"decoder", [](json& t) { t["decoder"] = {{"type", "WordPiece"}}; }},
      {"model.type", [](json& t) { t["model"]["type"] = "Unigram"; }},
      {"model.dropout", [](json& t) { t["model"]["dropout"] = 0.1; }},
      {"model.byte_fallback", [](json& t) { t["model"]["byte_fallback"] = true; }},
      {"model.end_of_word_suffix", [](json& t) { t["model"]["end_of_word_suffix"] = "</w>"; }},
      {"model.continuing_subword_prefix", [](json& t) { t["model"]["continuing_subword_prefix"] = "##"; }},
      {"new_field", [](json& t) { t["new_field"] = 1; }},
      {"new_switch", [](json& t) { t["model"]["new_switch"] = true; }},
      {"vocab", [](json& t) { t["model"].erase("vocab"); }},
      {"merges", [](json& t) { t["model"].erase("merges"); }},
      {"model", [](json& t) { t.erase("model"); }},
      {"id", [](json& t) { t["added_tokens"][0].erase("id"); }},
      {"two ids", [](json& t) { t["added_tokens"][0]["id"] = 7; }},
  };
  for (const auto& [field, change] : kChanges) CHECK(mentions(error_with(change), {field}));
  json fine = golden_tokenizer();
  fine["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {fine["pre_tokenizer"]}}};
  fine["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
  fine["post_processor"] = nullptr;
  fine["truncation"] = {{"max_length", 4}};
  CHECK(same_data(read_json_text(fine.dump(), 330).data, read_json_text(golden_tokenizer().dump(), 330).data));
}

TEST_CASE("hf tokenizer: splitting and the space in front follow the pre-tokenizer") {
  json tree = golden_tokenizer();
  tree["pre_tokenizer"]["use_regex"] = false;
  tree["pre_tokenizer"]["add_prefix_space"] = true;
  const Read read = read_json_text(tree.dump(), 330);
  CHECK_EQ(read.data.split, "none");
  CHECK(read.data.add_prefix_space);
  Scratch scratch;
  test::write_file(scratch.path("tokenizer_config.json"), R"({"add_prefix_space": false})");
  CHECK(mentions(error_of([&] { read_json_text(tree.dump(), 330, scratch.folder().string()); }), {"add_prefix_space"}));
}

TEST_CASE("hf tokenizer: an added token that is not special is found in any text and written like any other") {
  json tree = golden_tokenizer();
  tree["added_tokens"].push_back({{"id", 330}, {"content", "<more stuff>"}, {"special", false}});
  const Read read = read_json_text(tree.dump(), 331);
  CHECK_EQ(read.data.special_ids, Ids{0, 1});
  CHECK_EQ(read.data.pieces[330], "<more stuff>");
  const auto tokenizer = make_tokenizer(read.data);
  CHECK_EQ(tokenizer->encode("<more stuff><more stuff>"), Ids{330, 330});
  CHECK_EQ(tokenizer->decode(Ids{330}), "<more stuff>");
  // Beyond the model's rows it cannot come up.
  const Read beyond = read_json_text(tree.dump(), 330);
  CHECK_EQ(beyond.data.special_ids, Ids{0, 1});
  CHECK(mentions(beyond.notes.front(), {"no row"}));
}

TEST_CASE("hf tokenizer: vocab.json and merges.txt that do not fit each other are errors") {
  CHECK_EQ(Pair().read().data.merges.size(), 2);
  const struct {
    const char *vocab, *merges, *word;
  } kBad[] = {
      {nullptr, "#version: 0.2\na c\n", "does not have"},
      {nullptr, "a b\nb a\n", "does not have"},
      {nullptr, "a b\na b\n", "twice"},
      {nullptr, "a\n", "no merge"},
      {nullptr, "a b c\n", "no merge"},
      {nullptr, "a  b\n", "no merge"},
      {nullptr, " ab\n", "no merge"},
      {R"({"a": 0, "b": 0})", "", "one id for two"},
      {R"({"a": 6})", "", "does not have"},
      {R"({"a": -1})", "", "whole number"},
      {R"({"a": 1.5})", "", "whole number"},
      {R"({"a": "1"})", "", "whole number"},
      {R"({"": 1})", "", "empty piece"},
      {R"({"a": 1, "a": 2})", "", "twice"},
      {R"({" ": 1, "\u0120": 2})", "", "two pieces for one byte"},
      {R"(["a"])", "", "object"},
      {"", "", "JSON"},
  };
  for (const auto& [vocab, merges, word] : kBad) {
    Pair pair;
    if (vocab != nullptr) pair.vocab = vocab;
    pair.merges = merges;
    CHECK(mentions(pair.error(), {word}));
  }
}

TEST_CASE("hf tokenizer: line ends, a missing version line and blank lines make no difference") {
  const TokenizerData expected = Pair().read().data;
  for (const char* merges : {"#version: 0.2\r\na b\r\n\xc4\xa0 ab\r\n", "a b\n\xc4\xa0 ab", "a b\n\n\xc4\xa0 ab\n\n"}) {
    Pair pair;
    pair.merges = merges;
    CHECK(same_data(pair.read().data, expected));
  }
}

TEST_CASE("hf tokenizer: a piece outside the byte alphabet decodes as it stands and is never made from text") {
  Pair pair;
  pair.vocab =
      R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4, "<|endoftext|>": 5, "\u20ac": 6, "\u20aca": 7})";
  pair.merges += "\xe2\x82\xac a\n";
  const Read read = pair.read(8);
  CHECK_EQ(read.data.pieces[6], "\xe2\x82\xac");
  CHECK_EQ(read.data.pieces[7],
           "\xe2\x82\xac"
           "a");
  CHECK_EQ(read.data.merges.size(), 2);
  CHECK_EQ(make_tokenizer(read.data)->encode("ab"), Ids{2});
}

TEST_CASE("hf tokenizer: special tokens come from whichever file names them") {
  Pair pair;
  CHECK_EQ(pair.read().data.special_ids, Ids{5});
  CHECK_EQ(pair.read().data.unknown_id, 5);  // three pieces of one byte leave 253 bytes to the unknown
  SUBCASE("added_tokens.json") {
    test::write_file(pair.scratch.path("added_tokens.json"), R"({"<x>": 6})");
    const Read read = pair.read(7);
    CHECK_EQ(read.data.special_ids, Ids{6});
    CHECK_EQ(read.data.pieces[6], "<x>");
  }
  SUBCASE("tokenizer_config.json, with ids and with names") {
    test::write_file(pair.scratch.path("tokenizer_config.json"),
                     R"({"tokenizer_class": "GPT2Tokenizer", "unk_token": "ab",
      "additional_special_tokens": ["<y>", {"content": "<x>"}], "eos_token": {"content": "<|endoftext|>", "lstrip": false},
      "model_max_length": 1000000000000000019884624838656, "pad_token": null,
      "added_tokens_decoder": {"6": {"content": "<x>", "special": true}}})");
    CHECK(mentions(error_of([&] { pair.read(7); }), {"unknown token"}));  // "ab" is made by a merge
    test::write_file(pair.scratch.path("tokenizer_config.json"), R"({"unk_token": "<x>", "eos_token": "<|endoftext|>",
      "added_tokens_decoder": {"6": {"content": "<x>", "special": true}}})");
    const Read read = pair.read(7);
    CHECK_EQ(read.data.special_ids, Ids{5, 6});
    CHECK_EQ(read.data.unknown_id, 6);
  }
  SUBCASE("a special token that is ordinary text stays text") {
    test::write_file(pair.scratch.path("special_tokens_map.json"),
                     R"({"pad_token": "a", "eos_token": "ab", "unk_token": "<|endoftext|>"})");
    const Read read = pair.read();
    CHECK_EQ(read.data.special_ids, Ids{5});
    CHECK_EQ(read.notes.size(), 2);
    CHECK_EQ(make_tokenizer(read.data)->encode("aab"), Ids{0, 2});
  }
  SUBCASE("settings that change ids are refused") {
    for (const char* config :
         {R"({"do_lower_case": true})", R"({"add_bos_token": 1})", R"({"add_bos_token": true, "bos_token": "<none>"})",
          R"({"tokenizer_class": "BertTokenizer"})", R"({"pad_token": {"content": "x", "lstrip": 1}})",
          R"({"pad_token": {}})", R"({"pad_token": 5})", R"({"added_tokens_decoder": {"x": {"content": "y"}}})",
          R"({"added_tokens_decoder": {"1": {"content": "y"}}})", "[]"}) {
      CAPTURE(config);
      test::write_file(pair.scratch.path("tokenizer_config.json"), config);
      CHECK_FALSE(error_of([&] { pair.read(); }).empty());
    }
  }
}

TEST_CASE("hf tokenizer: --vocab names a folder or any file of a tokenizer") {
  Pair pair;
  const TokenizerData expected = pair.read().data;
  const convert::Vocabulary wanted{6, -1, {}};
  for (const char* name : {"", "vocab.json", "merges.txt"})
    CHECK(same_data(convert::read_given_tokenizer(pair.scratch.path(name), wanted), expected));
  const std::string whole = test::repository(kGoldens + "tokenizer/tokenizer.json");
  CHECK_EQ(convert::read_given_tokenizer(whole, {330, -1, {}}).pieces.size(), 330);
  Scratch empty;
  CHECK(
      mentions(error_of([&] { convert::read_given_tokenizer(empty.folder().string(), wanted); }), {"no tokenizer in"}));
  CHECK(mentions(error_of([&] { convert::read_given_tokenizer(empty.path("x"), wanted); }), {"no such file"}));
  test::write_file(pair.scratch.path("encoder.json"), pair.vocab);
  test::write_file(pair.scratch.path("vocab.bpe"), pair.merges);
  std::filesystem::remove(pair.scratch.path("vocab.json"));
  for (const char* name : {"", "encoder.json", "vocab.bpe"})
    CHECK(same_data(convert::read_given_tokenizer(pair.scratch.path(name), wanted), expected));
}
