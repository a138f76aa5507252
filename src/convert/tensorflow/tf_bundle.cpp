// tf_bundle.cpp: see tf_bundle.h.
#include "convert/tensorflow/tf_bundle.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "base/words.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tensorflow/crc32c.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr std::string_view kTableMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
constexpr size_t kFooterBytes = 48, kBlockTailBytes = 5;
// Names share their beginnings, so that a small file can spell many long ones: both are bounded.
constexpr size_t kMostIndexBytes = size_t{4} << 20, kMostTensorNameBytes = 256;
constexpr uint64_t kMostTableShards = 1024;
constexpr size_t kMostTfDimensions = 8;

struct TfKind {
  uint64_t number;  // of DataType in tensorflow/core/framework/types.proto
  std::string_view kind;
  int64_t bytes;
};
constexpr TfKind kTfKinds[] = {{1, "F32", 4}, {2, "F64", 8},   {3, "I32", 4},
                               {9, "I64", 8}, {14, "BF16", 2}, {19, "F16", 2}};

// Bytes from the front. Whatever is cut short or too large is an Error.
class TableCursor {
 public:
  TableCursor(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  bool at_end() const { return bytes_.empty(); }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  uint64_t varint() {
    if (const auto number = read_varint([this] { return take(1)[0]; })) return *number;
    fail();
  }
  uint64_t fixed(size_t count) {
    uint64_t number = 0;
    const std::string_view bytes = take(count);
    for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
    return number;
  }
  [[noreturn]] void fail() const {
    throw Error(path_ + " is damaged", "whole entries", "one that is cut short, or no entry at all",
                "copy or download it again");
  }

 private:
  std::string_view bytes_;
  const std::string& path_;
};

struct TableField {
  uint64_t number;         // in its message
  uint64_t value = 0;      // of a number
  std::string_view bytes;  // of a text or a message within
};

// Calls `visit` for each field of a protobuf message.
void for_each_field(std::string_view message, const std::string& path,
                    const std::function<void(const TableField&)>& visit) {
  TableCursor cursor(message, path);
  while (!cursor.at_end()) {
    const uint64_t tag = cursor.varint();
    TableField field{.number = tag >> 3, .bytes = {}};
    if (const uint64_t wire = tag & 7; wire == 0)
      field.value = cursor.varint();
    else if (wire == 2)
      field.bytes = cursor.take(cursor.varint());
    else if (wire == 1 || wire == 5)
      field.value = cursor.fixed(wire == 1 ? 8 : 4);
    else
      cursor.fail();
    visit(field);
  }
}

class Table {
 public:
  explicit Table(const MappedFile& file) : path_(file.path()), bytes_(as_text(file.bytes())) {
    if (bytes_.size() < kFooterBytes || !bytes_.ends_with(kTableMagic))
      throw Error(path_ + " is not the index of a TensorFlow checkpoint, or is truncated",
                  "LevelDB's mark in its last 8 bytes", "a file of " + bytes_text(bytes_.size()) + " without it",
                  "copy or download it again");
    if (bytes_.size() > kMostIndexBytes)
      throw Error(path_ + " is larger than an index of variables is", "at most " + bytes_text(kMostIndexBytes),
                  bytes_text(bytes_.size()));
  }

  void for_each(const std::function<void(std::string_view key, std::string_view value)>& visit) {
    TableCursor footer(bytes_.substr(bytes_.size() - kFooterBytes), path_);
    footer.varint();  // where a block about blocks is, and its size; nothing in it is needed
    footer.varint();
    const std::string_view blocks = next_block(footer, bytes_.size() - kFooterBytes);
    uint64_t end = 0;  // blocks lie one after another, so that none is read twice
    std::string last;
    for_each_in_block(blocks, [&](std::string_view, std::string_view handle) {
      TableCursor cursor(handle, path_);
      const std::string_view block = next_block(cursor, bytes_.size() - kFooterBytes);
      const auto begin = static_cast<uint64_t>(block.data() - bytes_.data());
      if (begin < end) throw Error(path_ + " is damaged", "blocks one after another", "blocks that overlap");
      end = begin + block.size();
      for_each_in_block(block, [&](std::string_view key, std::string_view value) {
        if (end_of_names_ && key <= last)
          throw Error(path_ + " is damaged", "names in order, each once",
                      in_quotes(key) + " behind " + in_quotes(last));
        end_of_names_ = true;
        last = key;
        visit(key, value);
      });
    });
  }

 private:
  // The block that the cursor says where to find, in the first `limit` bytes.
  std::string_view next_block(TableCursor& cursor, uint64_t limit) const {
    const uint64_t offset = cursor.varint(), size = cursor.varint();
    if (offset > limit || limit - offset < kBlockTailBytes || size > limit - offset - kBlockTailBytes) cursor.fail();
    const std::string_view block = bytes_.substr(offset, size);
    TableCursor tail(bytes_.substr(offset + size, kBlockTailBytes), path_);
    if (const uint64_t compression = tail.fixed(1); compression != 0)
      throw Error(path_ + " has compressed blocks", "blocks as they are, as TensorFlow writes them",
                  "compression " + std::to_string(compression));
    if (masked_crc32c(bytes_.substr(offset, size + 1)) != tail.fixed(4))
      throw Error(path_ + " is damaged", "the checksum of the block at byte " + std::to_string(offset), "another",
                  "copy or download it again");
    return block;
  }

  void for_each_in_block(std::string_view block,
                         const std::function<void(std::string_view key, std::string_view value)>& visit) const {
    if (block.size() < 4) TableCursor({}, path_).fail();
    const uint64_t restarts = TableCursor(block.substr(block.size() - 4), path_).fixed(4);
    if (restarts > block.size() / 4 - 1) TableCursor({}, path_).fail();
    TableCursor cursor(block.substr(0, block.size() - 4 * (restarts + 1)), path_);
    std::string key;
    while (!cursor.at_end()) {
      const uint64_t shared = cursor.varint(), unshared = cursor.varint(), value_bytes = cursor.varint();
      if (shared > key.size() || unshared > kMostTensorNameBytes - std::min<uint64_t>(shared, kMostTensorNameBytes))
        cursor.fail();
      key.resize(shared);
      key += cursor.take(unshared);
      visit(key, cursor.take(value_bytes));
    }
  }

  const std::string& path_;
  std::string_view bytes_;
  bool end_of_names_ = false;
};

// What an entry says, before it is held against the file.
struct Entry {
  uint64_t kind = 0, shard = 0, offset = 0, bytes = 0, checksum = 0;
  std::vector<int64_t> shape;
  bool is_partitioned = false;
};

Entry read_entry(std::string_view message, const std::string& path) {
  Entry entry;
  for_each_field(message, path, [&](const TableField& field) {
    uint64_t* const numbers[] = {nullptr,       &entry.kind,  nullptr,        &entry.shard,
                                 &entry.offset, &entry.bytes, &entry.checksum};
    if (field.number < std::size(numbers) && numbers[field.number] != nullptr) *numbers[field.number] = field.value;
    if (field.number == 7) entry.is_partitioned = true;
    if (field.number != 2) return;
    for_each_field(field.bytes, path, [&](const TableField& dimension) {
      if (dimension.number != 2) return;
      uint64_t size = 0;
      for_each_field(dimension.bytes, path, [&](const TableField& part) {
        if (part.number == 1) size = part.value;
      });
      if (size > static_cast<uint64_t>(INT64_MAX) || entry.shape.size() == kMostTfDimensions)
        throw Error("a variable in " + path + " has a shape that weights cannot have",
                    "up to " + std::to_string(kMostTfDimensions) + " sizes of 0 or more", std::to_string(size));
      entry.shape.push_back(static_cast<int64_t>(size));
    });
  });
  return entry;
}

std::string shard_path(const std::string& prefix, uint64_t shard, uint64_t count) {
  const auto five = [](uint64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
  };
  return prefix + ".data-" + five(shard) + "-of-" + five(count);
}

// The entry without a name: how many files there are, and their byte order.
uint64_t read_shard_count(std::string_view message, const std::string& path) {
  uint64_t shards = 0, order = 0;
  for_each_field(message, path, [&](const TableField& field) {
    if (field.number == 1) shards = field.value;
    if (field.number == 2) order = field.value;
  });
  if (order != 0)
    throw Error(path + " was written on a machine of another byte order", "little-endian", "big-endian",
                "save it again on a little-endian machine");
  if (shards < 1 || shards > kMostTableShards)
    throw Error(path + " has a number of files that no checkpoint has", "1 to " + std::to_string(kMostTableShards),
                std::to_string(shards));
  return shards;
}

TfVariable variable_of(const std::string& name, const Entry& entry, const std::shared_ptr<const MappedFile>& data,
                       const std::string& index) {
  const std::string what = "variable " + in_quotes(name) + " in " + index;
  if (entry.is_partitioned)
    throw Error(what + " is partitioned", "whole variables", "slices", "save it again in one piece");
  TfVariable variable;
  variable.checksum = static_cast<uint32_t>(entry.checksum);
  StoredTensor& tensor = variable.tensor;
  tensor.name = name;
  tensor.shape = entry.shape;
  tensor.file = data;
  const uint64_t size = data->bytes().size();
  if (entry.offset > size || entry.bytes > size - entry.offset)
    throw Error(data->path() + " is truncated: it ends before " + in_quotes(name) + " does",
                std::to_string(entry.bytes) + " bytes from byte " + std::to_string(entry.offset) + " on",
                bytes_text(size), "copy or download it again");
  tensor.offset = static_cast<int64_t>(entry.offset);
  tensor.bytes = static_cast<int64_t>(entry.bytes);
  const auto* const kind = std::ranges::find(kTfKinds, entry.kind, &TfKind::number);
  tensor.kind = kind == std::end(kTfKinds) ? "DataType " + std::to_string(entry.kind) : std::string(kind->kind);
  if (kind == std::end(kTfKinds)) return variable;
  int64_t bytes = kind->bytes;
  for (const int64_t dimension : entry.shape) bytes = capped_product({bytes, dimension});
  if (bytes != tensor.bytes)
    throw Error(what + " has a size that does not fit its shape", grouped(bytes) + " bytes",
                grouped(tensor.bytes) + " bytes");
  return variable;
}

}  // namespace

std::vector<TfVariable> read_tf_bundle(const std::string& prefix) {
  const auto index = MappedFile::open(prefix + ".index");
  std::map<uint64_t, std::shared_ptr<const MappedFile>> files;
  uint64_t shards = 0;
  std::vector<TfVariable> variables;
  Table(*index).for_each([&](std::string_view name, std::string_view message) {
    if (name.empty()) {
      shards = read_shard_count(message, index->path());
      return;
    }
    const Entry entry = read_entry(message, index->path());
    if (entry.shard >= shards)
      throw Error(index->path() + " places " + in_quotes(name) + " in a file that there is not",
                  "0 to " + std::to_string(shards) + ", that number left out", std::to_string(entry.shard));
    std::shared_ptr<const MappedFile>& file = files[entry.shard];
    if (file == nullptr) file = MappedFile::open(shard_path(prefix, entry.shard, shards));
    variables.push_back(variable_of(std::string(name), entry, file, index->path()));
  });
  return variables;
}

void check_tf_variable(const TfVariable& variable) {
  const StoredTensor& tensor = variable.tensor;
  const std::string_view bytes =
      as_text(tensor.file->bytes()).substr(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.bytes));
  if (masked_crc32c(bytes) != variable.checksum)
    throw Error(
        tensor.file->path() + " is damaged: the numbers of " + in_quotes(tensor.name) + " are not those written",
        "the checksum that its index has for them", "another", "copy or download it again");
}

}  // namespace ordinal::convert
