// gguf_file.cpp: see gguf_file.h. Lengths and counts come from the file, so each is compared with what is left of it
// before it is used, and never added or multiplied first.
#include "convert/gguf/gguf_file.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/utf8.h"
#include "base/words.h"
#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGgufMagic = "GGUF", kCopyGgufAgain = "copy or download it again";
constexpr uint64_t kMostKeys = 65536, kMostTensors = uint64_t{1} << 20, kMostKeyBytes = 65535, kMostNameBytes = 63;
constexpr int64_t kMostDims = 4, kMostAlignment = int64_t{1} << 20, kMostShards = 99999;
// The least that a key and a tensor take: an empty name, a type and a byte; an empty name, one dimension, kind, offset.
constexpr uint64_t kKeyBytes = 8 + 4 + 1, kTensorBytes = 8 + 4 + 8 + 4 + 8;

bool is_utf8(std::string_view text) { return utf8_end(text, 0) == text.size(); }

// The types of values, in the order of GgufType; strings and arrays have no width.
struct TypeRow {
  std::string_view name;
  uint64_t bytes;
};
constexpr TypeRow kTypes[] = {{"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
                              {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

template <class T>
T number_at(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// A value of a type that has a width.
GgufValue value_at(GgufType type, const std::byte* p) {
  using enum GgufType;
  constexpr auto limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (type == u64) {
    const auto value = number_at<uint64_t>(p);
    return value <= limit ? GgufValue(static_cast<int64_t>(value)) : GgufValue(static_cast<double>(value));
  }
  if (type == u8) return int64_t{number_at<uint8_t>(p)};
  if (type == i8) return int64_t{number_at<int8_t>(p)};
  if (type == u16) return int64_t{number_at<uint16_t>(p)};
  if (type == i16) return int64_t{number_at<int16_t>(p)};
  if (type == u32) return int64_t{number_at<uint32_t>(p)};
  if (type == i32) return int64_t{number_at<int32_t>(p)};
  if (type == i64) return number_at<int64_t>(p);
  if (type == f32) return static_cast<double>(number_at<float>(p));
  if (type == f64) return number_at<double>(p);
  return number_at<uint8_t>(p) != 0;
}

// Reads a file front to back.
class Cursor {
 public:
  explicit Cursor(const MappedFile& file) : file_(file) {}

  std::span<const std::byte> take(uint64_t bytes, const std::string& what) {
    if (bytes > left())
      throw Error(file_.path() + " is truncated or damaged: " + what + " does not fit what is left of it",
                  "at most " + bytes_text(left()), bytes_text(bytes), std::string(kCopyGgufAgain));
    const auto taken = file_.bytes().subspan(at_, static_cast<size_t>(bytes));
    at_ += taken.size();
    return taken;
  }
  uint32_t u32(const std::string& what) { return number_at<uint32_t>(take(4, what).data()); }
  uint64_t u64(const std::string& what) { return number_at<uint64_t>(take(8, what).data()); }
  std::string_view string(const std::string& what) { return as_text(take(u64(what), what)); }

  // How many things of at least so many bytes follow.
  uint64_t count(const std::string& what, uint64_t bytes_each, uint64_t most = std::numeric_limits<uint64_t>::max()) {
    const uint64_t count = u64(what);
    check_count(count, what, bytes_each, most);
    return count;
  }
  void check_count(uint64_t count, const std::string& what, uint64_t bytes_each, uint64_t most) const {
    const uint64_t fit = std::min(left() / bytes_each, most);
    if (count > fit)
      throw Error(file_.path() + " is truncated or damaged: " + what + " is larger than the file warrants",
                  "at most " + std::to_string(fit), std::to_string(count), std::string(kCopyGgufAgain));
  }

  size_t at() const { return at_; }
  uint64_t left() const { return file_.bytes().size() - at_; }
  const std::string& path() const { return file_.path(); }

 private:
  const MappedFile& file_;
  size_t at_ = 0;
};

GgufType read_type(Cursor& in, const std::string& what) {
  const uint32_t type = in.u32(what);
  if (type >= std::size(kTypes))
    throw Error(what + " is of a type that GGUF does not have", joined(kTypes, ", ", &TypeRow::name),
                "type " + std::to_string(type), std::string(kCopyGgufAgain));
  return static_cast<GgufType>(type);
}

GgufArray read_array(Cursor& in, const std::string& what) {
  GgufArray array;
  array.type = read_type(in, what);
  if (array.type == GgufType::array)
    throw Error(what + " holds arrays of arrays", "an array of numbers, flags or texts", "an array of arrays");
  const bool strings = array.type == GgufType::string;
  const uint64_t width = kTypes[static_cast<size_t>(array.type)].bytes;
  const uint64_t count = in.count("the length of " + what, strings ? 8 : width);
  array.count = static_cast<int64_t>(count);
  if (!strings) {
    array.bytes = in.take(count * width, what);  // fits: count was held against what is left
    return array;
  }
  const auto all = in.take(0, what);
  const size_t start = in.at();
  for (uint64_t i = 0; i < count; ++i) in.string(what);
  array.bytes = {all.data(), in.at() - start};
  return array;
}

GgufValue read_value(Cursor& in, const std::string& what) {
  const GgufType type = read_type(in, what);
  if (type == GgufType::string) return in.string(what);
  if (type == GgufType::array) return read_array(in, what);
  const auto bytes = in.take(kTypes[static_cast<size_t>(type)].bytes, what);
  if (type == GgufType::boolean && static_cast<uint8_t>(bytes[0]) > 1)
    throw Error(what + " is neither true nor false", "0 or 1", std::to_string(static_cast<int>(bytes[0])));
  return value_at(type, bytes.data());
}

void read_header(Cursor& in) {
  in.take(4, "the magic number");
  const uint32_t version = in.u32("the version");
  if (version == 2 || version == 3) return;
  const uint32_t swapped = __builtin_bswap32(version);
  const bool big_endian = swapped == 2 || swapped == 3;
  throw Error(in.path() + " is a GGUF file of a version that is not read", "version 2 or 3, little-endian",
              big_endian ? "version " + std::to_string(swapped) + " in big-endian byte order"
                         : "version " + std::to_string(version),
              version == 1 ? "convert it again with a llama.cpp of after August 2023" : "");
}

GgufTensor read_entry(Cursor& in, const std::shared_ptr<const MappedFile>& file) {
  GgufTensor tensor;
  tensor.file = file;
  const std::string_view name = in.string("the name of a tensor");
  if (name.empty() || name.size() > kMostNameBytes || !is_utf8(name))
    throw Error(in.path() + " has a tensor with an impossible name", "1 to 63 bytes of UTF-8", in_quotes(name));
  tensor.name = name;
  const std::string what = "tensor " + in_quotes(name) + " in " + in.path();
  const uint32_t dims = in.u32("the shape of " + what);
  if (dims < 1 || dims > kMostDims)
    throw Error(what + " has an impossible number of dimensions", "1 to 4", std::to_string(dims));
  int64_t items = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    const uint64_t size = in.u64("the shape of " + what);
    if (size == 0 || size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(items, static_cast<int64_t>(size), &items))
      throw Error(what + " has an impossible shape", "sizes of 1 or more whose product is below 2^63",
                  std::to_string(size) + " as size " + std::to_string(i + 1));
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
  tensor.kind = &gguf_kind(in.u32("the kind of " + what), what);
  if (tensor.shape.back() % tensor.kind->items != 0)
    throw Error(what + " has rows that are not whole blocks of its kind, " + std::string(tensor.kind->name),
                "a multiple of " + std::to_string(tensor.kind->items), std::to_string(tensor.shape.back()));
  const uint64_t offset = in.u64("the place of " + what);
  const int64_t blocks = items / tensor.kind->items;
  if (offset > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
      __builtin_mul_overflow(blocks, tensor.kind->bytes, &tensor.bytes))
    throw Error(what + " lies past the end of any file", "fewer than 2^63 bytes", std::to_string(offset));
  tensor.offset = static_cast<int64_t>(offset);
  return tensor;
}

// The tensors in the order of the directory must lie in the data one after another.
void place_tensors(std::vector<GgufTensor>& tensors, int64_t data_start, int64_t alignment) {
  int64_t end = 0;
  for (GgufTensor& tensor : tensors) {
    const std::string what = "tensor " + in_quotes(tensor.name) + " in " + tensor.file->path();
    const int64_t data_bytes = static_cast<int64_t>(tensor.file->bytes().size()) - data_start;
    if (tensor.offset % alignment != 0)
      throw Error(what + " is not aligned", "a multiple of " + std::to_string(alignment) + " as its place",
                  std::to_string(tensor.offset));
    if (tensor.offset < end)
      throw Error(what + " overlaps the tensor before it", "a place from byte " + grouped(end) + " of the data on",
                  grouped(tensor.offset));
    if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset)
      throw Error(tensor.file->path() + " ends before its tensors do: it is truncated, or its directory is wrong",
                  in_quotes(tensor.name) + " of " + grouped(tensor.bytes) + " bytes from byte " +
                      grouped(tensor.offset) + " of the data on",
                  grouped(std::max<int64_t>(data_bytes, 0)) + " bytes of data", std::string(kCopyGgufAgain));
    end = tensor.offset + tensor.bytes;  // both lie within the file
    tensor.offset += data_start;
  }
}

void read_shard(const std::string& path, bool first, GgufFile& all) {
  const auto file = all.files.emplace_back(MappedFile::open(path));
  Cursor in(*file);
  read_header(in);
  uint64_t n_tensors = in.u64("the count of tensors");
  const uint64_t n_keys = in.count("the count of keys", kKeyBytes, kMostKeys);
  in.check_count(n_tensors, "the count of tensors", kTensorBytes, kMostTensors);

  GgufKeys keys(path);
  for (uint64_t i = 0; i < n_keys; ++i) {
    const std::string_view name = in.string("a key");
    if (name.empty() || name.size() > kMostKeyBytes || !is_utf8(name))
      throw Error(path + " has a key with an impossible name", "1 to 65535 bytes of UTF-8", in_quotes(name));
    keys.add(std::string(name), read_value(in, "the key " + in_quotes(name) + " in " + path));
  }
  const int64_t alignment = keys.whole("general.alignment", 0, std::numeric_limits<int64_t>::max()).value_or(32);
  if (alignment < 8 || alignment > kMostAlignment || !std::has_single_bit(static_cast<uint64_t>(alignment)))
    throw Error("general.alignment in " + path + " is out of range", "a power of two from 8 to 1048576",
                std::to_string(alignment));

  std::vector<GgufTensor> tensors;
  for (uint64_t i = 0; i < n_tensors; ++i) tensors.push_back(read_entry(in, file));
  const auto at = static_cast<int64_t>(in.at());
  place_tensors(tensors, (at + alignment - 1) / alignment * alignment, alignment);
  for (GgufTensor& tensor : tensors) {
    std::string name = tensor.name;
    if (!all.tensors.emplace(name, std::move(tensor)).second)
      throw Error(path + " has a tensor twice", "each name once", in_quotes(name));
  }
  if (first) all.keys = std::move(keys);
}

// The names of all files of a split model, or just `path`.
std::vector<std::string> shards_of(const std::string& path) {
  constexpr size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-", kEnd = ".gguf";
  const auto digits = [&](size_t at) {
    int64_t number = 0;
    for (const char c : path.substr(at, kDigits))
      number = c >= '0' && c <= '9' && number >= 0 ? number * 10 + c - '0' : -1;
    return number;
  };
  const size_t tail = 2 * kDigits + kOf.size() + kEnd.size();
  if (path.size() <= tail + 1 || !path.ends_with(kEnd)) return {path};
  const size_t number = path.size() - tail, total = number + kDigits + kOf.size();
  if (path.compare(number + kDigits, kOf.size(), kOf) != 0 || path[number - 1] != '-') return {path};
  const int64_t count = digits(total);
  if (digits(number) < 1 || count < 1 || digits(number) > count || count > kMostShards) return {path};
  std::vector<std::string> paths;
  for (int64_t i = 1; i <= count; ++i) {
    std::string text = std::to_string(i);
    paths.push_back(path.substr(0, number) + std::string(kDigits - text.size(), '0') + text +
                    path.substr(number + kDigits));
    std::error_code ignored;
    if (!fs::exists(paths.back(), ignored))
      throw Error("a part of the model " + path + " is missing", grouped(count) + " files side by side", paths.back(),
                  "copy or download the part that is missing");
  }
  return paths;
}

}  // namespace

void GgufKeys::add(std::string name, GgufValue value) {
  if (values_.contains(name)) throw Error(file_ + " has a key twice", "each key once", in_quotes(name));
  values_.emplace(std::move(name), value);
}

const GgufValue* GgufKeys::find(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  used_.insert(std::string(key));
  return &found->second;
}

void GgufKeys::refuse(std::string_view key, const std::string& expected, const std::string& found) const {
  throw Error(std::string(key) + " in " + file_ + " is not what it should be", expected, found);
}

std::optional<int64_t> GgufKeys::whole(std::string_view key, int64_t lowest, int64_t highest) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<int64_t>(value);
  if (number == nullptr) refuse(key, "a whole number", "something else");
  if (*number < lowest || *number > highest)
    refuse(key, std::to_string(lowest) + " to " + std::to_string(highest), std::to_string(*number));
  return *number;
}

std::optional<double> GgufKeys::number(std::string_view key) {
  const auto list = numbers(key);
  if (!list) return std::nullopt;
  if (list->size() != 1) refuse(key, "a number", "a list of " + std::to_string(list->size()));
  return list->front();
}

std::optional<bool> GgufKeys::flag(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!std::holds_alternative<bool>(*value)) refuse(key, "true or false", "something else");
  return std::get<bool>(*value);
}

std::optional<std::string_view> GgufKeys::text(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!std::holds_alternative<std::string_view>(*value)) refuse(key, "a text", "something else");
  return std::get<std::string_view>(*value);
}

std::optional<std::vector<std::string_view>> GgufKeys::texts(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* array = std::get_if<GgufArray>(value);
  if (array == nullptr || array->type != GgufType::string) refuse(key, "a list of texts", "something else");
  std::vector<std::string_view> list;
  list.reserve(static_cast<size_t>(array->count));
  for (const std::byte* p = array->bytes.data(); list.size() < static_cast<size_t>(array->count);) {
    const auto length = static_cast<size_t>(number_at<uint64_t>(p));
    list.emplace_back(reinterpret_cast<const char*>(p + 8), length);
    p += 8 + length;
  }
  return list;
}

std::optional<std::vector<double>> GgufKeys::numbers(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto as_number = [&](const GgufValue& item) {
    if (const auto* whole = std::get_if<int64_t>(&item)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&item)) return *real;
    if (const auto* is_true = std::get_if<bool>(&item)) return *is_true ? 1.0 : 0.0;
    refuse(key, "numbers", "something else");
  };
  const auto* array = std::get_if<GgufArray>(value);
  if (array == nullptr) return std::vector{as_number(*value)};
  const uint64_t width = kTypes[static_cast<size_t>(array->type)].bytes;
  if (width == 0) refuse(key, "numbers", "texts");
  std::vector<double> list;
  list.reserve(static_cast<size_t>(array->count));
  for (int64_t i = 0; i < array->count; ++i)
    list.push_back(as_number(value_at(array->type, array->bytes.data() + static_cast<uint64_t>(i) * width)));
  return list;
}

std::vector<std::string> GgufKeys::unknown(std::string_view beginning) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_)
    if (name.starts_with(beginning) && !used_.contains(name)) names.push_back(name);
  return names;
}

bool begins_as_gguf(std::span<const std::byte> bytes) { return as_text(bytes).starts_with(kGgufMagic); }

GgufFile read_gguf_file(const std::string& path) {
  const std::vector<std::string> paths = shards_of(path);
  GgufFile all;
  for (const std::string& shard : paths) read_shard(shard, &shard == paths.data(), all);
  const int64_t count = all.keys.whole("split.count", 0, kMostShards).value_or(0);
  if (count > 1 && count != static_cast<int64_t>(paths.size()))
    throw Error(path + " is one of several files of a model, under a name that does not say so",
                "names like model-00001-of-" + std::string(5 - std::to_string(count).size(), '0') +
                    std::to_string(count) + ".gguf",
                fs::path(path).filename().string(), "rename the files as they were when they were made");
  const auto total = all.keys.whole("split.tensors.count", 0, std::numeric_limits<int64_t>::max());
  if (total && *total != static_cast<int64_t>(all.tensors.size()))
    throw Error(path + " and the files that belong to it do not hold the tensors that they should",
                std::to_string(*total) + " tensors", std::to_string(all.tensors.size()));
  return all;
}

}  // namespace ordinal::convert
