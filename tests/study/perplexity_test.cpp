// perplexity_test.cpp: texts as streams, words and bytes counted as others count them, averages over texts.
#include "study/perplexity.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

struct Bytes {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Tokenizer> tokenizer;
};

Bytes byte_model(bool with_end = true) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.vocab_size = 257;
  if (with_end) random.config.eos_ids = {256};
  ModelDraft draft = test::random_model(random);
  draft.tokenizer = test::byte_tokenizer();
  Bytes made;
  made.model = Model::bind(write_model_in_memory(draft, "bytes"));
  made.tokenizer = make_tokenizer(made.model->file().tokenizer());
  return made;
}

int64_t words_in(const std::string& text) {
  const Bytes made = byte_model();
  const TokenStream stream = make_stream("t", text, *made.tokenizer, made.model->config(), {});
  int64_t words = 0;
  for (const int32_t count : stream.words) words += count;
  return words;
}

}  // namespace

TEST_CASE("stream: a start token, every byte, and words as Python's split counts them") {
  const Bytes made = byte_model();
  const TokenStream stream = make_stream("t", "to be", *made.tokenizer, made.model->config(), {});
  CHECK(stream.tokens == std::vector<TokenId>{256, 't', 'o', ' ', 'b', 'e'});
  CHECK(stream.bytes == std::vector<int32_t>{0, 1, 1, 1, 1, 1});
  CHECK(stream.words == std::vector<int32_t>{0, 1, 0, 0, 1, 0});
  CHECK(words_in("  two\twords\n") == 2);
  CHECK(words_in("a\xc2\xa0"
                 "b\xe3\x80\x80"
                 "c\xe2\x80\xa8"
                 "d") == 4);                // no-break space, ideographic space, line separator
  CHECK(words_in("\xff\xfe x \xc2") == 3);  // bytes that are no characters are no space
  CHECK(words_in("a\x85"
                 "b\xa0"
                 "c") == 1);  // nor are those whose numbers as characters would be spaces
}

TEST_CASE("stream: documents are encoded apart, an end token after each") {
  const Bytes made = byte_model();
  const auto tokens = [&](const std::string& text) {
    return make_stream("t", text, *made.tokenizer, made.model->config(), {.document_line = "---"}).tokens;
  };
  const std::vector<TokenId> expected = {256, 'a', 256, 'b', '\n', 'c', 256};
  CHECK(tokens("a\n---\nb\nc\n") == expected);
  CHECK(tokens("---\n\na\n\n---\n---\nb\nc") == expected);
  CHECK(tokens("a\n ---\nb") == std::vector<TokenId>{256, 'a', '\n', ' ', '-', '-', '-', '\n', 'b', 256});
}

TEST_CASE("stream: what cannot be a stream is refused") {
  const Bytes made = byte_model(), endless = byte_model(false);
  CHECK(test::mentions(test::error_of([&] { make_stream("empty.txt", "", *made.tokenizer, made.model->config(), {}); }),
                       {"empty.txt", "one token or more"}));
  CHECK(test::mentions(test::error_of([&] { make_stream("t", "a", *endless.tokenizer, endless.model->config(), {}); }),
                       {"start", "--bos no"}));
  CHECK(test::mentions(test::error_of([&] {
                         make_stream("t", "a", *endless.tokenizer, endless.model->config(),
                                     {.start = StartToken::never, .document_line = "---"});
                       }),
                       {"ends a document"}));
  CHECK(test::mentions(test::error_of([] { protocol_from_name("wikitext"); }), {"rolling", "harness"}));
}

TEST_CASE("perplexity: per token, byte and word, micro and macro, from the same losses") {
  const Bytes made = byte_model();
  const Protocol& rolling = protocol_from_name("rolling");
  const std::vector<TokenStream> streams = {make_stream("a", "a short text", *made.tokenizer, made.model->config(), {}),
                                            make_stream("b", "another text, and a longer one, of several windows",
                                                        *made.tokenizer, made.model->config(), {})};
  const auto session = [&] { return Session(made.model, {.position = "none", .capacity = 16, .observer = {}}); };
  const Perplexity both = measure_perplexity(session(), streams, rolling, 16, 16, {});
  REQUIRE(both.texts.size() == 2);
  double total = 0;
  for (size_t i = 0; i < 2; ++i) {
    const PerplexityRow& text = both.texts[i];
    // Alone it is the same, and the sum is the plain one.
    CHECK(measure_perplexity(session(), std::span(streams).subspan(i, 1), rolling, 16, 16, {}).all.nll == text.nll);
    CHECK(text.tokens == static_cast<int64_t>(streams[i].tokens.size()) - 1);
    CHECK(text.nll == doctest::Approx(text.total_nll / static_cast<double>(text.tokens)));
    CHECK(text.ppl == doctest::Approx(std::exp(text.nll)));
    CHECK(text.bits_per_byte == doctest::Approx(text.total_nll / std::log(2.0) / static_cast<double>(text.bytes)));
    CHECK(text.word_ppl == doctest::Approx(std::exp(text.total_nll / static_cast<double>(text.words))));
    total += text.total_nll;
  }
  CHECK(both.texts[0].words == 3);
  CHECK(both.texts[1].words == 9);
  CHECK(both.all.total_nll == doctest::Approx(total));
  CHECK(both.all.nll == doctest::Approx(total / static_cast<double>(both.texts[0].tokens + both.texts[1].tokens)));
  CHECK(both.macro_nll == doctest::Approx((both.texts[0].nll + both.texts[1].nll) / 2));
  CHECK(both.all.nll != doctest::Approx(both.macro_nll));
}

TEST_CASE("perplexity: protocols differ where they say they do") {
  const Bytes made = byte_model();
  std::string text;
  for (int i = 0; i < 12; ++i) text += "line " + std::to_string(i * i) + "\n";
  const auto measured = [&](const char* name, int64_t stride) {
    const Protocol& protocol = protocol_from_name(name);
    const TokenStream stream = make_stream("t", text, *made.tokenizer, made.model->config(), {.start = protocol.start});
    return measure_perplexity(Session(made.model, {.position = "none", .capacity = 16, .observer = {}}), {&stream, 1},
                              protocol, 16, stride, {});
  };
  const auto n = static_cast<int64_t>(text.size());
  CHECK(measured("rolling", 16).all.tokens == n);  // the start token makes the first byte count
  CHECK(measured("harness", 16).all.tokens == n);
  CHECK(measured("gpt2", 8).all.tokens == n - 1);
  CHECK(measured("hf", 16).all.tokens == n - (n + 15) / 16);  // the first of each window does not count
  CHECK(measured("llama.cpp", 16).all.tokens == n / 16 * 7);
  CHECK(measured("rolling", 16).all.nll != measured("harness", 16).all.nll);
}

TEST_CASE("perplexity: what transformers' model gives, counted as each convention's own code or page counts") {
  const auto golden = nlohmann::json::parse(test::read_file(test::repository("tests/goldens/perplexity.json")));
  const auto model = Model::open(test::repository("models/tales.ordinal"));
  const auto tokenizer = make_tokenizer(model->file().tokenizer());
  REQUIRE(golden["entries"].size() == 6);
  for (const auto& [name, entry] : golden["entries"].items()) {
    CAPTURE(name);
    const Protocol& protocol = protocol_from_name(name.substr(0, name.find(' ')));
    const TokenStream stream =
        make_stream("story", golden["text"].get<std::string>(), *tokenizer, model->config(), {.start = protocol.start});
    const auto ctx = entry["ctx"].get<int64_t>();
    const PerplexityRow score =
        measure_perplexity(Session(model, {.position = "learned", .capacity = ctx, .observer = {}}), {&stream, 1},
                           protocol, ctx, entry["stride"].get<int64_t>(), {})
            .all;
    CHECK(score.nll == doctest::Approx(entry["nll"].get<double>()).epsilon(1e-6));
    CHECK(score.ppl == doctest::Approx(std::exp(entry["nll"].get<double>())).epsilon(1e-5));
    if (entry.contains("tokens")) CHECK(score.tokens == entry["tokens"].get<int64_t>());
    if (entry.contains("word_ppl")) {
      CHECK(score.word_ppl == doctest::Approx(entry["word_ppl"].get<double>()).epsilon(1e-5));
      CHECK(score.bits_per_byte == doctest::Approx(entry["bits_per_byte"].get<double>()).epsilon(1e-6));
    }
  }
}
