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

// The same cells, the widest columns cut in the middle until a table of them is no wider than this; 0: any width.
std::vector<std::vector<std::string>> fitted(std::vector<std::vector<std::string>> rows, size_t width);

// A table as above, or several below each other, each with the first column, where one would be wider than this.
std::string table_in_parts(const std::vector<std::vector<std::string>>& rows, std::string_view alignment, size_t width);

// A paragraph in lines of no more than `width` characters, 0 for one line; the later ones stand in by two.
std::string wrapped(std::string_view text, size_t width);

// 1234567 bytes as "1.2 MB".
std::string byte_size(int64_t bytes);

using ordinal::fixed;
using ordinal::significant;

}  // namespace ordinal::report
