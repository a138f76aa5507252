// safetensors.h: the directory of a safetensors file, checked; the format is described at
// https://github.com/huggingface/safetensors (8-byte length, JSON header, data).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/mapped_file.h"

namespace ordinal::convert {

// A tensor within a file; its bytes are known to lie inside and, for kinds of a known size, to fit its shape.
struct StoredTensor {
  std::string name, kind;  // kind as the file has it: F32, BF16, BOOL, ...
  std::vector<int64_t> shape;
  std::shared_ptr<const MappedFile> file;
  int64_t offset = 0, bytes = 0;    // from its first number to its last
  std::vector<int64_t> steps = {};  // as of Stored
};

// In the order of the names. Throws Error unless the tensors cover the data exactly: no gaps, no overlaps, nothing
// before or behind.
std::vector<StoredTensor> read_safetensors(const std::string& path);

}  // namespace ordinal::convert
