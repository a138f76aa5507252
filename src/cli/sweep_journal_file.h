// sweep_journal_file.h: the journal of a sweep on disk: a line a unit, there for good as soon as the unit is done.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal.h"
#include "results/sweep.h"

namespace ordinal::cli {

// One rank has it: the first.
class JournalFile {
 public:
  JournalFile() = default;
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // Reads what is there into the sweep and goes on after it; a last line that was not finished is dropped, with a note.
  // With `retry` units that failed are to be done again. Throws Error for the journal of another plan, and for a file
  // that is none.
  void open(const std::string& path, bool retry, Sweep& sweep, const Notes& notes);
  // Nothing where there is no journal. Throws Error when the system refuses: no space.
  void write(const SweepUnit& unit, int64_t number);

 private:
  void write_line(const std::string& line);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ordinal::cli
