// npy.cpp: see npy.h.
#include "report/npy.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ordinal/error.h"

namespace ordinal::report {

namespace {

// `descr`: the kind of the items, as Python writes it.
std::string header_of(const std::string& descr, std::span<const int64_t> shape) {
  std::string sizes;
  for (const int64_t size : shape) sizes += std::to_string(size) + ", ";
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);  // (5, ) is a tuple, (5) is not
  std::string dictionary = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr size_t kBefore = 10;  // magic, version, length
  while ((kBefore + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header = "\x93NUMPY";
  const bool is_long = dictionary.size() > 0xffff;  // version 2 has four bytes for the length
  header += is_long ? '\x02' : '\x01';
  header += '\x00';
  for (int byte = 0; byte < (is_long ? 4 : 2); ++byte) header += static_cast<char>(dictionary.size() >> 8 * byte);
  return header + dictionary;
}

template <class T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

int8_t protocol_code(std::string_view protocol) {
  constexpr std::array<std::string_view, 3> kCodes = {kWhole, kSliding, kRecent};
  return static_cast<int8_t>(std::ranges::find(kCodes, protocol) - kCodes.begin());
}

}  // namespace

std::string npy_header(std::span<const int64_t> shape) { return header_of("'<f4'", shape); }

std::string to_npy(const TokenLosses& losses, std::span<const std::string> positions) {
  std::string descr = "[";
  for (const char* name : {"text", "target", "place", "id", "length"})
    descr += "('" + std::string(name) + "', '<i4'), ";
  descr += "('protocol', '|i1'), ";
  for (const std::string& position : positions) descr += "('" + position + "', '<f4'), ";
  descr += "]";
  int64_t count = 0;
  for (const TokenLosses::Pass& pass : losses.passes) count += std::ssize(pass.target);
  std::string bytes = header_of(descr, std::vector{count});
  for (const TokenLosses::Pass& pass : losses.passes) {
    std::vector<const std::vector<float>*> columns;
    for (const std::string& position : positions) {
      const auto at = std::ranges::find(pass.positions, position) - pass.positions.begin();
      columns.push_back(at < std::ssize(pass.positions) ? &pass.nll[static_cast<size_t>(at)] : nullptr);
    }
    for (size_t i = 0; i < pass.target.size(); ++i) {
      for (const auto* column : {&pass.text, &pass.target, &pass.place, &pass.id}) append_bytes(bytes, (*column)[i]);
      append_bytes(bytes, static_cast<int32_t>(pass.length));
      append_bytes(bytes, protocol_code(pass.protocol));
      for (const std::vector<float>* column : columns)
        append_bytes(bytes, column == nullptr ? std::numeric_limits<float>::quiet_NaN() : (*column)[i]);
    }
  }
  return bytes;
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
