// model_writer.h: writes a model file from any source of rows, a few rows at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ordinal/model_file.h"
#include "ordinal/tensor.h"

namespace ordinal {

// A tensor to be written, read from its source when its turn comes.
struct TensorSource {
  std::string name;            // GGUF's: token_embd.weight, blk.7.attn_q.weight, ...
  std::vector<int64_t> shape;  // [N, K] or [K], outputs first; of a table [M, N, K] too
  Dtype source_dtype = Dtype::f32;
  // Gives rows `first` .. `first + count` as count * K floats, outputs first whatever the source's orientation
  // (a tensor of one dimension has one row, one of three M * N). Called with rising `first`, count <= 32.
  std::function<void(int64_t first, int64_t count, float* out)> read_rows;
  // The same rows as they are stored, in source_dtype: blocks (block_panels.h), or numbers of 16 bits. A matrix that
  // stays of its kind is then moved, and not widened and rounded anew. Empty where the source has its rows in another
  // way.
  std::function<void(int64_t first, int64_t count, std::byte* out)> read_blocks = {};
  // The tensor as it lies in a model file, which read_rows keeps alive: written byte for byte where kind and layout
  // stay. nullptr when it comes from elsewhere.
  const TensorView* stored = nullptr;
  // Not a matrix that products are made of but a table that a position scheme reads: lies in rows. Who adds the tensor
  // knows.
  bool is_table = false;
};

// Everything a model file holds, before it is one.
struct ModelDraft {
  std::string kind;  // for people: what was recognised, "Qwen2, ..."; may be empty
  ModelConfig config;
  ModelNotes notes;
  TokenizerData tokenizer;
  std::vector<TensorSource> tensors;
};

// How tensors are stored. Matrices go to panels; tables stay in rows; tensors of one dimension stay f32 rows. Where a
// block kind is asked for, tables and matrices with fewer inputs than a block stay f32.
struct WriteOptions {
  bool keep_dtype = true;  // each matrix in the kind of its source, as is all of a model file; otherwise in `dtype`
  Dtype dtype = Dtype::f32;
  std::optional<Dtype> head_dtype = {};  // of token_embd.weight and output.weight, when it is to be another
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress = {};
  // Told of every tensor that was rounded on its way: the root of squared errors over squared numbers.
  std::function<void(const std::string& name, Dtype dtype, double relative_error)> rounded = {};
};

// Writes `path` by way of a temporary file beside it, so that there is a whole file or none. Throws Error: the draft
// contradicts itself, a value does not fit the kind (the tensor is named), or writing fails.
void write_model_file(const ModelDraft& draft, const std::string& path, const WriteOptions& options = {});

// The same into memory that behaves as a file, opened. `name` stands for the path in messages.
ModelFile write_model_in_memory(const ModelDraft& draft, const std::string& name, const WriteOptions& options = {});

}  // namespace ordinal
