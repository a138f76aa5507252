// model_header.h: the header of a model file, as bytes and as a struct. README.md describes the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/tokenizer_data.h"
#include "ordinal/model_file.h"
#include "ordinal/tensor.h"

namespace ordinal {

inline constexpr std::string_view kModelMagic{"ORDINAL\0", 8};
inline constexpr uint32_t kModelVersion = 1;
inline constexpr int64_t kFileAlignment = 64;
inline constexpr int64_t kMaxHeaderBytes = int64_t{16} << 20;
inline constexpr size_t kMaxTensorName = 128;

// The first 64 bytes, as they are in memory and in the file.
struct FixedHeader {
  std::array<char, 8> magic{};
  uint32_t version = kModelVersion;
  uint32_t flags = 0;
  uint64_t header_bytes = 0;     // of the JSON text that follows
  uint64_t file_bytes = 0;       // of the whole file
  uint64_t header_checksum = 0;  // of the JSON text
  std::array<uint64_t, 3> reserved{};
};
static_assert(sizeof(FixedHeader) == kFileAlignment);

// A stretch of the data area; `offset` counts from where that begins.
struct FilePart {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t checksum = 0;
};

struct BlobPart {
  int64_t count = 0;
  FilePart part;  // 0 bytes: there is no such list
};

struct TensorPart {
  std::string name;
  Dtype dtype = Dtype::f32;
  Layout layout = Layout::rows;
  std::vector<int64_t> shape;
  FilePart part;
};

struct ModelHeader {
  ModelConfig config;
  ModelNotes notes;
  TokenizerData tokenizer;                 // its facts; the lists stay empty
  std::array<BlobPart, kBlobKinds> blobs;  // in the order of kBlobNames
  std::vector<TensorPart> tensors;         // by offset
  int64_t data_bytes = 0;                  // of the data area: where the last part ends, padded
};

// `bytes` rounded up to the next multiple of 64. `bytes` is at most INT64_MAX - 63.
constexpr int64_t align_file(int64_t bytes) { return (bytes + kFileAlignment - 1) / kFileAlignment * kFileAlignment; }

// Reads the JSON text of a header and checks all that it says: on return every number is in range, sizes match shapes,
// and the parts fill the data area one after another. `path` names the file in messages. Throws Error.
ModelHeader parse_model_header(std::string_view json, const std::string& path);

// The JSON text of a header. Its length does not depend on the checksums in it.
std::string write_model_header(const ModelHeader& header);

// Gives every part its place: lists first, then tensors in their order. Throws Error when that leaves 63 bits.
void place_parts(ModelHeader& header);

// Throws Error unless specs and provenance are such as a file may hold.
void check_notes(const ModelNotes& notes);

// Throws Error unless `name` can be a tensor's.
void check_tensor_name(std::string_view name);

}  // namespace ordinal
