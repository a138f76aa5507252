// safetensors.cpp: see safetensors.h.
#include "convert/hugging_face/safetensors.h"

#include <algorithm>

#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own reader

struct SafetensorsKind {
  std::string_view name;
  int64_t bytes;
};
constexpr SafetensorsKind kKinds[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},     {"BF16", 2},    {"I64", 8},
                                      {"I32", 4}, {"I16", 2}, {"I8", 1},      {"U64", 8},     {"U32", 4},
                                      {"U16", 2}, {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
                                      {"C64", 8}, {"BOOL", 1}};

StoredTensor read_entry(const std::string& name, const Json& entry, const std::string& path) {
  const std::string what = "tensor " + in_quotes(name) + " in " + path;
  object(entry, what);
  for (const auto& [key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      throw Error(what + " has an unknown key", "dtype, shape, data_offsets", in_quotes(key));
  const auto member = [&](const char* key) -> const Json& {
    const Json* value = find(entry, key);
    if (value == nullptr) throw Error(what + " has no " + key, "dtype, shape and data_offsets", "no such key");
    return *value;
  };

  StoredTensor tensor;
  tensor.name = name;
  tensor.kind = text(member("dtype"), "the dtype of " + what);
  int64_t count = 1;
  for (const Json& size : array(member("shape"), "the shape of " + what)) {
    tensor.shape.push_back(whole_number(size, "the shape of " + what, 0, INT64_MAX));
    count = capped_product({count, tensor.shape.back()});
  }
  const Json& offsets = array(member("data_offsets"), "data_offsets of " + what);
  if (offsets.size() != 2)
    throw Error(what + " has wrong data_offsets", "[begin, end]", std::to_string(offsets.size()));
  tensor.offset = whole_number(offsets[0], "data_offsets of " + what, 0, INT64_MAX);
  tensor.bytes = whole_number(offsets[1], "data_offsets of " + what, tensor.offset, INT64_MAX) - tensor.offset;

  const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const SafetensorsKind& known) { return known.name == tensor.kind; });
  if (kind != std::end(kKinds) && tensor.bytes != capped_product({count, kind->bytes}))
    throw Error(what + " has a size that does not fit its shape",
                grouped(capped_product({count, kind->bytes})) + " bytes", grouped(tensor.bytes) + " bytes");
  return tensor;
}

// The tensors, sorted by place, must cover `data_bytes` bytes without a gap.
void check_cover(std::vector<StoredTensor>& tensors, int64_t data_bytes, const std::string& path) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  int64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.offset != end)
      throw Error(path + (tensor.offset < end ? " has tensors that overlap" : " has bytes that belong to no tensor"),
                  in_quotes(tensor.name) + " from byte " + grouped(end) + " of the data on",
                  "data_offsets that begin with " + grouped(tensor.offset));
    end += tensor.bytes;  // cannot overflow: offset + bytes was read as one number
  }
  if (end == data_bytes) return;
  throw Error(path + (end > data_bytes ? " is truncated: it ends before its tensors do" : " has trailing bytes"),
              grouped(end) + " bytes of data, from its header", grouped(data_bytes) + " bytes of data",
              "copy or download it again");
}

std::string_view header_of(const MappedFile& file) {
  const auto bytes = file.bytes();
  const int64_t size = static_cast<int64_t>(bytes.size());
  const std::string& path = file.path();
  // A wrong kind of file is recognised first: its first bytes would make a nonsensical length.
  const bool begins_well = size > kLengthBytes && bytes[kLengthBytes] == std::byte{'{'};
  if (const Likeness like = likeness(bytes); !begins_well && size >= 28 && !like.what.empty())
    throw Error(path + " is not a safetensors file", "the length of a header, then the header: '{...}'", like.what,
                like.suggestion);
  if (size < kLengthBytes)
    throw Error(path + " is too short to be a safetensors file", "at least 8 bytes, the length of its header",
                "a size of " + std::to_string(size) + " bytes", "copy or download it again");
  const uint64_t length = read_u64(bytes, 0);
  if (length > static_cast<uint64_t>(size - kLengthBytes))
    throw Error(path + " is truncated, or no safetensors file: its header is longer than what is left of it",
                "a header of at most " + grouped(size - kLengthBytes) + " bytes",
                "a length of " + std::to_string(length), "copy or download it again");
  if (length > static_cast<uint64_t>(kMaxHeaderBytes))
    throw Error(path + " has a header above the limit of the format",
                "at most " + grouped(kMaxHeaderBytes) + " bytes, as every reader of safetensors",
                grouped(static_cast<int64_t>(length)) + " bytes", "save it again with less metadata");
  if (!begins_well || length == 0)
    throw Error(path + " is not a safetensors file", "a header that begins with '{'", "something else");
  return as_text(bytes).substr(kLengthBytes, static_cast<size_t>(length));
}

}  // namespace

std::vector<StoredTensor> read_safetensors(const std::string& path) {
  const auto file = MappedFile::open(path);
  const std::string_view header = header_of(*file);
  const JsonDocument directory = parse_json(header, "the header of " + path, 0, {.bytes = kMaxHeaderBytes});
  const int64_t data_start = kLengthBytes + static_cast<int64_t>(header.size());

  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : object(directory, "the header of " + path).items())
    if (name != "__metadata__") tensors.push_back(read_entry(name, entry, path));
  check_cover(tensors, static_cast<int64_t>(file->bytes().size()) - data_start, path);
  for (StoredTensor& tensor : tensors) {
    tensor.file = file;
    tensor.offset += data_start;
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  return tensors;
}

}  // namespace ordinal::convert
