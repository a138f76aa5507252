// tokenizer_vectors_test.cpp: tokenizer.json of many styles against the ids of the `tokenizers` package: small ones of
// our own (tools/make_tokenizer_json_goldens.py) and those handed over.
#include <nlohmann/json.hpp>

#include <filesystem>

#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/tokenizer.h"
#include "support.h"

using namespace ordinal;
using nlohmann::json;
using Ids = std::vector<TokenId>;

namespace {

// Each token's range begins where the one before it ended, and the last ends with the text.
void check_ranges(const Tokenizer& tokenizer, const std::string& text, const Ids& ids) {
  const std::vector<TextToken> tokens = tokenizer.encode_with_offsets(text, {.parse_special = true});
  REQUIRE_EQ(tokens.size(), ids.size());
  int64_t end = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    CHECK_EQ(tokens[i].id, ids[i]);
    CHECK_EQ(tokens[i].begin, end);
    end = tokens[i].end;
  }
  if (!tokens.empty()) CHECK_EQ(end, static_cast<int64_t>(text.size()));
}

void check_case(const Tokenizer& tokenizer, const json& row) {
  const auto text = row["text"].get<std::string>();
  CAPTURE(text);
  const auto plain = row["plain"].get<Ids>();
  CHECK_EQ(tokenizer.encode(text, {.parse_special = true}), row["ids"].get<Ids>());
  CHECK_EQ(tokenizer.encode(text, {.parse_special = true, .add_bos = false}), plain);
  const Ids as_text = row.contains("as_text") ? row["as_text"].get<Ids>() : plain;
  CHECK_EQ(tokenizer.encode(text, {.add_bos = false}), as_text);
  CHECK_EQ(tokenizer.decode(plain, true), row["decoded"].get<std::string>());
  if (!plain.empty()) check_ranges(tokenizer, text, row["ids"].get<Ids>());
}

size_t check_vectors(const std::filesystem::path& folder) {
  CAPTURE(folder);
  const json vectors = json::parse(test::read_file((folder / "vectors.json").string()));
  const auto tokenizer = make_tokenizer(convert::read_given_tokenizer(folder.string(), {}));
  for (const json& row : vectors["cases"]) check_case(*tokenizer, row);
  return vectors["cases"].size();
}

size_t check_folders(const std::string& root) {
  size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (entry.is_directory()) cases += check_vectors(entry.path());
  return cases;
}

}  // namespace

TEST_CASE("tokenizer vectors: every style that was handed over gives the ids and texts of the tokenizers package") {
  const std::string root = test::shared("checkpoints/tokenizers");
  if (root.empty()) return;
  CHECK_GE(check_folders(root), 361);
}

TEST_CASE("tokenizer vectors: small tokenizers of every style give the ids and texts of the tokenizers package") {
  const json goldens = nlohmann::json::parse(test::read_file(test::repository("tests/goldens/tokenizer_json.json")));
  CHECK_EQ(goldens["styles"].size(), 14);
  for (const json& style : goldens["styles"]) {
    const auto name = style["name"].get<std::string>();
    CAPTURE(name);
    const TokenizerData data = convert::read_tokenizer_json(style["tokenizer"].dump(), name, "", {});
    const auto tokenizer = make_tokenizer(data);
    for (const json& row : style["cases"]) check_case(*tokenizer, row);
  }
}
