// npy.cpp: see npy.h.
#include "report/npy.h"

#include "ordinal/error.h"

namespace ordinal::report {

std::string npy_header(std::span<const int64_t> shape) {
  std::string sizes;
  for (const int64_t size : shape) sizes += std::to_string(size) + ", ";
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);  // (5, ) is a tuple, (5) is not
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr size_t kBefore = 10;  // magic, version, length
  while ((kBefore + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

NpyFile::NpyFile(const std::string& path, std::vector<int64_t> shape) : file_(OutputFile::on_disk(path)) {
  for (const int64_t size : shape) missing_ *= size;
  const std::string header = npy_header(shape);
  file_.write(std::as_bytes(std::span(header)));
}

// The machine is little-endian, as the model file's own numbers require.
void NpyFile::add(std::span<const float> values) {
  missing_ -= static_cast<int64_t>(values.size());
  file_.write(std::as_bytes(values));
}

void NpyFile::finish() {
  if (missing_ != 0)
    throw Error("an array was not written whole", "as many numbers as its shape says",
                std::to_string(missing_) + " missing");
  file_.commit();
}

}  // namespace ordinal::report
