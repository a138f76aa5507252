// compared_text.h: a comparison of position schemes as text: tables for a terminal, and CSV.
#pragma once

#include <string>

#include "results/compared.h"

namespace ordinal::report {

// The findings, then a ranked table for each length. No line of a table is wider than `width` characters, 0 for any.
// `colour`: escape sequences for a terminal.
std::string to_text(const Compared& result, size_t width, bool colour);

// A header and a line for each scheme, length and protocol; empty fields where there is no number.
std::string to_csv(const Compared& result);

}  // namespace ordinal::report
