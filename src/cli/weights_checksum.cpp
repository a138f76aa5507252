// weights_checksum.cpp: see weights_checksum.h.
#include "cli/weights_checksum.h"

#include "format/checksum.h"

namespace ordinal::cli {

std::string weights_checksum(const ModelFile& file) {
  Checksum all;
  for (const TensorView& tensor : file.tensors()) {
    const std::string own = std::string(tensor.name) + '=' + file.recorded_checksum(tensor.name) + '\n';
    all.add(std::as_bytes(std::span(own)));
  }
  return checksum_text(all.value());
}

}  // namespace ordinal::cli
