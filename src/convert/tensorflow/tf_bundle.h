// tf_bundle.h: the variables of a TensorFlow checkpoint: PREFIX.index says where each lies in
// PREFIX.data-00000-of-00001.
//
//   index  a table of LevelDB: blocks of entries, a block that lists them, and 48 bytes at the end that say where that
//   is;
//          https://github.com/google/leveldb/blob/main/doc/table_format.md
//   entry  a name, and a message of tensorflow/core/protobuf/tensor_bundle.proto: kind, shape, file, place, checksum
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/hugging_face/safetensors.h"

namespace ordinal::convert {

struct TfVariable {
  StoredTensor tensor;  // its kind "DataType 7" where weights cannot have it
  uint32_t checksum = 0;
};

// In the order of the names. Throws Error for damage, compressed or partitioned files, and another byte order.
std::vector<TfVariable> read_tf_bundle(const std::string& prefix);

// Reads all of the variable. Throws Error when its bytes are not those that were written.
void check_tf_variable(const TfVariable& variable);

}  // namespace ordinal::convert
