// mapped_file.cpp: see mapped_file.h.
#include "format/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "ordinal/error.h"

namespace ordinal {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail_to_open(const std::string& path, int code) {
  if (code == ENOENT || code == ENOTDIR)
    throw Error("there is no file " + path, "the path of an existing file", std::strerror(code));
  if (code == EACCES || code == EPERM)
    throw Error(path + " may not be read", "a file this user can read", std::strerror(code), "ls -l " + path);
  throw Error("cannot open " + path, "a file that can be read", std::strerror(code));
}

}  // namespace

// One file that is mapped, for find_mapped(). Entries are used again and never freed: a signal handler may be reading.
struct MappedEntry {
  std::atomic<const std::byte*> data{nullptr};  // nullptr: not in use
  std::atomic<size_t> bytes{0};
  std::atomic<bool> taken{true};
  std::array<char, 512> path{};
  MappedEntry* next = nullptr;
};

namespace {

std::atomic<MappedEntry*> g_entries{nullptr};

MappedEntry* take_entry() {
  for (MappedEntry* entry = g_entries; entry != nullptr; entry = entry->next)
    if (!entry->taken.exchange(true)) return entry;
  auto* const entry = new MappedEntry;
  entry->next = g_entries;
  while (!g_entries.compare_exchange_weak(entry->next, entry)) continue;
  return entry;
}

}  // namespace

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes), entry_(take_entry()) {
  path_.copy(entry_->path.data(), entry_->path.size() - 1);
  entry_->path[std::min(path_.size(), entry_->path.size() - 1)] = '\0';
  entry_->bytes = bytes_.size();
  entry_->data = bytes_.data();
}

bool find_mapped(const void* address, MappedPlace& place) noexcept {
  for (const MappedEntry* entry = g_entries; entry != nullptr; entry = entry->next) {
    const auto data = reinterpret_cast<uintptr_t>(entry->data.load()), at = reinterpret_cast<uintptr_t>(address);
    if (data == 0 || at < data || at - data >= entry->bytes) continue;
    place = {entry->path.data(), entry->bytes, at - data};
    return true;
  }
  return false;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must fail below, not wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) fail_to_open(path, errno);
  return adopt(descriptor, path);
}

std::shared_ptr<const MappedFile> MappedFile::adopt(int descriptor, const std::string& name) {
  const Descriptor owned{descriptor};
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) fail_to_open(name, errno);
  if (S_ISDIR(facts.st_mode)) throw Error(name + " is a directory", "a file", "a directory");
  if (!S_ISREG(facts.st_mode))
    throw Error(name + " is not a regular file", "a file on disk, which can be mapped", "a pipe, device or socket");

  const size_t size = static_cast<size_t>(facts.st_size);
  const std::byte* data = nullptr;
  if (size != 0) {
    void* const mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapping == MAP_FAILED)
      throw Error("cannot map " + name, std::to_string(size) + " bytes of address space", std::strerror(errno));
    data = static_cast<const std::byte*>(mapping);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(name, {data, size}));
}

MappedFile::~MappedFile() {
  entry_->data = nullptr;
  entry_->taken = false;
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace ordinal
