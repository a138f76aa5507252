// process.cpp: see process.h.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support.h"

namespace test {
namespace {
namespace fs = std::filesystem;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

// In the child: only calls that are safe after fork.
[[noreturn]] void become(const Command& command, const std::vector<char*>& argv, const std::vector<char*>& envp, int in,
                         int out, int err, int cannot_start) {
  if (!command.folder.empty() && chdir(command.folder.c_str()) != 0) _exit(126);
  if (!command.input_file.empty()) in = open(command.input_file.c_str(), O_RDONLY);
  if (!command.output_file.empty()) out = open(command.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  if (command.address_space > 0 && !kSanitized) {
    const rlimit limit{static_cast<rlim_t>(command.address_space), static_cast<rlim_t>(command.address_space)};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (!command.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : command.cpus) CPU_SET(static_cast<size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  execve(argv[0], argv.data(), envp.data());
  const int code = errno;
  (void)!write(cannot_start, &code, sizeof code);
  _exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string program() {
  if (const char* named = std::getenv("ORDINAL_BIN")) return named;
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "ordinal";
  REQUIRE_MESSAGE(fs::exists(path), "the program is not built: ", path.string());
  return path.string();
}

Outcome run(const Command& command) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> arguments = {program()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment;
  for (const char* name : {"PATH", "HOME", "ORDINAL_ISA", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);

  Pipe in, out, err, started;
  const auto start = Clock::now();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) become(command, argv, envp, in.read, out.write, err.write, started.write);
  Pipe::close_end(in.read);
  Pipe::close_end(out.write);
  Pipe::close_end(err.write);
  Pipe::close_end(started.write);
  if (int code = 0; read(started.read, &code, sizeof code) > 0) {
    waitpid(child, nullptr, 0);
    FAIL("cannot start ", arguments[0], ": ", std::strerror(code));
  }

  Outcome outcome;
  const double limit_s = command.limit_s * (kSanitized ? 5.0 : 1.0);
  fcntl(in.write, F_SETFL, O_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);
  size_t sent = 0;
  std::array<char, 1 << 16> buffer;
  bool interrupted = false;
  while (out.read >= 0 || err.read >= 0) {
    if (in.write >= 0 && sent == command.input.size()) Pipe::close_end(in.write);
    std::array<pollfd, 3> polled = {{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}}};
    poll(polled.data(), polled.size(), 50);
    if (std::chrono::duration<double>(Clock::now() - start).count() > limit_s) {
      outcome.timed_out = true;
      kill(child, SIGKILL);
      break;
    }
    if (in.write >= 0 && polled[2].revents != 0) {
      const ssize_t count = write(in.write, command.input.data() + sent, command.input.size() - sent);
      if (count > 0) sent += static_cast<size_t>(count);
      if (count < 0 && errno != EAGAIN && errno != EINTR) Pipe::close_end(in.write);
    }
    const size_t known = outcome.out.size() + outcome.err.size();
    if (err.read >= 0 && polled[1].revents != 0) {
      const ssize_t count = read(err.read, buffer.data(), buffer.size());
      if (count > 0) outcome.err.append(buffer.data(), static_cast<size_t>(count));
      if (count <= 0) Pipe::close_end(err.read);
    }
    if (out.read >= 0 && polled[0].revents != 0) {
      const ssize_t count = read(out.read, buffer.data(), buffer.size());
      if (count > 0) outcome.out += outcome.chunks.emplace_back(buffer.data(), static_cast<size_t>(count));
      if (count <= 0) Pipe::close_end(out.read);
    }
    if (!command.watch || outcome.out.size() + outcome.err.size() == known) continue;
    const Command::Action action = command.watch(outcome.out, outcome.err);
    if (action == Command::Action::interrupt && !interrupted) {  // once: a second one ends the program at once
      interrupted = true;
      kill(child, SIGINT);
    }
    if (action == Command::Action::close_output) Pipe::close_end(out.read);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.max_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024.0;
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

Outcome run(std::vector<std::string> arguments, std::string input) {
  Command command;
  command.arguments = std::move(arguments);
  command.input = std::move(input);
  return run(command);
}

void check_done(const Outcome& outcome) {
  CAPTURE(outcome.err);
  CHECK(!outcome.timed_out);
  CHECK(outcome.signal == 0);
  CHECK(outcome.status == 0);
}

void check_failed(const Outcome& outcome, const std::vector<std::string>& any_of, int status) {
  CAPTURE(outcome.err);
  CAPTURE(outcome.out);
  CHECK(!outcome.timed_out);
  CHECK(outcome.signal == 0);
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("ordinal: error: ") != std::string::npos);
  if (!any_of.empty()) CHECK(mentions(outcome.err, any_of));
  CHECK(outcome.seconds < (kSanitized ? 25.0 : 5.0));
  if (!kSanitized) CHECK(outcome.max_rss_mb < 256.0);
}

}  // namespace test
