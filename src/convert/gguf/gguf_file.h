// gguf_file.h: a GGUF file's keys and its directory of tensors, checked. The format is described at
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (header, keys, directory, padding, data).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "convert/gguf/gguf_kinds.h"
#include "format/mapped_file.h"

namespace ordinal::convert {

enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// An array as it lies in the file, its elements known to be whole. Strings are 8 bytes of length and then the text.
struct GgufArray {
  GgufType type = GgufType::u8;
  int64_t count = 0;
  std::span<const std::byte> bytes;
};

// Whole numbers of any width; those past 63 bits become floats.
using GgufValue = std::variant<int64_t, double, bool, std::string_view, GgufArray>;

// The keys of a file. What is asked for counts as known. All throw Error, with the key's name, for a value of another
// type or out of range; `nothing` stands for a key that is absent.
class GgufKeys {
 public:
  explicit GgufKeys(std::string file = "") : file_(std::move(file)) {}

  void add(std::string name, GgufValue value);
  bool has(std::string_view key) const { return values_.contains(key); }

  std::optional<int64_t> whole(std::string_view key, int64_t lowest, int64_t highest);
  std::optional<double> number(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::string_view> text(std::string_view key);
  std::optional<std::vector<std::string_view>> texts(std::string_view key);
  std::optional<std::vector<double>> numbers(std::string_view key);  // a single number is a list of one

  // Those that begin with `beginning` and that nobody asked for.
  std::vector<std::string> unknown(std::string_view beginning) const;

  const std::string& file() const { return file_; }

 private:
  const GgufValue* find(std::string_view key);
  [[noreturn]] void refuse(std::string_view key, const std::string& expected, const std::string& found) const;

  std::string file_;
  std::map<std::string, GgufValue, std::less<>> values_;
  std::set<std::string, std::less<>> used_;
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  // outputs first
  const GgufKind* kind = nullptr;
  std::shared_ptr<const MappedFile> file;
  int64_t offset = 0, bytes = 0;  // in the file
};

struct GgufFile {
  std::vector<std::shared_ptr<const MappedFile>> files;  // which texts and arrays of the keys lie in
  GgufKeys keys;
  std::map<std::string, GgufTensor, std::less<>> tensors;
};

// Whether the bytes begin as a GGUF file's do.
bool begins_as_gguf(std::span<const std::byte> bytes);

// Reads the file, or all files of a split model (NAME-00001-of-00003.gguf) when given any of them. Throws Error unless
// every length fits what is left of the file, names come once, and tensors lie in their order within the data.
GgufFile read_gguf_file(const std::string& path);

}  // namespace ordinal::convert
