// text.h: results for a person: aligned tables and sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "base/words.h"

namespace ordinal::report {

using ordinal::escaped, ordinal::grouped, ordinal::shortest;

// Columns padded to the widest cell, two blanks apart, each row a line. `right` says which columns are numbers: "lrl".
// The width of a cell is its number of characters.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment);

// 1234567 bytes as "1.2 MB".
std::string byte_size(int64_t bytes);

using ordinal::fixed;
using ordinal::significant;

}  // namespace ordinal::report
