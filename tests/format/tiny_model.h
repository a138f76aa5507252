// tiny_model.h: small drafts and a second, naive reading of the file format, for the tests of src/format.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "format/model_writer.h"
#include "support.h"

namespace tiny {

// A source that keeps its numbers: values[row * K + k].
ordinal::TensorSource source(std::string name, std::vector<int64_t> shape, std::vector<float> values,
                             ordinal::Dtype dtype = ordinal::Dtype::f32);

// The model of the worked example in src/format/README.md.
ordinal::ModelDraft example();

// A model with a tokenizer of kind bpe (pieces, merges) and tensors of odd shapes and every plain kind.
ordinal::ModelDraft odd_shapes();

// A file taken apart and put together again, sizes and checksum of the header set right.
struct Parts {
  std::string json, data;
};
Parts split(const std::string& file);
std::string join(const Parts& parts);

// The JSON with one occurrence of `from` replaced; fails the test when there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// The bytes as a model file in memory, opened.
ordinal::ModelFile open_bytes(std::string_view bytes);

// The checksum of README.md, word by word and byte by byte, sharing nothing with src/format.
uint64_t naive_checksum(std::string_view bytes);

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace tiny
