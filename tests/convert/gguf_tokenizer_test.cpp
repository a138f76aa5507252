// gguf_tokenizer_test.cpp: tokenizers of GGUF's keys; ids by the rules of ../shared/design/FORMATS.md, which are
// llama.cpp's.
#include "convert/gguf/gguf_tokenizer.h"

#include <cmath>
#include <functional>

#include "ordinal/tokenizer.h"
#include "support.h"

using namespace ordinal;
using convert::GgufTokenizer;
using Ids = std::vector<TokenId>;
using test::error_of, test::mentions;

namespace {

GgufTokenizer byte_level(const std::string& pre) {
  GgufTokenizer facts;
  facts.model = "gpt2";
  facts.pre = pre;
  facts.tokens = {"a",
                  "b",
                  "1",
                  "\xc4\xa0",
                  "ab",
                  "\xc4\xa0"
                  "ab",
                  "11",
                  "111",
                  "1111",
                  "abab",
                  "<|x|>",
                  "<tool>",
                  "'",
                  "<pad>",
                  "\xc4\x8a"};
  facts.token_types = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4, 1, 5, 1};
  facts.merges = {"a b", "\xc4\xa0 ab", "1 1", "11 1", "111 1"};
  facts.bos_id = 10;
  facts.eos_id = 10;
  return facts;
}

GgufTokenizer scored() {
  GgufTokenizer facts;
  facts.model = "llama";
  const auto add = [&](const std::string& token, float score, int32_t type) {
    facts.tokens.push_back(token);
    facts.scores.push_back(score);
    facts.token_types.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int i = 0; i < 256; ++i) add(std::string("<0x") + kHex[i / 16] + kHex[i % 16] + ">", 0, 6);
  add("\xe2\x96\x81", -1, 1);  // 259
  add("a", -2, 1);             // 260
  add("\xe2\x96\x81"
      "a",
      -3, 1);        // 261
  add("<b>", 0, 4);  // 262
  facts.bos_id = 1;
  facts.eos_id = 2;
  return facts;
}

std::unique_ptr<Tokenizer> made(const GgufTokenizer& facts, int64_t rows = 0) {
  return make_tokenizer(convert::read_gguf_tokenizer(facts, "m.gguf", {rows, -1, {}}));
}

Ids ids_of(const GgufTokenizer& facts, const std::string& text, bool special = false) {
  return made(facts)->encode(text, {.parse_special = special});
}

}  // namespace

TEST_CASE("gguf tokenizer: gpt2's pieces are cut by the rule that pre names") {
  CHECK_EQ(ids_of(byte_level("gpt-2"), "ab ab1111"), Ids{4, 5, 6, 6});
  CHECK_EQ(ids_of(byte_level("smollm"), "ab1111"), Ids{4, 2, 2, 2, 2});
  CHECK_EQ(ids_of(byte_level("qwen2"), "ab1111"), Ids{4, 2, 2, 2, 2});
  CHECK_EQ(ids_of(byte_level("llama-bpe"), "abab1111"), Ids{10, 9, 7, 2});  // a start token, a word without a merge
  CHECK_EQ(ids_of(byte_level("dbrx"), "abab1111"), Ids{4, 4, 7, 2});
  CHECK_EQ(ids_of(byte_level("falcon"), "ab1111"), Ids{4, 7, 2});
  CHECK_EQ(ids_of(byte_level("bloom"), "ab1111ab ab"), Ids{4, 6, 6, 4, 5});
  CHECK_EQ(ids_of(byte_level(""), "ab1111"), Ids{4, 7, 2});
  CHECK_EQ(ids_of(byte_level("gpt-2"), "ab<tool>ab"), Ids{4, 11, 4});  // user-defined: always
  CHECK_EQ(ids_of(byte_level("gpt-2"), "ab<|x|>ab", true), Ids{4, 10, 4});
  GgufTokenizer asks = byte_level("gpt-2");
  asks.add_bos = true;
  CHECK_EQ(ids_of(asks, "a"), Ids{10, 0});
  CHECK_EQ(made(byte_level("gpt-2"), 20)->vocab_size(), 20);
  CHECK_EQ(made(byte_level("gpt-2"))->piece(13), "");  // unused
}

TEST_CASE("gguf tokenizer: llama's pieces merge by score, with bytes for what has no piece") {
  CHECK_EQ(ids_of(scored(), "a a"), Ids{1, 261, 261});
  CHECK_EQ(ids_of(scored(), "b"), Ids{1, 259, 3 + 'b'});
  CHECK_EQ(ids_of(scored(), "a<b>a"), Ids{1, 261, 262, 261});  // a space after each name, as llama.cpp has it
  CHECK_EQ(ids_of(scored(), "a</s>", true), Ids{1, 261, 2});
  CHECK_EQ(made(scored())->decode(Ids{1, 261, 261}), "a a");
  GgufTokenizer plain = scored();
  plain.add_space_prefix = false;
  plain.add_bos = false;
  CHECK_EQ(ids_of(plain, "a a"), Ids{260, 261});
  CHECK_EQ(made(plain)->decode(Ids{261}), " a");
}

TEST_CASE("gguf tokenizer: no tokenizer is none, and what is wrong is refused by its key") {
  CHECK_EQ(convert::read_gguf_tokenizer({}, "m.gguf", {}).kind, "none");
  const auto error_with = [](GgufTokenizer facts, const std::function<void(GgufTokenizer&)>& change, int64_t rows = 0) {
    change(facts);
    return error_of([&] { made(facts, rows); });
  };
  const GgufTokenizer bpe = byte_level("gpt-2"), spm = scored();
  CHECK(mentions(error_with(bpe, [](auto& f) { f.model = "t5"; }), {"tokenizer.ggml.model", "t5"}));
  CHECK(mentions(error_with(bpe, [](auto& f) { f.pre = "viking"; }), {"tokenizer.ggml.pre", "viking", "--vocab"}));
  CHECK(mentions(error_with(bpe, [](auto& f) { f.token_types.pop_back(); }), {"differ in length"}));
  CHECK(mentions(error_with(bpe, [](auto& f) { f.merges.push_back("a x"); }), {"does not have"}));
  CHECK(mentions(error_with(bpe, [](auto& f) { f.merges.push_back("a"); }), {"merge"}));
  CHECK(mentions(error_with(bpe, [](auto& f) { f.bos_id = 15; }), {"bos_token_id"}));
  CHECK(mentions(error_with(bpe, [](auto&) {}, 5), {"vocabulary"}));
  CHECK(mentions(error_with(bpe,
                            [](auto& f) {
                              f.tokens.clear();
                              f.token_types.clear();
                            }),
                 {"vocabulary"}));
  CHECK(mentions(error_with(spm, [](auto& f) { f.scores.pop_back(); }), {"differ in length"}));
  CHECK(mentions(error_with(spm, [](auto& f) { f.scores[5] = NAN; }), {"score"}));
  CHECK(mentions(error_with(spm, [](auto& f) { f.token_types[5] = 0; }), {"type"}));
  CHECK(mentions(error_with(spm, [](auto& f) { f.tokens[5] = "<0x0g>"; }), {"byte"}));
  CHECK(mentions(error_with(spm, [](auto& f) { f.tokens[5] = f.tokens[6]; }), {"two pieces"}));
}
