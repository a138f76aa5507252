// terminal.cpp: see terminal.h.
#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "cli/together.h"
#include "format/output_file.h"
#include "ordinal/error.h"
#include "ranks/ranks.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<int> g_signal{SIGINT};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  g_signal.store(number);
  g_interrupted.store(true);
}

std::string read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      throw_if_interrupted();
      continue;
    }
    if (count < 0) throw Error("cannot read " + name, "text", std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace

void prepare_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);  // takes the lowest number free
  std::signal(SIGPIPE, SIG_IGN);
}

bool speaks() { return ranks().is_first(); }

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void write_out(std::string_view text) {
  if (!speaks() || write_whole(STDOUT_FILENO, text)) return;
  if (errno == EPIPE) throw ClosedPipe();
  throw Error("cannot write the result", "standard output that takes it", std::strerror(errno),
              errno == ENOSPC ? "make room, or write elsewhere" : "");
}

void write_result(const std::string& path, std::string_view text) {
  if (path == "-") return write_out(text);
  if (!speaks()) return;
  OutputFile file = OutputFile::on_disk(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void check_result(const std::string& path) {
  if (path == "-") return;
  from_first([&] {
    OutputFile::on_disk(path);  // and gone again
    return std::string();
  });
}

// What mpirun passes on comes through a pseudo-terminal, behind which nobody need be.
bool output_is_terminal() {
  return isatty(STDOUT_FILENO) != 0 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr &&
         std::getenv("PMIX_RANK") == nullptr;
}
size_t output_width() {
  winsize size{};
  if (!output_is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool output_takes_colour() { return output_is_terminal() && std::getenv("NO_COLOR") == nullptr; }
bool input_is_terminal() {
  return is_so_for_first([] { return isatty(STDIN_FILENO) != 0; });
}

namespace {

std::string read_here(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Error("cannot open " + path, "a file of text", std::strerror(errno));
  try {
    std::string text = read_all(descriptor, path);
    close(descriptor);
    return text;
  } catch (...) {
    close(descriptor);
    throw;
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  return from_first([&] { return read_here(path); });
}

std::string read_text(const std::string& path, const Notes& notes) {
  std::string text = read_file(path);
  const std::string name = path == "-" ? "standard input" : path;
  if (text.starts_with(kByteOrderMark)) notes.say(name + " begins with a byte order mark, which counts as text");
  if (text.find("\r\n") != std::string::npos)
    notes.say(name + " has Windows line ends (\\r\\n), and each \\r counts as text");
  return text;
}

void Notes::say(const std::string& sentence) const { line("ordinal: note: " + sentence); }

void Notes::line(const std::string& text) const {
  if (!quiet_ && speaks()) std::fprintf(stderr, "%s\n", text.c_str());
}

Progress::Progress(std::string label, bool quiet)
    : label_(std::move(label)),
      active_(!quiet && speaks() && isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      next_(start_ + std::chrono::milliseconds(500)) {}

void Progress::update(int64_t done, int64_t total) {
  if (!active_ || total <= 0 || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  constexpr int kWidth = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<size_t>(part * kWidth);
  const double left = std::chrono::duration<double>(Clock::now() - start_).count() * (1 - part) / std::max(part, 1e-9);
  std::fprintf(stderr, "\r%s [%s%s] %3d%%, %.0f s left \x1b[K", label_.c_str(), std::string(filled, '#').c_str(),
               std::string(kWidth - filled, ' ').c_str(), static_cast<int>(part * 100.0), std::ceil(left));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fprintf(stderr, "\r\x1b[K");
  shown_ = false;
}

const std::atomic<bool>& watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: a read that waits is to end
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
  return g_interrupted;
}

void throw_if_interrupted() {
  if (g_interrupted.load()) throw Interrupted();
}

int signal_exit_status() { return 128 + g_signal.load(); }

}  // namespace ordinal::cli
