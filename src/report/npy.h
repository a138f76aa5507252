// npy.h: writes arrays of floats as NumPy's .npy files, version 1.0 (numpy.lib.format: magic, header, rows in order).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/output_file.h"

namespace ordinal::report {

// The bytes before the numbers of a float32 array of this shape in C order; a multiple of 64 of them.
std::string npy_header(std::span<const int64_t> shape);

// A file that appears when the last number has been given, or not at all.
class NpyFile {
 public:
  NpyFile(const std::string& path, std::vector<int64_t> shape);
  void add(std::span<const float> values);
  // Throws Error when the numbers are not as many as the shape says.
  void finish();

 private:
  OutputFile file_;
  int64_t missing_ = 1;
};

}  // namespace ordinal::report
