// output_file.h: a file that is written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ordinal {

// Until commit() the bytes are in a file without a name (O_TMPFILE), which the system drops whatever ends the program;
// where the file system has no such files, they are in a hidden file beside the target, which the destructor removes.
// Every call throws Error when the system refuses: no folder, not permitted, disk full.
class OutputFile {
 public:
  // Will become `path`: its folder must exist, and `path` must be free or a regular file, which is then replaced. A
  // symbolic link stays one, and what it points to is replaced. `nameless` false uses the hidden file everywhere.
  static OutputFile on_disk(const std::string& path, bool nameless = true);

  // Memory that behaves as a file.
  static OutputFile in_memory(const std::string& name);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Takes room on the disk at once, so that a full disk shows before hours of work.
  void reserve(int64_t bytes);

  void write(std::span<const std::byte> bytes);      // at the end
  void overwrite(std::span<const std::byte> bytes);  // at the start, over what is there
  int64_t written() const { return written_; }

  // Makes the bytes last, and visible as `path`.
  void commit();

  // Ends writing for good. The descriptor is the caller's now.
  int release();

 private:
  OutputFile(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}

  void flush();
  void write_all(std::span<const std::byte> bytes, int64_t at);
  [[noreturn]] void fail(const std::string& summary, int code) const;

  std::string path_;    // as the caller wrote it
  std::string target_;  // the same, symbolic links followed
  std::string hidden_;  // path of the temporary file while it has one
  int descriptor_ = -1;
  int64_t written_ = 0;  // by the caller
  int64_t flushed_ = 0;  // to the system
  int64_t reserved_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace ordinal
