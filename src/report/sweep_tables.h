// sweep_tables.h: what a sweep found, as tables for a terminal and as a page that needs nothing else. Both are made of
// the units alone, in the order of the plan, without times: the same however, and by how many, they were done.
#pragma once

#include <cstddef>
#include <string>

#include "results/sweep.h"

namespace ordinal::report {

std::string to_text(const Sweep& sweep, size_t width);
std::string to_html(const Sweep& sweep, const std::string& title);

}  // namespace ordinal::report
