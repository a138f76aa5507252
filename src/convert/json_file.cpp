// json_file.cpp: see json_file.h.
#include "convert/json_file.h"

#include "convert/sniff.h"
#include "format/mapped_file.h"
#include "ordinal/error.h"

namespace ordinal::convert {

JsonDocument read_json(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes().empty()) throw Error(path + " is empty", "JSON text", "a size of 0 bytes");
  return parse_json(as_text(file->bytes()), path);
}

}  // namespace ordinal::convert
