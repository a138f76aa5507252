// fuzz.h: what the harnesses share: files made of the fuzzer's bytes, and running what may end in an Error.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "convert/convert.h"
#include "ordinal/error.h"

namespace fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A folder of this process in memory; its files are written over for every input.
inline const std::string& folder() {
  static const std::string path = [] {
    std::string name = "/dev/shm/ordinal-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }();
  return path;
}

inline std::string write(const std::string& name, std::string_view bytes) {
  std::string path = folder() + "/" + name;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

// A file of several parts: each but the last is led by its length in two bytes, which are cut to what is there.
// Seeds are put together by joined().
inline std::vector<std::string_view> parts(std::string_view bytes, size_t count) {
  std::vector<std::string_view> found;
  while (found.size() + 1 < count) {
    size_t length = 0;
    if (bytes.size() >= 2) {
      length = static_cast<uint8_t>(bytes[0]) | static_cast<size_t>(static_cast<uint8_t>(bytes[1])) << 8;
      bytes.remove_prefix(2);
    }
    found.push_back(bytes.substr(0, length));
    bytes.remove_prefix(found.back().size());
  }
  found.push_back(bytes);
  return found;
}

inline std::string joined(const std::vector<std::string>& all) {
  std::string bytes;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size()) {
      bytes += static_cast<char>(all[i].size() & 255);
      bytes += static_cast<char>(all[i].size() >> 8);
    }
    bytes += all[i];
  }
  return bytes;
}

// An Error is a good answer; any other exception is not, and ends the run.
template <class Action>
void allow_error(Action&& action) {
  try {
    action();
  } catch (const ordinal::Error&) {
  }
}

// Imports a checkpoint and reads every number of it, as converting would.
inline void import_everything(const std::string& path, const ordinal::ImportOptions& options = {}) {
  allow_error([&] {
    const ordinal::ModelDraft draft = ordinal::import_checkpoint(path, options);
    for (const ordinal::TensorSource& tensor : draft.tensors) {
      const int64_t rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
      std::vector<float> block(static_cast<size_t>(tensor.shape.back() * 32));
      for (int64_t first = 0; first < rows; first += 32)
        tensor.read_rows(first, std::min<int64_t>(rows - first, 32), block.data());
      // Blocks are never longer than the floats they stand for.
      for (int64_t first = 0; first < rows && tensor.read_blocks; first += 32)
        tensor.read_blocks(first, std::min<int64_t>(rows - first, 32), reinterpret_cast<std::byte*>(block.data()));
    }
  });
}

}  // namespace fuzz
