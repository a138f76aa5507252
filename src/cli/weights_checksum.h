// weights_checksum.h: one checksum for all weights of a model, to tell whether results are of the same.
#pragma once

#include <string>

#include "ordinal/model_file.h"

namespace ordinal::cli {

// Of the checksums that the file records for its tensors: 16 hexadecimal digits.
std::string weights_checksum(const ModelFile& file);

}  // namespace ordinal::cli
