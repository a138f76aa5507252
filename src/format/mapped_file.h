// mapped_file.h: a file's bytes, mapped read-only, for as long as somebody holds them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace ordinal {

struct MappedEntry;

// Pages are read when they are touched, so opening costs the same for any size. If another program shortens the file
// while it is mapped, touching the lost pages raises SIGBUS, which ends the process: no program can map a file and
// avoid that. A program may handle the signal and ask find_mapped() which file it was, to end with a clear message.
class MappedFile {
 public:
  // Regular files only; an empty file has an empty span. Throws Error: no such file, a folder, not permitted, not a
  // regular file, or the system refuses.
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  // The same for an open descriptor, which is closed in any case, also by an Error. `name` stands for the path.
  static std::shared_ptr<const MappedFile> adopt(int descriptor, const std::string& name);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes);

  std::string path_;
  std::span<const std::byte> bytes_;
  MappedEntry* entry_;  // in the list that find_mapped() reads
};

struct MappedPlace {
  const char* path = "";  // as opened; cut after 511 bytes
  size_t bytes = 0;       // of the whole file
  size_t offset = 0;      // of the address
};

// Finds the mapped file whose bytes hold the address. Takes no lock and no memory, so that signal handlers may call it.
bool find_mapped(const void* address, MappedPlace& place) noexcept;

}  // namespace ordinal
