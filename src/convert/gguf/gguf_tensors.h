// gguf_tensors.h: tensors of a GGUF file as sources of rows, and of blocks where a model file has the same kind.
#pragma once

#include <string>
#include <vector>

#include "convert/gguf/gguf_file.h"
#include "convert/stored.h"

namespace ordinal::convert {

// Rows `first_row` .. of a tensor as a source of this shape, [outputs, inputs] or [outputs], which the tensor must have
// room for. A vector shorter than the shape is repeated, as one that all heads share. Notes once a tensor that numbers
// in it are no numbers.
TensorSource gguf_source(const std::string& name, std::vector<int64_t> shape, const GgufTensor& tensor,
                         int64_t first_row, const Note& note);

}  // namespace ordinal::convert
