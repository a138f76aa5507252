// spm_model_test.cpp: SentencePiece's tokenizer.model against SentencePiece (tools/make_spm_goldens.py), and damaged
// ones.
#include <nlohmann/json.hpp>

#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/tokenizer.h"
#include "support.h"
#include "text/tokenizer_data.h"

using namespace ordinal;
using nlohmann::json;
using test::error_of, test::mentions;

namespace {

const json& spm_goldens() {
  static const json goldens = json::parse(test::read_file(test::repository("tests/goldens/spm_models.json")));
  return goldens;
}

TokenizerData read_spm(const std::string& bytes, const convert::Vocabulary& wanted = {}) {
  return convert::read_spm_model(std::as_bytes(std::span(bytes)), "tokenizer.model", "", wanted);
}

// Fields of a protobuf message.
std::string field(int tag, const std::string& bytes) {
  return std::string(1, static_cast<char>(tag << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string field(int tag, int number) { return {static_cast<char>(tag << 3), static_cast<char>(number)}; }

const std::string kPiece = field(1, field(1, std::string("a"))) + field(1, field(1, std::string("<s>"))) +
                           field(1, field(1, std::string("</s>")));
const std::string kPlain = field(3, field(4, 0));  // normalizer_spec: blanks stay
std::string model_of_type(int type) { return kPiece + field(2, field(3, type)) + kPlain; }

}  // namespace

TEST_CASE("spm model: ids and texts are SentencePiece's") {
  for (const json& row : spm_goldens()["models"]) {
    const auto name = row["name"].get<std::string>();
    CAPTURE(name);
    const auto tokenizer = make_tokenizer(read_spm(test::from_hex(row["model"].get<std::string>())));
    for (const json& golden : row["cases"]) {
      const auto text = golden["text"].get<std::string>();
      CAPTURE(text);
      const auto ids = tokenizer->encode(text, {.add_bos = false});
      CHECK_EQ(ids, golden["ids"].get<std::vector<TokenId>>());
      const bool has_marks = text.find("\xe2\x96\x81") != std::string::npos;  // which become blanks
      if (name != "unknown" && !has_marks) CHECK_EQ(tokenizer->decode(ids), text);
      const auto tokens = tokenizer->encode_with_offsets(text, {.add_bos = false});
      if (!text.empty()) CHECK_EQ(tokens.back().end, static_cast<int64_t>(text.size()));
    }
    CHECK_EQ(tokenizer->encode("").front(), 1);  // the start token, as transformers puts it
  }
}

TEST_CASE("spm model: what is not BPE, or changes text by a table, is refused by name") {
  CHECK_EQ(make_tokenizer(read_spm(model_of_type(2)))->vocab_size(), 3);
  CHECK(mentions(error_of([] { read_spm(model_of_type(1)); }), {"model_type", "Unigram"}));
  CHECK(mentions(error_of([] { read_spm(kPiece + kPlain); }), {"model_type", "Unigram"}));
  CHECK(mentions(error_of([] { read_spm(model_of_type(3)); }), {"word"}));
  CHECK(mentions(error_of([] { read_spm(model_of_type(9)); }), {"9"}));
  const std::string bpe = kPiece + field(2, field(3, 2));
  CHECK(mentions(error_of([&] { read_spm(bpe); }), {"remove_extra_whitespaces"}));
  CHECK(mentions(error_of([&] {
                   read_spm(bpe +
                            field(3, field(1, std::string("nmt_nfkc")) + field(2, std::string("x")) + field(4, 0)));
                 }),
                 {"normalizer_spec", "nmt_nfkc"}));
  CHECK(mentions(error_of([&] { read_spm(model_of_type(2) + field(1, field(1, std::string("\xff")))); }), {"no text"}));
  CHECK(mentions(error_of([&] { read_spm(model_of_type(2) + field(1, field(1, std::string("b")) + field(3, 7))); }),
                 {"type"}));
  CHECK(mentions(error_of([&] { read_spm(model_of_type(2) + field(1, field(1, std::string("b")) + field(3, 6))); }),
                 {"byte"}));
  CHECK(mentions(error_of([&] { read_spm("IQ== 0\nIg== 1\n"); }), {"tiktoken"}));
  CHECK(mentions(error_of([&] { read_spm(""); }), {"tokenizer.model"}));
}

TEST_CASE("spm model: every prefix and every flipped byte is an error or a tokenizer") {
  const std::string good = test::from_hex(spm_goldens()["models"][2]["model"].get<std::string>());
  const auto try_reading = [](const std::string& bytes) {
    try {
      const auto tokenizer = make_tokenizer(read_spm(bytes));
      (void)tokenizer->decode(tokenizer->encode("the ships <s>", {.parse_special = true}), true);
    } catch (const Error&) {
    }
  };
  for (size_t length = 0; length < good.size(); ++length) try_reading(good.substr(0, length));
  for (size_t at = 0; at < good.size(); ++at)
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      try_reading(bad);
    }
}
