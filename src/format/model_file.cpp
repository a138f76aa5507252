// model_file.cpp: opens a model file: every number is checked before it is used, and no tensor's page is touched.
#include "ordinal/model_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/words.h"
#include "format/checksum.h"
#include "format/mapped_file.h"
#include "format/model_header.h"
#include "format/model_opener.h"
#include "format/tokenizer_data.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Bytes = std::span<const std::byte>;

constexpr const char* kCopyAgain = "copy or download it again, or convert the checkpoint again";

Error truncated(const std::string& path, const std::string& expected, size_t size, const std::string& where) {
  return Error(path + " is truncated: it ends before " + where, expected, bytes_text(size), kCopyAgain);
}

// What else it could be is the importers' knowledge (src/convert).
Error foreign(const std::string& path, Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), std::min<size_t>(file.size(), 16));
  return Error(path + " is not an Ordinal model file", "a file that begins with ORDINAL, made by `ordinal convert`",
               "a file that begins with " + in_quotes(text), "ordinal convert " + path + " model.ordinal");
}

// The first 64 bytes, checked as far as they can be without the rest.
FixedHeader read_fixed_header(const std::string& path, Bytes file) {
  if (file.empty()) throw Error(path + " is empty", "a model file of 64 bytes or more", "0 bytes", kCopyAgain);
  const size_t known = std::min(file.size(), kModelMagic.size());
  if (std::memcmp(file.data(), kModelMagic.data(), known) != 0) throw foreign(path, file);
  if (file.size() < sizeof(FixedHeader))
    throw truncated(path, "a header of at least 64 bytes", file.size(), "its header does");

  FixedHeader fixed;
  std::memcpy(&fixed, file.data(), sizeof fixed);
  if (fixed.version != kModelVersion)
    throw Error(path + " is written in another version of the format", "version " + std::to_string(kModelVersion),
                "version " + std::to_string(fixed.version),
                "convert the checkpoint with this program's `ordinal convert`");
  if (fixed.flags != 0 || fixed.reserved != decltype(fixed.reserved){})
    throw Error(path + " uses parts of the header that this program does not know", "flags and reserved bytes of 0",
                "others", "a newer program, or `ordinal convert` again");
  if (fixed.header_bytes == 0 || fixed.header_bytes > static_cast<uint64_t>(kMaxHeaderBytes))
    throw Error(path + " has a header of an impossible size",
                "1 to " + bytes_text(static_cast<uint64_t>(kMaxHeaderBytes)), bytes_text(fixed.header_bytes),
                kCopyAgain);
  if (fixed.file_bytes > static_cast<uint64_t>(INT64_MAX))
    throw Error(path + " states an impossible size", "under 2^63 bytes", bytes_text(fixed.file_bytes), kCopyAgain);
  return fixed;
}

// The stated size is the true one. A file that is too short names the first part it lacks.
void check_size(const std::string& path, const FixedHeader& fixed, const ModelHeader& header, size_t size,
                uint64_t data_start) {
  if (const uint64_t needed = data_start + static_cast<uint64_t>(header.data_bytes); fixed.file_bytes != needed)
    throw Error(path + " is damaged: its header states two sizes for the file",
                bytes_text(needed) + ", from the directory of tensors", bytes_text(fixed.file_bytes), kCopyAgain);
  if (size > fixed.file_bytes)
    throw Error(path + " goes on after its last tensor", bytes_text(fixed.file_bytes) + ", from its header",
                bytes_text(size), kCopyAgain);
  if (size == fixed.file_bytes) return;

  std::string first = "the padding at its end";
  const auto is_cut = [&](const FilePart& part) {
    return size < data_start || size - data_start < static_cast<uint64_t>(part.offset + part.bytes);
  };
  for (size_t i = header.tensors.size(); i-- > 0;)
    if (is_cut(header.tensors[i].part)) first = header.tensors[i].name + " is the first tensor cut off";
  for (size_t i = kBlobKinds; i-- > 0;)
    if (header.blobs[i].part.bytes != 0 && is_cut(header.blobs[i].part))
      first = "the tokenizer's " + std::string(kBlobNames[i]) + " are the first part cut off";
  throw Error(path + " is truncated: it ends before its tensors do",
              bytes_text(fixed.file_bytes) + ", from the directory in its header", bytes_text(size) + "; " + first,
              kCopyAgain);
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// The lanes of the last panel that stand for no output hold 0, so that they can be computed without harm.
bool unused_lanes_are_zero(const TensorPart& tensor, Bytes data) {
  const DtypeInfo& info = dtype_info(tensor.dtype);
  const int64_t used = tensor.layout == Layout::panels ? tensor.shape[0] % kPanelLanes : 0;
  if (used == 0 || info.block_items != 1) return true;
  const size_t row = static_cast<size_t>(kPanelLanes * info.block_bytes);
  const size_t first = static_cast<size_t>(used * info.block_bytes);
  Bytes panel = data.last(row * static_cast<size_t>(tensor.shape[1]));
  for (; !panel.empty(); panel = panel.subspan(row))
    if (!all_zero(panel.subspan(first, row - first))) return false;
  return true;
}

}  // namespace

struct ModelFile::Contents {
  explicit Contents(std::shared_ptr<const MappedFile> mapping);

  Bytes bytes_of(const FilePart& part) const {
    return file->bytes().subspan(data_start + static_cast<size_t>(part.offset), static_cast<size_t>(part.bytes));
  }
  const TensorPart* part(std::string_view name) const;

  std::shared_ptr<const MappedFile> file;
  ModelHeader header;
  size_t data_start = 0;
  std::vector<TensorView> views;  // in the order of header.tensors
  std::vector<size_t> by_name;    // indices of both
};

ModelFile::Contents::Contents(std::shared_ptr<const MappedFile> mapping) : file(std::move(mapping)) {
  const std::string& path = file->path();
  const Bytes bytes = file->bytes();
  const FixedHeader fixed = read_fixed_header(path, bytes);

  const size_t header_bytes = static_cast<size_t>(fixed.header_bytes);
  data_start = static_cast<size_t>(align_file(static_cast<int64_t>(sizeof fixed + header_bytes)));
  if (bytes.size() < sizeof fixed + header_bytes)
    throw truncated(path, "a header of " + bytes_text(sizeof fixed + header_bytes), bytes.size(), "its header does");
  const Bytes json = bytes.subspan(sizeof fixed, header_bytes);
  if (const uint64_t checksum = checksum_of(json); checksum != fixed.header_checksum)
    throw Error(path + " has a damaged header", "checksum " + checksum_text(fixed.header_checksum),
                checksum_text(checksum), kCopyAgain);

  header = parse_model_header({reinterpret_cast<const char*>(json.data()), json.size()}, path);
  check_size(path, fixed, header, bytes.size(), data_start);
  if (!all_zero(bytes.subspan(sizeof fixed + header_bytes, data_start - sizeof fixed - header_bytes)))
    throw Error(path + " has a damaged header", "zeros between the header and the first part", "others", kCopyAgain);

  for (const TensorPart& tensor : header.tensors) {
    by_name.push_back(views.size());
    views.push_back(
        {tensor.name, tensor.dtype, tensor.layout, tensor.shape, bytes_of(tensor.part).data(), tensor.part.bytes});
  }
  std::sort(by_name.begin(), by_name.end(), [&](size_t a, size_t b) { return views[a].name < views[b].name; });
}

const TensorPart* ModelFile::Contents::part(std::string_view name) const {
  const auto found = std::lower_bound(by_name.begin(), by_name.end(), name,
                                      [&](size_t i, std::string_view wanted) { return views[i].name < wanted; });
  return found != by_name.end() && views[*found].name == name ? &header.tensors[*found] : nullptr;
}

ModelFile open_model_descriptor(int descriptor, const std::string& name) {
  ModelFile file;
  file.contents_ = std::make_shared<const ModelFile::Contents>(MappedFile::adopt(descriptor, name));
  return file;
}

ModelFile ModelFile::open(const std::string& path) {
  ModelFile file;
  file.contents_ = std::make_shared<const Contents>(MappedFile::open(path));
  return file;
}

const std::string& ModelFile::path() const { return contents_->file->path(); }
int64_t ModelFile::bytes() const { return static_cast<int64_t>(contents_->file->bytes().size()); }
const ModelConfig& ModelFile::config() const { return contents_->header.config; }
const ModelNotes& ModelFile::notes() const { return contents_->header.notes; }
std::span<const TensorView> ModelFile::tensors() const { return contents_->views; }
const std::string& ModelFile::tokenizer_kind() const { return contents_->header.tokenizer.kind; }

const TensorView* ModelFile::find(std::string_view name) const {
  const TensorPart* const part = contents_->part(name);
  return part == nullptr ? nullptr : &contents_->views[static_cast<size_t>(part - contents_->header.tensors.data())];
}

std::string ModelFile::recorded_checksum(std::string_view tensor_name) const {
  const TensorPart* const part = contents_->part(tensor_name);
  if (part == nullptr)
    throw Error(path() + " has no tensor " + in_quotes(tensor_name), "a tensor of the file", "another name");
  return checksum_text(part->part.checksum);
}

namespace {

void check_sum(const std::string& path, const std::string& what, Bytes bytes, uint64_t expected) {
  if (const uint64_t found = checksum_of(bytes); found != expected)
    throw Error(path + " is damaged: " + what + " changed after it was written", "checksum " + checksum_text(expected),
                checksum_text(found), kCopyAgain);
}

}  // namespace

TokenizerData ModelFile::tokenizer() const {
  TokenizerData data = contents_->header.tokenizer;
  for (size_t i = 0; i < kBlobKinds; ++i) {
    const BlobPart& blob = contents_->header.blobs[i];
    if (blob.part.bytes == 0) continue;
    const Bytes bytes = contents_->bytes_of(blob.part);
    check_sum(path(), "the list of the tokenizer's " + std::string(kBlobNames[i]), bytes, blob.part.checksum);
    try {
      read_blob(bytes, i, blob.count, config().vocab_size, data);
    } catch (const Error& error) {
      throw Error(path() + " is damaged: " + error.summary(), error.expected(), error.found(), kCopyAgain);
    }
  }
  return data;
}

void ModelFile::verify() const {
  const Contents& contents = *contents_;
  size_t end = contents.data_start;
  const auto check = [&](const std::string& what, const FilePart& part) {
    const Bytes file = contents.file->bytes(), bytes = contents.bytes_of(part);
    check_sum(path(), what, bytes, part.checksum);
    end = contents.data_start + static_cast<size_t>(align_file(part.offset + part.bytes));
    const size_t stop = static_cast<size_t>(bytes.data() - file.data()) + bytes.size();
    if (!all_zero(file.subspan(stop, end - stop)))
      throw Error(path() + " is damaged: the padding after " + what + " changed", "zeros", "others", kCopyAgain);
  };
  tokenizer();
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (const BlobPart& blob = contents.header.blobs[i]; blob.part.bytes != 0)
      check("the list of the tokenizer's " + std::string(kBlobNames[i]), blob.part);
  for (const TensorPart& tensor : contents.header.tensors) {
    check(tensor.name, tensor.part);
    if (!unused_lanes_are_zero(tensor, contents.bytes_of(tensor.part)))
      throw Error(path() + " is damaged: unused lanes of " + tensor.name + " are in use", "zeros", "others",
                  kCopyAgain);
  }
}

}  // namespace ordinal
