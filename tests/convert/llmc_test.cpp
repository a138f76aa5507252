// llmc_test.cpp: llm.c models, written here number by number, and read back.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "convert/foreign_files.h"

using namespace foreign;
using ordinal::ModelDraft;
using test::error_of, test::mentions, test::Scratch;

namespace {

std::string llmc_error(const std::string& bytes) {
  Scratch scratch;
  test::write_file(scratch.path("m.bin"), bytes);
  return error_of([&] { ordinal::import_checkpoint(scratch.path("m.bin")); });
}

}  // namespace

TEST_CASE("llm.c: every number of versions 3 and 5 is where it was, the padding left out") {
  const ModelDraft draft = small_gpt2();
  for (const int version : {3, 5})
    for (const int64_t padded : {0, 128}) {
      Scratch scratch;
      test::write_file(scratch.path("gpt2.bin"), llmc_file(draft, version, padded));
      const Imported imported = import_noting(scratch.path("gpt2.bin"));
      check_same_tensors(imported.draft, draft);
      const ordinal::ModelConfig& config = imported.draft.config;
      CHECK_EQ(config.vocab_size, 77);
      CHECK_EQ(config.max_seq_len, 40);
      CHECK_EQ(config.d_model, 36);
      CHECK_EQ(config.n_layers, 2);
      CHECK_EQ(config.n_heads, 3);
      CHECK_EQ(config.d_ff, 144);
      CHECK_EQ(config.norm_epsilon, 1e-5f);
      CHECK_EQ(config.activation, ordinal::Activation::gelu_tanh);
      CHECK(config.tied_output);
      CHECK_EQ(config.attention_scale, std::vector<float>(2, static_cast<float>(1 / std::sqrt(12.0))));
      CHECK_EQ(config.bos_id, -1);  // 77 tokens have no 50256
      CHECK(config.eos_ids.empty());
      CHECK_EQ(imported.draft.notes.position, "learned");
      CHECK(imported.noted("no tokenizer"));
      for (const auto& tensor : imported.draft.tensors)
        CHECK_EQ(tensor.source_dtype, version == 5 ? ordinal::Dtype::bf16 : ordinal::Dtype::f32);
    }
}

TEST_CASE("llm.c: a vocabulary with GPT-2's end of text has it as start and end, and says so") {
  ModelDraft draft = small_gpt2();
  std::string file = llmc_file(draft);
  // The same model with a vocabulary of 50257 rows of the first row's bytes.
  const std::string row = file.substr(1024, 36 * 4);
  std::string rows;
  for (int i = 0; i < 50257; ++i) rows += row;
  file.replace(1024, 77 * row.size(), rows);
  file.replace(12, 4, le32(50257));
  file.replace(28, 4, le32(50257));
  Scratch scratch;
  test::write_file(scratch.path("gpt2.bin"), file);
  const Imported imported = import_noting(scratch.path("gpt2.bin"));
  CHECK_EQ(imported.draft.config.bos_id, 50256);
  CHECK_EQ(imported.draft.config.eos_ids, std::vector<ordinal::TokenId>{50256});
  CHECK(imported.noted("50256"));
}

TEST_CASE("llm.c: other versions are refused by number") {
  const std::string good = llmc_file(small_gpt2());
  for (const int version : {0, 1, 2, 4, 6, -1}) {
    std::string file = good;
    file.replace(4, 4, le32(version));
    CHECK(mentions(llmc_error(file), {"version " + std::to_string(static_cast<uint32_t>(version))}));
  }
}

TEST_CASE("llm.c: a number in the header that is 0, negative, off by one or huge is an error") {
  const std::string good = llmc_file(small_gpt2(), 3, 128);
  for (size_t field = 2; field < 8; ++field) {
    int64_t value = 0;
    std::memcpy(&value, good.data() + 4 * field, 4);
    for (const int64_t other : {int64_t{0}, int64_t{-1}, value - 1, value + 1, value * 2, int64_t{INT32_MAX},
                                int64_t{INT32_MIN}, int64_t{1} << 30}) {
      std::string file = good;
      file.replace(4 * field, 4, le32(other));
      CAPTURE(field);
      CAPTURE(other);
      // Fewer real tokens, or other heads that divide the width, are as good a model.
      if ((field == 3 && other > 0 && other <= 128) || (field == 5 && (other == 2 || other == 4 || other == 6)))
        continue;
      CHECK_FALSE(llmc_error(file).empty());
    }
  }
}

TEST_CASE("llm.c: a file that is shorter or longer than its header says names both sizes") {
  const std::string good = llmc_file(small_gpt2());
  const std::string size = std::to_string(good.size() / 1000) + ",";
  CHECK(mentions(llmc_error(good.substr(0, good.size() - 1)), {"truncated"}));
  CHECK(mentions(llmc_error(good.substr(0, good.size() - 1)), {size}));
  CHECK(mentions(llmc_error(good.substr(0, 1024)), {"truncated"}));
  CHECK(mentions(llmc_error(good.substr(0, 1000)), {"truncated"}));
  CHECK(mentions(llmc_error(good + "x"), {"trailing"}));
  CHECK(mentions(llmc_error(good + std::string(4096, '\0')), {"trailing"}));
}

TEST_CASE("llm.c: its tokenizer is found beside the model, unless it is another model's") {
  ModelDraft draft = small_gpt2();
  Scratch scratch;
  test::write_file(scratch.path("m.bin"), llmc_file(draft));
  std::vector<std::string> pieces;
  for (int i = 0; i < 74; ++i) pieces.emplace_back(1, static_cast<char>('!' + i));
  pieces.insert(pieces.end(), {"ab", "abc", "<end>"});
  for (const char* piece : {"ab", "abc"}) CHECK_NE(std::find(pieces.begin(), pieces.end(), piece), pieces.end());
  test::write_file(scratch.path("gpt2_tokenizer.bin"), llmc_tokenizer_file(pieces, 76));
  const Imported imported = import_noting(scratch.path("m.bin"));
  CHECK_EQ(imported.draft.tokenizer.kind, "bpe");
  CHECK_EQ(imported.draft.tokenizer.merges.size(), 2);
  CHECK_EQ(imported.draft.tokenizer.special_ids, std::vector<ordinal::TokenId>{76});

  pieces.pop_back();
  test::write_file(scratch.path("gpt2_tokenizer.bin"), llmc_tokenizer_file(pieces, 0));
  const Imported other = import_noting(scratch.path("m.bin"));
  CHECK_EQ(other.draft.tokenizer.kind, "none");
  CHECK(other.noted("another model's"));
}
