// hf_template_test.cpp: start and end tokens that Hugging Face tokenizers put around texts: read, kept, and done.
#include <nlohmann/json.hpp>

#include "convert/foreign_files.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "format/model_writer.h"
#include "ordinal/tokenizer.h"
#include "support.h"

using namespace ordinal;
using nlohmann::json;
using Ids = std::vector<TokenId>;
using test::error_of, test::mentions, test::Scratch;

namespace {

constexpr const char* kText = "The old king said";

// The golden tokenizer, of 330 ids of which 0 and 1 are special, behind this post-processor.
TokenizerData read_with(const json& post_processor, const std::string& folder = "",
                        std::vector<std::string>* notes = nullptr) {
  json tree = json::parse(test::read_file(test::repository("tests/goldens/convert/tokenizer/tokenizer.json")));
  tree["post_processor"] = post_processor;
  return convert::read_tokenizer_json(tree.dump(), "tokenizer.json", folder, {330, -1, [=](const std::string& note) {
                                                                                if (notes != nullptr)
                                                                                  notes->push_back(note);
                                                                              }});
}

json special(const std::string& name) { return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; }
const json kSequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};

json template_of(const std::vector<json>& single, const json& ids) {
  json tokens = json::object();
  for (const auto& [name, list] : ids.items()) tokens[name] = {{"id", name}, {"ids", list}, {"tokens", {name}}};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", json::array()}, {"special_tokens", tokens}};
}

const json kByteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};

}  // namespace

TEST_CASE("hf template: start and end tokens are put around a text, and left out on request") {
  const Ids plain = make_tokenizer(read_with(kByteLevel))->encode(kText);
  const json both = {{"<s>", {0}}, {"</s>", {1}}};
  const struct {
    json post_processor;
    bool start, end;
  } kFrames[] = {
      {nullptr, false, false},
      {template_of({kSequence}, json::object()), false, false},
      {template_of({special("<s>"), kSequence}, both), true, false},
      {template_of({kSequence, special("</s>")}, both), false, true},
      {template_of({special("<s>"), kSequence, special("</s>")}, both), true, true},
      {{{"type", "Sequence"}, {"processors", {kByteLevel, template_of({special("<s>"), kSequence}, both)}}},
       true,
       false},
      {{{"type", "RobertaProcessing"}, {"cls", {"<s>", 0}}, {"sep", {"</s>", 1}}, {"trim_offsets", true}}, true, true},
      {{{"type", "BertProcessing"}, {"cls", {"<s>", 0}}, {"sep", {"</s>", 1}}}, true, true},
  };
  for (const auto& [post_processor, start, end] : kFrames) {
    CAPTURE(post_processor.dump());
    const auto tokenizer = make_tokenizer(read_with(post_processor));
    Ids expected = plain;
    if (start) expected.insert(expected.begin(), 0);
    if (end) expected.push_back(1);
    CHECK_EQ(tokenizer->encode(kText), expected);
    CHECK_EQ(tokenizer->encode(kText, {.add_bos = false}), plain);
    CHECK_EQ(tokenizer->decode(expected), kText);
    // Offsets: nothing at either end.
    const auto tokens = tokenizer->encode_with_offsets(kText, {});
    CHECK_EQ(tokens.size(), expected.size());
    CHECK_EQ(tokens.front().begin, 0);
    CHECK_EQ(tokens.back().end, static_cast<int64_t>(std::string(kText).size()));
    if (end) CHECK_EQ(tokens.back().begin, tokens.back().end);
    CHECK_EQ(tokenizer->encode("").size(), static_cast<size_t>(start) + static_cast<size_t>(end));
  }
}

TEST_CASE("hf template: what puts more around a text, or cannot be read, is refused by name") {
  const json ids = {{"<s>", {0}}, {"</s>", {1}}};
  for (const json& bad :
       {template_of({special("<s>"), special("<s>"), kSequence}, ids),
        template_of({kSequence, special("</s>"), special("</s>")}, ids), template_of({kSequence, kSequence}, ids),
        template_of({special("<s>")}, ids), template_of({special("<other>"), kSequence}, ids),
        template_of({special("<s>"), kSequence}, {{"<s>", {0, 1}}}),
        template_of({special("<s>"), kSequence}, {{"<s>", json::array()}}), json{{"type", "TemplateProcessing"}},
        json{{"type", "Magic"}}, json::object(), json{{"type", "RobertaProcessing"}, {"cls", {"<s>", 0}}},
        json{{"type", "Sequence"},
             {"processors",
              {template_of({special("<s>"), kSequence}, ids), template_of({special("<s>"), kSequence}, ids)}}}}) {
    CAPTURE(bad.dump());
    CHECK(mentions(error_of([&] { read_with(bad); }), {"post_processor"}));
  }
  CHECK(mentions(error_of([&] { read_with(template_of({special("<s>"), kSequence}, {{"<s>", {330}}})); }),
                 {"no row for", "330"}));
}

TEST_CASE("hf template: beside tokenizer.json add_bos_token decides nothing, as in transformers 5; that is said") {
  Scratch scratch;
  const std::string folder = scratch.folder().string();
  const json start = template_of({special("<s>"), kSequence}, {{"<s>", {0}}});
  std::vector<std::string> notes;
  test::write_file(scratch.path("tokenizer_config.json"), R"({"add_bos_token": true})");
  CHECK_FALSE(read_with(kByteLevel, folder, &notes).adds_bos);
  REQUIRE_EQ(notes.size(), 1);
  CHECK(mentions(notes.front(), {"template", "decides"}));
  CHECK(read_with(start, folder, &notes).adds_bos);
  test::write_file(scratch.path("tokenizer_config.json"), R"({"add_bos_token": false})");
  CHECK(read_with(start, folder, &notes).adds_bos);
  CHECK_EQ(notes.size(), 1);
}

TEST_CASE("hf template: beside vocab.json and merges.txt add_bos_token and add_eos_token decide") {
  Scratch scratch;
  test::write_file(scratch.path("vocab.json"), R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3, "<e>": 4})");
  test::write_file(scratch.path("merges.txt"), "a b\n");
  const auto ids = [&](const std::string& config) {
    test::write_file(scratch.path("tokenizer_config.json"), config);
    return make_tokenizer(*convert::read_folder_tokenizer(scratch.folder().string(), {5, -1, {}}))->encode("aba");
  };
  CHECK_EQ(ids("{}"), Ids{2, 0});
  CHECK_EQ(ids(R"({"add_bos_token": false})"), Ids{2, 0});
  CHECK_EQ(ids(R"({"add_bos_token": true})"), Ids{3, 2, 0});
  CHECK_EQ(ids(R"({"add_bos_token": true, "add_eos_token": true, "eos_token": "<e>"})"), Ids{3, 2, 0, 4});
  CHECK_EQ(ids(R"({"add_bos_token": true, "bos_token": {"content": "<e>"}})"), Ids{4, 2, 0});
}

TEST_CASE("hf template: the model file keeps what is put around texts, and a file without it opens as before") {
  const json ids = {{"<s>", {0}}, {"</s>", {1}}};
  const TokenizerData with = read_with(template_of({special("<s>"), kSequence, special("</s>")}, ids));
  ModelDraft draft = foreign::small_gpt2();
  draft.config.vocab_size = 330;
  draft.tensors.clear();
  draft.tokenizer = with;
  const TokenizerData kept = write_model_in_memory(draft, "a model").tokenizer();
  CHECK(kept.adds_bos);
  CHECK(kept.adds_eos);
  CHECK_EQ(kept.bos_id, 0);
  CHECK_EQ(kept.eos_id, 1);
  draft.tokenizer = read_with(kByteLevel);
  const TokenizerData without = write_model_in_memory(draft, "a model").tokenizer();
  CHECK_FALSE(without.adds_eos);
  CHECK_EQ(without.eos_id, -1);
}

TEST_CASE("hf template: case 01, a GPT-2 tokenizer as transformers 5 saves it, gives transformers' ids") {
  const std::string folder = test::shared("cases-2/01/gpt2-saved-by-transformers5");
  if (folder.empty()) return;
  const ModelDraft draft = foreign::import_noting(folder).draft;
  CHECK_EQ(make_tokenizer(draft.tokenizer)->encode(kText), Ids{161, 278, 211, 89, 175});
}
