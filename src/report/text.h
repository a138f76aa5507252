// text.h: results for a person: aligned tables, sizes, and bytes that cannot upset a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace ordinal::report {

// Printable text as it is; line ends, tabs and backslashes as \n, \r, \t, \\; other control characters and bytes that
// are not UTF-8 as \x1b. Reversible.
std::string escaped(std::string_view bytes);

// Columns padded to the widest cell, two blanks apart, each row a line. `right` says which columns are numbers: "lrl".
// The width of a cell is its number of characters.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment);

// 1234567 as "1,234,567"; 1234567 bytes as "1.2 MB".
std::string grouped(int64_t number);
std::string byte_size(int64_t bytes);

using ordinal::fixed;
using ordinal::shortest;
using ordinal::significant;

}  // namespace ordinal::report
