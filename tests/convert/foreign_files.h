// foreign_files.h: writes checkpoints in other programs' formats from drafts, straight from their descriptions, so that
// what an importer reads can be compared number by number with what was put in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convert/convert.h"
#include "format/model_writer.h"
#include "support.h"

namespace foreign {

// All numbers of a draft's tensor, outputs first.
std::vector<float> numbers_of(const ordinal::ModelDraft& draft, const std::string& name);
const ordinal::TensorSource* find_tensor(const ordinal::ModelDraft& draft, const std::string& name);

// Names, shapes and numbers of all tensors agree bit for bit, whatever their order.
void check_same_tensors(const ordinal::ModelDraft& found, const ordinal::ModelDraft& expected);

// Little-endian bytes.
std::string le32(int64_t value);
std::string le64(uint64_t value);
std::string bytes_of(const std::vector<float>& values, ordinal::Dtype dtype = ordinal::Dtype::f32);
std::string transposed_bytes_of(const std::vector<float>& values, int64_t rows, ordinal::Dtype dtype);

// A safetensors file: entries in the order given, data_offsets following it.
struct SafeTensor {
  std::string name, kind;
  std::vector<int64_t> shape;
  std::string bytes;
};
std::string safetensors(const std::vector<SafeTensor>& tensors, const std::string& metadata = "");

// The tensors of a GPT-2 draft under Hugging Face's names.
struct FolderOptions {
  std::string prefix = "transformer.";
  ordinal::Dtype dtype = ordinal::Dtype::f32;
};
std::vector<SafeTensor> gpt2_tensors(const ordinal::ModelDraft& draft, const FolderOptions& options = {});

// config.json with the sizes of the draft; `more` is JSON text added to it, such as R"(, "n_inner": 7)".
std::string gpt2_config(const ordinal::ModelDraft& draft, const std::string& more = "");

// Both, in a folder that is made.
void write_gpt2_folder(const ordinal::ModelDraft& draft, const std::string& folder, const std::string& more_config = "",
                       const FolderOptions& options = {});

// An llm.c model: version 3 is f32, 5 is bf16; the vocabulary is padded with rows of -1.
std::string llmc_file(const ordinal::ModelDraft& draft, int version = 3, int64_t padded_vocab = 0);

// A llama2.c model, legacy (version 0) or version 1.
std::string llama2c_file(const ordinal::ModelDraft& draft, int version);

// A GGUF file of the llama draft: keys, directory and F32 tensors, straight from the format's description.
// `more_keys`: keys in bytes that are added, made by gguf_key and gguf_text_key, and how many they are.
struct GgufOptions {
  uint32_t version = 3;
  std::vector<std::string> more_keys = {};
  size_t first_tensor = 0, n_tensors = SIZE_MAX;  // of the draft's: a shard holds some of them
};
std::string gguf_file(const ordinal::ModelDraft& draft, const GgufOptions& options = {});
std::string gguf_key(const std::string& name, int64_t value);  // u32
std::string gguf_text_key(const std::string& name, const std::string& value);

// Drafts that each format can hold, of odd sizes.
ordinal::ModelDraft small_gpt2();
ordinal::ModelDraft small_llama();

// llm.c's and llama2.c's tokenizer files.
std::string llmc_tokenizer_file(const std::vector<std::string>& pieces, int64_t end_of_text, int version = 2);
struct ScoredPiece {
  std::string piece;
  float score;
};
std::string llama2c_tokenizer_file(const std::vector<ScoredPiece>& pieces);
std::vector<ScoredPiece> small_scored_pieces(int64_t count);

// Imports and keeps the remarks.
struct Imported {
  ordinal::ModelDraft draft;
  std::shared_ptr<std::vector<std::string>> notes;
  bool noted(const std::string& word) const;
};
Imported import_noting(const std::string& path, const std::string& vocab_dir = "");

// A folder of the small GPT-2 in which a test changes one thing.
struct Gpt2Folder {
  ordinal::ModelDraft draft = small_gpt2();
  std::vector<SafeTensor> tensors = gpt2_tensors(draft);
  std::string config = gpt2_config(draft);
  test::Scratch scratch;

  SafeTensor& at(const std::string& name);
  std::string path() const { return scratch.folder().string(); }
  void write() const;
  Imported import() const;
  std::string error() const;
};

// Imports, and reads all numbers of all tensors; an Error is fine, anything else fails the test. Whether it was a
// model.
bool imports_or_refuses(const std::string& path);

}  // namespace foreign
