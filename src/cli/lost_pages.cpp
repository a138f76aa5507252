// lost_pages.cpp: see lost_pages.h. All that the handler calls is safe within a signal: no memory, no locks, no stdio.
#include "cli/lost_pages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "format/mapped_file.h"

namespace ordinal::cli {
namespace {

class Message {
 public:
  Message& add(std::string_view text) {
    for (const char c : text)
      if (size_ < text_.size()) text_[size_++] = c;
    return *this;
  }
  Message& add_grouped(uint64_t number) {
    std::array<char, 32> digits;
    size_t first = digits.size(), count = 0;
    do {
      if (count > 0 && count % 3 == 0) digits[--first] = ',';
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
      ++count;
    } while (number > 0);
    return add({digits.data() + first, digits.size() - first});
  }
  void write_to(int descriptor) const { (void)!write(descriptor, text_.data(), size_); }

 private:
  std::array<char, 2048> text_;
  size_t size_ = 0;
};

void on_bus_error(int, siginfo_t* info, void*) {
  static std::atomic_flag begun;
  MappedPlace place;
  if (!find_mapped(info->si_addr, place)) {  // not ours: back to the instruction, which ends the program this time
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  while (begun.test_and_set()) pause();  // another thread is at it
  struct stat now {};
  Message message;
  message.add("ordinal: error: ")
      .add(place.path)
      .add(" was cut short, or cannot be read any more, while it was in use");
  message.add("\n  expected: ").add_grouped(place.bytes).add(" bytes, as when it was opened\n  found:    ");
  if (stat(place.path, &now) == 0 && static_cast<uint64_t>(now.st_size) < place.bytes)
    message.add_grouped(static_cast<uint64_t>(now.st_size)).add(" bytes");
  else
    message.add("no byte ").add_grouped(place.offset);
  message.add("\n  try:      the same with a whole file; replace files by renaming (mv), never in place\n");
  message.write_to(STDERR_FILENO);
  _exit(1);
}

}  // namespace

void name_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace ordinal::cli
