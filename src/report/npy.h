// npy.h: writes arrays of floats as NumPy's .npy files, version 1.0 (numpy.lib.format: magic, header, rows in order).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/output_file.h"
#include "results/compared.h"

namespace ordinal::report {

// The bytes before the numbers of a float32 array of this shape in C order; a multiple of 64 of them.
std::string npy_header(std::span<const int64_t> shape);

// The losses of every scored token as a structured array of one dimension, a record a token of a pass: text, target,
// place, id, length (int32), protocol (int8: 0 whole, 1 sliding, 2 recent), and for each scheme a float32 under its
// spec, NaN where it did not run.
std::string to_npy(const TokenLosses& losses, std::span<const std::string> positions);

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
