// output_file.cpp: see output_file.h.
#include "format/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {
namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr mode_t kMode = 0666;  // the user's umask takes away from this

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A name beside `target` that nobody else uses: not another process, not another thread.
std::string hidden_name(const std::string& target) {
  static std::atomic<unsigned> count{0};
  const fs::path path(target);
  return (fs::path(folder_of(target)) / ("." + path.filename().string().substr(0, 200) + ".part-" +
                                         std::to_string(getpid()) + "-" + std::to_string(count.fetch_add(1))))
      .string();
}

std::string proc_name(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

void OutputFile::fail(const std::string& summary, int code) const {
  const std::string folder = folder_of(target_);
  if (code == ENOSPC || code == EDQUOT) {
    struct statvfs disk {};
    const bool known = statvfs(folder.c_str(), &disk) == 0;
    throw Error("the disk is full: cannot write " + path_,
                bytes_text(static_cast<uint64_t>(std::max(reserved_, written_))) + " of room in " + folder,
                known ? bytes_text(disk.f_bavail * disk.f_frsize) : std::strerror(code),
                "make room, or write elsewhere; nothing was left behind");
  }
  throw Error(summary, "a file that can be written", std::strerror(code));
}

OutputFile OutputFile::on_disk(const std::string& path, bool nameless) {
  std::error_code unknown;
  OutputFile out(path, fs::is_symlink(path, unknown) ? fs::weakly_canonical(path, unknown).string() : path);
  if (out.target_.empty()) out.target_ = path;
  const std::string folder = folder_of(out.target_);

  struct stat facts {};
  if (path.empty()) throw Error("there is no path to write to", "the path of a file", "nothing");
  if (stat(out.target_.c_str(), &facts) == 0) {
    if (S_ISDIR(facts.st_mode))
      throw Error("cannot write " + path + ": it is a directory", "the path of a file", "a directory",
                  (fs::path(path) / "model.ordinal").string());
    if (!S_ISREG(facts.st_mode))
      throw Error("cannot write " + path + ": it is not a regular file", "a file, or a path that is free",
                  "a pipe, device or socket");
  } else if (path.back() == '/' || stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
    throw Error("cannot write " + path + ": there is no folder " + folder, "a folder that exists", std::strerror(errno),
                "mkdir -p " + folder);
  }

  // Naming the file later goes through /proc; without it, name it now.
  if (nameless && access("/proc/self/fd", X_OK) == 0)
    out.descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (out.descriptor_ < 0) {
    const std::string hidden = hidden_name(out.target_);
    out.descriptor_ = open(hidden.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kMode);
    if (out.descriptor_ < 0) out.fail("cannot write into " + folder, errno);
    out.hidden_ = hidden;
  }
  return out;
}

OutputFile OutputFile::in_memory(const std::string& name) {
  OutputFile out(name, name);
  out.descriptor_ = memfd_create("ordinal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (out.descriptor_ < 0) out.fail("cannot make a file in memory for " + name, errno);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      hidden_(std::exchange(other.hidden_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      flushed_(other.flushed_),
      reserved_(other.reserved_),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!hidden_.empty()) unlink(hidden_.c_str());
}

void OutputFile::reserve(int64_t bytes) {
  reserved_ = bytes;
  if (fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail("cannot write " + path_, errno);
  // Otherwise the file system cannot reserve; then writing will show.
}

void OutputFile::write_all(std::span<const std::byte> bytes, int64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("cannot write " + path_, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(count));
    at += count;
  }
}

void OutputFile::flush() {
  write_all(buffer_, flushed_);
  flushed_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

void OutputFile::write(std::span<const std::byte> bytes) {
  written_ += static_cast<int64_t>(bytes.size());
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() <= kBufferBytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return;
  }
  write_all(bytes, flushed_);
  flushed_ += static_cast<int64_t>(bytes.size());
}

void OutputFile::overwrite(std::span<const std::byte> bytes) {
  flush();
  write_all(bytes, 0);
}

void OutputFile::commit() {
  flush();
  // Errors of delayed writing show here; without this a crash soon after could leave an empty file under the name.
  if (fsync(descriptor_) != 0) fail("cannot write " + path_, errno);
  if (hidden_.empty()) {
    const std::string hidden = hidden_name(target_);
    if (linkat(AT_FDCWD, proc_name(descriptor_).c_str(), AT_FDCWD, hidden.c_str(), AT_SYMLINK_FOLLOW) != 0)
      fail("cannot name the finished file " + path_, errno);
    hidden_ = hidden;
  }
  if (std::rename(hidden_.c_str(), target_.c_str()) != 0) fail("cannot name the finished file " + path_, errno);
  hidden_.clear();
  close(std::exchange(descriptor_, -1));
  // The name is an entry of the folder, which is kept apart. Not every file system can sync a folder; none must.
  if (const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

int OutputFile::release() {
  flush();
  // Sealed memory is as good as a read-only file: nobody can change or shorten it under the mapping.
  fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return std::exchange(descriptor_, -1);
}

}  // namespace ordinal
