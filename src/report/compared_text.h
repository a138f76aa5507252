// compared_text.h: a comparison of position schemes as text: tables for a terminal, JSON, and CSV.
#pragma once

#include <string>
#include <string_view>

#include "results/compared.h"

namespace ordinal::report {

std::string_view standing_name(Standing standing);  // "trained", "jointly", ...

// Headlines, then aligned tables. `colour`: escape sequences for a terminal.
std::string to_text(const Compared& result, bool colour);

// One object; its keys are only ever added to.
std::string to_json(const Compared& result);

// A header and a line for each scheme, length and protocol; empty fields where there is no number.
std::string to_csv(const Compared& result);

}  // namespace ordinal::report
