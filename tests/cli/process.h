// process.h: runs the program as a process and looks at it from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test {

// Whether this build carries a sanitizer: slower, and with memory of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct Command {
  std::vector<std::string> arguments;
  std::string input;                               // standard input, then its end
  std::string input_file;                          // or this file, "/dev/null" for one
  std::string output_file;                         // standard output goes to this file when not empty
  std::map<std::string, std::string> environment;  // added to a bare one
  std::string folder;                              // working directory, the caller's when empty
  double limit_s = 20.0;                           // five times as long under a sanitizer, then the process is killed
  int64_t address_space = 0;                       // most bytes of it (RLIMIT_AS); not under a sanitizer
  std::vector<int> cpus;                           // processors it may use, all when empty
  // Called with all output and all notes so far, whenever some come: what to do to the process.
  enum class Action { none, interrupt, close_output };
  std::function<Action(const std::string& out, const std::string& err)> watch;
};

struct Outcome {
  int status = -1;  // exit status; -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
  double seconds = 0;
  double max_rss_mb = 0;
  std::vector<std::string> chunks;  // what each read of standard output gave
};

// The program under test: ORDINAL_BIN, or `ordinal` one folder above this test program. Fails the test when absent.
std::string program();

Outcome run(const Command& command);
Outcome run(std::vector<std::string> arguments, std::string input = "");

// Exit status 0, no signal; prints what was said otherwise.
void check_done(const Outcome& outcome);

// A failure as the command line promises it: exit 1, "ordinal: error: ", one of the words, within the limit.
void check_failed(const Outcome& outcome, const std::vector<std::string>& any_of, int status = 1);

}  // namespace test
