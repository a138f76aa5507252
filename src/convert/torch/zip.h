// zip.h: the directory of a zip archive whose entries are stored as they are, checked; as torch.save writes them.
//
// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/mapped_file.h"

namespace ordinal::convert {

struct ZipEntry {
  std::string_view name;  // in the mapping
  int64_t offset = 0, bytes = 0;
};

// In the order of the names. Throws Error unless each entry is stored without compression or encryption, lies within
// the file, apart from all others, behind a header that names it too, and no name comes twice. Sums of the contents
// are not compared: the mapping would have to be read whole, and no other format of weights has any.
std::vector<ZipEntry> read_zip(const MappedFile& file);

}  // namespace ordinal::convert
