// sweep_journal.h: a unit of a sweep as a line of JSON that reads back to the last bit, and what a journal begins with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/sweep.h"

namespace ordinal::report {

// "windows of 256 (whole), story.txt, tales.ordinal: rope, alibi": what is to be done, whatever comes of it.
std::string unit_text(const SweepUnit& unit);

// The first line of a journal: which plan it is of.
std::string journal_head(const Sweep& sweep);
// A done unit and its number; without the newline.
std::string journal_line(const SweepUnit& unit, int64_t number);

// Throws Error unless `line` is the head of a journal of this sweep.
void check_journal_head(std::string_view line, const std::string& path, const Sweep& sweep);
// Puts the unit of a line into the sweep. Returns its number. Throws Error for a line that is none of this sweep.
int64_t read_journal_line(std::string_view line, const std::string& path, int64_t line_number, Sweep& sweep);

}  // namespace ordinal::report
