// terminal.h: standard output for results, standard error for everything else, and signals.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordinal::cli {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // what Windows puts before UTF-8

// Of several ranks the first alone reads standard input and writes, be it results, remarks or files.
bool speaks();

// Nobody reads standard output any more: the program ends quietly, with exit status 0.
struct ClosedPipe {};

// A signal asked the program to end.
struct Interrupted {};

// Gives descriptors 0 to 2 a file if they have none, so that no model file is taken for standard output, and lets
// writing to a closed pipe fail in place of ending the program.
void prepare_streams();

// Writes all of it, however the system cuts it up. Returns whether it could; errno says why not.
bool write_whole(int descriptor, std::string_view text);

// Writes to standard output at once. Throws ClosedPipe, or Error when the system refuses (disk full).
void write_out(std::string_view text);
// To a file, which is written whole or not at all, or with "-" to standard output.
void write_result(const std::string& path, std::string_view text);
// Throws Error where that would: before the work, not after it.
void check_result(const std::string& path);
bool output_is_terminal();
bool output_takes_colour();  // a terminal, and NO_COLOR is not set
size_t output_width();       // columns of the terminal; 0 where the output goes elsewhere
bool input_is_terminal();

// Everything in a file, or with "-" on standard input, as the first rank has it. Throws Error when it cannot be read,
// Interrupted on a signal.
std::string read_file(const std::string& path);

// Remarks on standard error; silent when `quiet`.
class Notes {
 public:
  explicit Notes(bool quiet) : quiet_(quiet) {}
  void say(const std::string& sentence) const;  // "ordinal: note: ..."
  void line(const std::string& text) const;     // as it is
  bool quiet() const { return quiet_; }

 private:
  bool quiet_;
};

// The same for text that a model reads, every byte of it: what another system put there is worth a word.
std::string read_text(const std::string& path, const Notes& notes);

// A bar on standard error, on a terminal only and for work of more than half a second; gone when the object goes.
class Progress {
 public:
  Progress(std::string label, bool quiet);
  ~Progress() { clear(); }
  void update(int64_t done, int64_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool shown_ = false, active_;
  Clock::time_point start_, next_;
};

// From now on SIGINT, SIGTERM and SIGHUP set a flag; a second one ends the program at once.
const std::atomic<bool>& watch_signals();
void throw_if_interrupted();
int signal_exit_status();  // 128 + the signal's number, as shells have it: 130 for Ctrl-C

}  // namespace ordinal::cli
