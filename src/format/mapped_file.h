// mapped_file.h: a file's bytes, mapped read-only, for as long as somebody holds them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace ordinal {

// Pages are read when they are touched, so opening costs the same for any size. If another program shortens the file
// while it is mapped, touching the lost pages ends the process (SIGBUS): no program can map a file and avoid that.
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
  MappedFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace ordinal
