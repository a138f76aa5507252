// sweep_journal_file.cpp: see sweep_journal_file.h.
#include "cli/sweep_journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "ordinal/error.h"
#include "report/sweep_journal.h"

namespace ordinal::cli {

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void JournalFile::fail(const std::string& what) const {
  const int code = errno;
  throw Error(
      what + " " + path_, "a journal that can be written", std::strerror(code),
      code == ENOSPC || code == EDQUOT ? "make room, then the same command: it goes on after the units in it" : "");
}

void JournalFile::open(const std::string& path, bool retry, Sweep& sweep, const Notes& notes) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot open");
  struct stat facts {};
  if (fstat(descriptor_, &facts) != 0) fail("cannot read");
  if (!S_ISREG(facts.st_mode))
    throw Error("the journal " + path + " is not a regular file", "a file, or a path that is free", "a pipe or device");
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
    throw Error("another sweep is writing " + path, "a journal of its own for each sweep", std::strerror(errno));

  std::string text(static_cast<size_t>(facts.st_size), ' ');
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("cannot read");
    done += static_cast<size_t>(count);
  }
  const size_t whole = text.find_last_of('\n') == std::string::npos ? 0 : text.find_last_of('\n') + 1;
  int64_t number = 0;
  for (size_t at = 0; at < whole; ++number) {
    const size_t end = text.find('\n', at);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (number == 0)
      report::check_journal_head(line, path, sweep);
    else
      report::read_journal_line(line, path, number + 1, sweep);
    at = end + 1;
  }
  // A file that has no line at all may be anybody's: only the beginning of a head of ours is gone on with.
  const std::string head = report::journal_head(sweep) + "\n";
  if (whole == 0 && !head.starts_with(text)) report::check_journal_head(text, path, sweep);
  if (whole < text.size()) {
    notes.say("the last line of " + path + " was not finished, and is dropped");
    if (ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) fail("cannot write");
  }
  if (whole == 0) write_line(head);
  if (retry)
    for (SweepUnit& unit : sweep.units)
      if (!unit.error.empty()) unit.is_done = false, unit.error.clear();
}

void JournalFile::write(const SweepUnit& unit, int64_t number) {
  if (descriptor_ >= 0) write_line(report::journal_line(unit, number) + "\n");
}

void JournalFile::write_line(const std::string& line) {
  const bool written = write_whole(descriptor_, line) && (fdatasync(descriptor_) == 0 || errno == EINVAL);
  if (!written) fail("cannot write the journal");
}

}  // namespace ordinal::cli
