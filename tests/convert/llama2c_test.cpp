// llama2c_test.cpp: llama2.c models, written here number by number, and read back; and the handed-over one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "convert/training_files.h"
#include "ordinal/session.h"
#include "reference/random_model.h"
#include "reference/reference_forward.h"

using namespace foreign;
using ordinal::ModelDraft;
using test::error_of, test::mentions, test::Scratch;

namespace {

std::string llama2c_error(const std::string& bytes) {
  Scratch scratch;
  test::write_file(scratch.path("m.bin"), bytes);
  return error_of([&] { ordinal::import_checkpoint(scratch.path("m.bin")); });
}

}  // namespace

TEST_CASE("llama2.c: every number is where it was, in both layouts, with a shared head and with one of its own") {
  for (const bool shared : {true, false})
    for (const int version : {0, 1}) {
      ModelDraft draft = small_llama();
      draft.config.tied_output = shared;
      if (!shared)
        draft.tensors.push_back(
            test::tensor_of("output.weight", {263, 36}, test::uniform_numbers(3, "head", 263 * 36, 0, 1)));
      Scratch scratch;
      test::write_file(scratch.path("m.bin"), llama2c_file(draft, version));
      const Imported imported = import_noting(scratch.path("m.bin"));
      check_same_tensors(imported.draft, draft);
      const ordinal::ModelConfig& config = imported.draft.config;
      CHECK_EQ(config.vocab_size, 263);
      CHECK_EQ(config.max_seq_len, 40);
      CHECK_EQ(config.n_heads, 6);
      CHECK_EQ(config.n_kv_heads, 2);
      CHECK_EQ(config.head_dim, 6);
      CHECK_EQ(config.d_ff, 50);
      CHECK_EQ(config.norm, ordinal::NormKind::rms_norm);
      CHECK_EQ(config.norm_epsilon, 1e-5f);
      CHECK_EQ(config.activation, ordinal::Activation::silu);
      CHECK(config.gated_mlp);
      CHECK_EQ(config.tied_output, shared);
      CHECK_EQ(config.attention_scale, std::vector<float>(2, static_cast<float>(1 / std::sqrt(6.0))));
      CHECK_EQ(config.bos_id, 1);
      CHECK_EQ(config.eos_ids, std::vector<ordinal::TokenId>{1, 2});
      CHECK_EQ(imported.draft.notes.position, "rope:pairing=interleaved");
    }
}

TEST_CASE("llama2.c: stories260K has its shapes, bytes, tokenizer and golden activations") {
  const std::string path = test::shared("checkpoints/stories260K/stories260K.bin");
  if (path.empty()) return;
  const Imported imported = import_noting(path);
  const ModelDraft& draft = imported.draft;
  CHECK_EQ(draft.config.d_model, 64);
  CHECK_EQ(draft.config.n_layers, 5);
  CHECK_EQ(draft.config.n_heads, 8);
  CHECK_EQ(draft.config.n_kv_heads, 4);
  CHECK_EQ(draft.config.d_ff, 172);
  CHECK_EQ(draft.config.vocab_size, 512);
  CHECK_EQ(draft.config.max_seq_len, 512);
  CHECK(draft.config.tied_output);
  // The second layer's value matrix, counted by hand from the description in the checkpoint's README.
  const std::string file = test::read_file(path);
  const size_t place = 28 + 4 * (512 * 64 + 5 * 64 + 5 * 64 * 64 + 5 * 32 * 64 + 32 * 64);
  CHECK_EQ(bytes_of(numbers_of(draft, "blk.1.attn_v.weight")), file.substr(place, 4 * 32 * 64));
  // And the last layer's w1, w2, w3.
  size_t at = 28 + 4 * (512 * 64 + 5 * 64 + 2 * 5 * 64 * 64 + 2 * 5 * 32 * 64 + 5 * 64);
  for (const char* name : {"ffn_gate", "ffn_down", "ffn_up"}) {
    at += 4 * 4 * 172 * 64;
    CHECK_EQ(bytes_of(numbers_of(draft, "blk.4." + std::string(name) + ".weight")), file.substr(at, 4 * 172 * 64));
    at += 4 * 172 * 64;
  }
  CHECK_EQ(bytes_of(numbers_of(draft, "output_norm.weight")), file.substr(at, 4 * 64));

  CHECK_EQ(draft.tokenizer.kind, "scores");  // tok512.bin lies beside it
  CHECK_EQ(draft.tokenizer.pieces.size(), 512);

  const nlohmann::json golden =
      nlohmann::json::parse(test::read_file(test::shared("checkpoints/stories260K/golden.json")));
  const reference::Model model(draft);
  const auto scheme = reference::scheme_of("rope:pairing=interleaved", {});
  size_t compared = 0;
  for (const auto& row : golden["cases"]) {
    const auto logits = reference::forward(model, scheme, row["ids"].get<std::vector<int32_t>>()).logits.back();
    if (!row.contains("logits_last")) continue;
    for (size_t i = 0; i < logits.size(); ++i)
      CHECK_LE(std::abs(logits[i] - row["logits_last"][i].get<double>()), 1e-5);
    ++compared;
  }
  CHECK_GT(compared, 0);
}

TEST_CASE("llama2.c: version 2 gives codes times factors, in groups that cross the ends of rows") {
  for (const bool shared : {true, false})
    for (const int64_t group : {4, 12, 36}) {
      ModelDraft draft = small_llama();
      draft.config.tied_output = shared;
      if (!shared)
        draft.tensors.push_back(
            test::tensor_of("output.weight", {263, 36}, test::uniform_numbers(3, "head", 263 * 36, 0, 1)));
      Scratch scratch;
      test::write_file(scratch.path("m.bin"), llama2c_8bit_file(draft, group));
      const Imported imported = import_noting(scratch.path("m.bin"));
      check_same_tensors(imported.draft, draft);
      CHECK(imported.noted("8 bits"));
    }
}

TEST_CASE("llama2.c: the handed-over file of version 2 has its golden logits and best tokens") {
  const std::string folder = test::shared("checkpoints/formats/llama2c");
  if (folder.empty()) return;
  const auto model = ordinal::Model::bind(ordinal::open_any_model(folder + "/llama2c-v2-g32.bin"));
  const nlohmann::json golden = nlohmann::json::parse(test::read_file(folder + "/llama2c-v2-g32.json"));
  for (const auto& item : golden["cases"]) {
    ordinal::Session session(model);
    const auto logits = session.evaluate(item["ids"].get<std::vector<int32_t>>());
    for (size_t id = 0; id < logits.size(); ++id)
      CHECK_LT(std::abs(logits[id] - item["logits_last"][id].get<double>()), 1e-4);
    CHECK_EQ(std::ranges::max_element(logits) - logits.begin(), item["argmax_each"].back().get<int64_t>());
  }
}

TEST_CASE("llama2.c: version 2, cut, grown, or with groups that do not fit, is refused") {
  ModelDraft draft = small_llama();
  const std::string good = llama2c_8bit_file(draft, 4);
  CHECK(mentions(llama2c_error(good.substr(0, good.size() - 1)), {"truncated"}));
  CHECK(mentions(llama2c_error(good + "x"), {"trailing"}));
  for (const int64_t group : {0, -4, 7, 1 << 25}) {
    std::string file = good;
    file.replace(37, 4, le32(group));
    CHECK(mentions(llama2c_error(file), {"size of groups"}));
  }
}

TEST_CASE("llama2.c: unknown versions are refused by number") {
  const std::string good = llama2c_file(small_llama(), 1);
  for (const int version : {0, 3, -1}) {
    std::string file = good;
    file.replace(4, 4, le32(version));
    CHECK(mentions(llama2c_error(file), {"version " + std::to_string(version)}));
  }
  std::string file = good;
  file[36] = 2;
  CHECK(mentions(llama2c_error(file), {"flag"}));
}

TEST_CASE("llama2.c: a number in the header that is 0, negative, off by one or huge is an error") {
  for (const int version : {0, 1}) {
    const std::string good = llama2c_file(small_llama(), version);
    const size_t first = version == 0 ? 0 : 2;
    for (size_t field = 0; field < 7; ++field) {
      int64_t value = 0;
      std::memcpy(&value, good.data() + 4 * (first + field), 4);
      for (const int64_t other : {int64_t{0}, int64_t{-1}, value - 1, value + 1, value * 3, int64_t{INT32_MAX},
                                  int64_t{INT32_MIN}, int64_t{1} << 30}) {
        std::string file = good;
        file.replace(4 * (first + field), 4, le32(other));
        CAPTURE(field);
        CAPTURE(other);
        if (version == 1 && field == 6 && other > 0 && other <= 1 << 24) continue;  // v1 stores nothing of that length
        CHECK_FALSE(llama2c_error(file).empty());
      }
    }
  }
}

TEST_CASE("llama2.c: a file that is shorter or longer than its header says names both sizes") {
  for (const int version : {0, 1}) {
    const std::string good = llama2c_file(small_llama(), version);
    CHECK(mentions(llama2c_error(good.substr(0, good.size() - 4)), {"truncated"}));
    CHECK(mentions(llama2c_error(good.substr(0, 300)), {"truncated"}));
    CHECK(mentions(llama2c_error(good + std::string(4, '\0')), {"trailing"}));
  }
}

TEST_CASE("llama2.c: the tokenizer beside a model is the one that fits its vocabulary") {
  Scratch scratch;
  test::write_file(scratch.path("m.bin"), llama2c_file(small_llama(), 1));
  CHECK_EQ(import_noting(scratch.path("m.bin")).draft.tokenizer.kind, "none");
  test::write_file(scratch.path("tokenizer.bin"), llama2c_tokenizer_file(small_scored_pieces(265)));
  const Imported misfit = import_noting(scratch.path("m.bin"));
  CHECK_EQ(misfit.draft.tokenizer.kind, "none");
  CHECK(misfit.noted("not the model's tokenizer"));
  test::write_file(scratch.path("tok263.bin"), llama2c_tokenizer_file(small_scored_pieces(263)));
  const Imported fit = import_noting(scratch.path("m.bin"));
  CHECK_EQ(fit.draft.tokenizer.kind, "scores");
  CHECK_EQ(fit.draft.tokenizer.pieces.size(), 263);
  CHECK(mentions(error_of([&] { import_noting(scratch.path("m.bin"), scratch.path("tokenizer.bin")); }), {"263"}));
  CHECK_EQ(import_noting(scratch.path("m.bin"), scratch.path("tok263.bin")).draft.tokenizer.kind, "scores");
  CHECK_EQ(import_noting(scratch.path("m.bin"), scratch.folder().string()).draft.tokenizer.kind, "scores");
}
