// tokenizer_facts_test.cpp: a tokenizer's facts in a header: every one comes back, and old headers read as they did.
#include "format/tokenizer_facts.h"

#include <functional>

#include "support.h"

using namespace ordinal;
using test::error_of, test::mentions;

namespace {

TokenizerData with_every_fact() {
  TokenizerData data;
  data.kind = "char_bpe";
  data.split = "llama3";
  data.add_prefix_space = data.adds_bos = data.adds_eos = data.ignore_merges = data.fuse_unknown = true;
  data.bos_id = 1;
  data.eos_id = 2;
  data.unknown_id = 0;
  data.special_ids = {0, 1, 2};
  data.prefix = "first";
  data.first_space = "all_dropped";
  data.chat = "chatml+bos";
  data.changes = {{"nfc", "", ""}, {"replace", "\xe2\x96\x81", " "}};
  data.cuts = {{"isolated", R"(\p{N})", false, true, true}, {"next", " ", true}};
  data.added = {{1, "\xe2\x96\x81x", true, true, true, true, true, true}, {2, "", false, false, true}};
  data.byte_ids.assign(256, -1);
  data.byte_ids[10] = 3;
  return data;
}

std::string header_of(const TokenizerData& data) {
  JsonWriter json;
  json.begin_object();
  write_tokenizer_facts(json, data);
  json.end_object();
  return json.take();
}

TokenizerData read_back(const std::string& text) {
  const JsonDocument document = parse_json(text, "header");
  TokenizerData data;
  read_tokenizer_facts(document, data);
  return data;
}

}  // namespace

TEST_CASE("tokenizer facts: every fact comes back") {
  const TokenizerData data = with_every_fact(), back = read_back(header_of(data));
  CHECK_EQ(header_of(back), header_of(data));
  CHECK_EQ(back.cuts.at(0).pattern, data.cuts[0].pattern);
  CHECK(back.cuts.at(0).inverted);
  CHECK(back.cuts.at(0).spelled);
  CHECK(back.cuts.at(1).literal);
  CHECK_EQ(back.changes.at(1).pattern, data.changes[1].pattern);
  CHECK_EQ(back.added.at(0).name, data.added[0].name);
  CHECK(back.added.at(0).named_only);
  CHECK(back.added.at(1).rstrip);
  CHECK_EQ(back.byte_ids, data.byte_ids);
  CHECK_EQ(back.chat, "chatml+bos");
  CHECK_EQ(back.prefix, "first");
  CHECK_EQ(back.first_space, "all_dropped");
  check_tokenizer_facts(back, 4);
}

TEST_CASE("tokenizer facts: at their defaults they are as in the first files") {
  const std::string old =
      R"({"kind":"bpe","split":"gpt2","add_prefix_space":false,"adds_bos":false,"bos_id":-1,"unknown_id":-1,"special_ids":[]})";
  TokenizerData data;
  data.kind = "bpe";
  CHECK_EQ(header_of(data), old);
  CHECK_EQ(header_of(read_back(old)), old);
}

TEST_CASE("tokenizer facts: what cannot be is refused") {
  const auto error_with = [](const std::function<void(TokenizerData&)>& change) {
    TokenizerData data = with_every_fact();
    change(data);
    return error_of([&] { check_tokenizer_facts(data, 4); });
  };
  CHECK(mentions(error_with([](auto& d) { d.added[0].id = 4; }), {"added"}));
  CHECK(mentions(error_with([](auto& d) { d.byte_ids[3] = 4; }), {"byte_ids"}));
  CHECK(mentions(error_with([](auto& d) { d.byte_ids.pop_back(); }), {"byte_ids"}));
  CHECK(mentions(error_with([](auto& d) { d.cuts.resize(65, d.cuts[0]); }), {"too many"}));
  CHECK(mentions(error_with([](auto& d) { d.cuts[0].pattern = "\xff"; }), {"UTF-8"}));
  CHECK(mentions(error_with([](auto& d) { d.changes[0].what = "two words"; }), {"proper name"}));
  CHECK(mentions(error_with([](auto& d) { d.chat = "a b"; }), {"chat"}));
  CHECK(mentions(error_with([](auto& d) { d.added[0].name = "\xff"; }), {"UTF-8"}));
}
