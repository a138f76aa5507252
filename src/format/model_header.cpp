// model_header.cpp: reads, checks and writes the JSON text of a model file's header.
#include "format/model_header.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/words.h"
#include "format/checksum.h"
#include "format/config_fields.h"
#include "format/tokenizer_facts.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr size_t kMaxSpec = 1024;
constexpr size_t kMaxTrainedSpecs = 256;
constexpr size_t kMaxProvenance = size_t{1} << 20;

std::string decimal(int64_t value) { return std::to_string(value); }

uint64_t read_checksum(const Json& json) {
  const std::string digits = text(json, "checksum");
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || stop != digits.data() + digits.size() || checksum_text(value) != digits)
    json.fail("checksum is not what it should be", "16 lower-case hexadecimal digits", in_quotes(digits));
  return value;
}

FilePart read_part(const Json& json, const std::string& what) {
  const FilePart part{whole_number(member(json, "offset"), "offset"), whole_number(member(json, "bytes"), "bytes"),
                      read_checksum(member(json, "checksum"))};
  if (part.bytes <= 0) json.fail(what + " has an impossible size", "1 byte or more", decimal(part.bytes));
  if (part.offset < 0 || part.offset % kFileAlignment != 0)
    json.fail(what + " has an impossible offset", "a multiple of 64", decimal(part.offset));
  return part;
}

std::string check_provenance(const Json& json) {
  for (const auto& [key, value] : object(json, "provenance").items()) text(value, "provenance");
  return std::string(json.raw());
}

void read_position(const Json& json, ModelNotes& notes) {
  check_members(json, "position", {"native", "trained"});
  notes.position = text(member(json, "native"), "native");
  for (const Json& spec : array(member(json, "trained"), "trained")) {
    if (notes.trained_positions.size() == kMaxTrainedSpecs)
      spec.fail("trained is a long list", "at most " + decimal(kMaxTrainedSpecs) + " specs", "more");
    notes.trained_positions.push_back(text(spec, "trained"));
  }
}

void read_tokenizer(const Json& json, ModelHeader& header) {
  std::vector<std::string_view> optional = late_tokenizer_facts();
  optional.insert(optional.end(), kBlobNames.begin(), kBlobNames.end());
  check_members(json, "tokenizer",
                {"kind", "split", "add_prefix_space", "adds_bos", "bos_id", "unknown_id", "special_ids"}, optional);
  read_tokenizer_facts(json, header.tokenizer);
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (const std::string name(kBlobNames[i]); json.contains(name)) {
      const Json& blob = member(json, name);
      check_members(blob, name, {"count", "offset", "bytes", "checksum"});
      header.blobs[i] = {whole_number(member(blob, "count"), "count"), read_part(blob, name)};
    }
}

Dtype read_dtype(const Json& json) {
  const std::string name = text(json, "dtype");
  if (!is_plain_word(name, 16)) json.fail("dtype is no word", "the name of a kind of number", in_quotes(name));
  return dtype_from_name(name);
}

int64_t bytes_of(const TensorPart& tensor) try {
  return tensor_bytes(tensor.dtype, tensor.layout, tensor.shape);
} catch (const Error& error) {
  throw Error(tensor.name + ": " + error.summary(), error.expected(), error.found());
}

TensorPart read_tensor(const Json& json) {
  check_members(json, "tensor", {"name", "dtype", "shape", "layout", "offset", "bytes", "checksum"});
  TensorPart tensor;
  tensor.name = text(member(json, "name"), "name");
  tensor.dtype = read_dtype(member(json, "dtype"));
  for (const Json& size : array(member(json, "shape"), "shape")) {
    if (tensor.shape.size() == 3) size.fail("shape is a long list", "one to three sizes", "more");
    tensor.shape.push_back(whole_number(size, "shape"));
  }
  tensor.layout = static_cast<Layout>(one_of(kLayouts, member(json, "layout"), "layout"));
  check_tensor_name(tensor.name);
  if (tensor.shape.size() == 1 && tensor.layout == Layout::panels)
    json.fail(tensor.name + " has one dimension and is in panels", "rows", "panels");
  const int64_t stated = whole_number(member(json, "bytes"), "bytes"), bytes = bytes_of(tensor);
  if (bytes != stated)
    json.fail(tensor.name + " has a size that does not follow from its shape", decimal(bytes) + " bytes",
              decimal(stated));
  tensor.part = read_part(json, tensor.name);
  return tensor;
}

// A list exists exactly when the kind of tokenizer has it, and its size fits its count.
void check_blobs(const ModelHeader& header) {
  const TokenizerKind& kind = tokenizer_kind(header.tokenizer.kind);
  for (size_t i = 0; i < kBlobKinds; ++i) {
    const BlobPart& blob = header.blobs[i];
    const std::string name = "the tokenizer's " + std::string(kBlobNames[i]);
    const bool is_there = blob.part.bytes != 0;
    if (is_there != kind.has[i])
      throw Error(name + (is_there ? " are not part of" : " are missing from") + " a tokenizer of kind " +
                      std::string(kind.name),
                  kind.has[i] ? "a list" : "no list", is_there ? "a list" : "no list");
    if (!is_there) continue;
    const bool follows_vocabulary = kBlobNames[i] != "merges";
    if (follows_vocabulary ? blob.count != header.config.vocab_size : blob.count < 0 || blob.count > INT32_MAX)
      throw Error(name + " have an impossible count",
                  follows_vocabulary ? decimal(header.config.vocab_size) + ", one for each id of the vocabulary"
                                     : "0 to " + decimal(INT32_MAX),
                  decimal(blob.count));
    const BlobSize size = blob_size(i, blob.count);
    if (size.exact ? blob.part.bytes != size.bytes : blob.part.bytes < size.bytes)
      throw Error(name + " have a size that does not follow from their count",
                  (size.exact ? "" : "at least ") + decimal(size.bytes) + " bytes", decimal(blob.part.bytes));
  }
}

void check_names_differ(const std::vector<TensorPart>& tensors) {
  std::vector<std::string_view> names;
  for (const TensorPart& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw Error("there are two tensors of one name", "each name once", std::string(*twice));
}

// The parts follow each other without a gap but for padding. So there is one way to read every byte of a file.
int64_t check_places(const ModelHeader& header) {
  struct Place {
    std::string_view name;
    int64_t offset, bytes;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (const FilePart& part = header.blobs[i].part; part.bytes != 0)
      places.push_back({kBlobNames[i], part.offset, part.bytes});
  for (const TensorPart& tensor : header.tensors)
    places.push_back({tensor.name, tensor.part.offset, tensor.part.bytes});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });

  int64_t end = 0;
  std::string_view previous = "the header";
  for (const Place& place : places) {
    if (place.offset != end)
      throw Error(std::string(place.name) + (place.offset < end ? " overlaps " : " does not follow directly after ") +
                      std::string(previous),
                  "offset " + decimal(end), "offset " + decimal(place.offset));
    int64_t stop = 0;
    if (__builtin_add_overflow(place.offset, place.bytes, &stop) || stop > INT64_MAX / 2)
      throw Error(std::string(place.name) + " ends past the largest size of a file", "offset and bytes of a real file",
                  decimal(place.offset) + " and " + decimal(place.bytes));
    end = align_file(stop);
    previous = place.name;
  }
  return end;
}

void write_part(JsonWriter& json, const FilePart& part) {
  json.add("offset", part.offset);
  json.add("bytes", part.bytes);
  json.add("checksum", checksum_text(part.checksum));
  json.end_object();
}

void write_tokenizer(JsonWriter& json, const ModelHeader& header) {
  json.begin_object();
  write_tokenizer_facts(json, header.tokenizer);
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (const BlobPart& blob = header.blobs[i]; blob.part.bytes != 0) {
      json.key(kBlobNames[i]);
      json.begin_object();
      json.add("count", blob.count);
      write_part(json, blob.part);
    }
  json.end_object();
}

void write_tensor(JsonWriter& json, const TensorPart& tensor) {
  json.begin_object();
  json.add("name", tensor.name);
  json.add("dtype", dtype_info(tensor.dtype).name);
  json.add("shape", tensor.shape);
  json.add("layout", kLayouts[static_cast<size_t>(tensor.layout)]);
  write_part(json, tensor.part);
}

}  // namespace

ModelHeader parse_model_header(std::string_view json, const std::string& path) try {
  ModelHeader header;
  const JsonDocument document = parse_json(json, "the header");
  check_members(document, "header", {"config", "position", "tokenizer", "tensors", "provenance"});
  header.config = read_config(member(document, "config"));
  read_position(member(document, "position"), header.notes);
  read_tokenizer(member(document, "tokenizer"), header);
  for (const Json& tensor : array(member(document, "tensors"), "tensors"))
    header.tensors.push_back(read_tensor(tensor));
  header.notes.provenance_json = check_provenance(member(document, "provenance"));
  header.config.validate();
  check_notes(header.notes);
  check_tokenizer_facts(header.tokenizer, header.config.vocab_size);
  check_blobs(header);
  check_names_differ(header.tensors);
  header.data_bytes = check_places(header);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorPart& a, const TensorPart& b) { return a.part.offset < b.part.offset; });
  return header;
} catch (const Error& error) {
  throw Error(path + " is damaged, or another version of Ordinal made it: " + error.summary(), error.expected(),
              error.found(), "convert the original checkpoint again: ordinal convert INPUT " + path);
}

std::string write_model_header(const ModelHeader& header) {
  JsonWriter json;
  json.begin_object();
  json.key("config");
  write_config(json, header.config);
  json.key("position");
  json.begin_object();
  json.add("native", header.notes.position);
  json.add("trained", header.notes.trained_positions);
  json.end_object();
  json.key("tokenizer");
  write_tokenizer(json, header);
  json.key("tensors");
  json.begin_array();
  for (const TensorPart& tensor : header.tensors) write_tensor(json, tensor);
  json.end_array();
  json.key("provenance");
  json.raw(header.notes.provenance_json);
  json.end_object();
  return json.take();
}

void place_parts(ModelHeader& header) {
  int64_t end = 0;
  const auto place = [&](FilePart& part) {
    if (part.bytes > INT64_MAX / 2 - end)
      throw Error("the model is too large for a file", "under 2^62 bytes in all", "more");
    part.offset = end;
    end = align_file(end + part.bytes);
  };
  for (BlobPart& blob : header.blobs)
    if (blob.part.bytes != 0) place(blob.part);
  for (TensorPart& tensor : header.tensors) place(tensor.part);
  header.data_bytes = end;
}

void check_notes(const ModelNotes& notes) {
  std::vector<std::string_view> specs(notes.trained_positions.begin(), notes.trained_positions.end());
  if (specs.size() > kMaxTrainedSpecs)
    throw Error("the weights were trained under too many positions", "at most " + decimal(kMaxTrainedSpecs),
                decimal(static_cast<int64_t>(specs.size())));
  if (!specs.empty() && std::find(specs.begin(), specs.end(), notes.position) == specs.end())
    throw Error("the native position is not among the trained ones", "a list with " + in_quotes(notes.position),
                decimal(static_cast<int64_t>(specs.size())) + " others");
  specs.push_back(notes.position);
  for (const std::string_view spec : specs)
    if (!is_plain_word(spec, kMaxSpec))
      throw Error("a position spec cannot be kept in a file", "up to 1024 characters of ASCII, no blanks",
                  in_quotes(spec));

  if (notes.provenance_json.size() > kMaxProvenance)
    throw Error("the provenance is too long", "at most " + decimal(kMaxProvenance) + " bytes",
                decimal(static_cast<int64_t>(notes.provenance_json.size())));
  check_provenance(parse_json(notes.provenance_json, "the provenance"));
}

void check_tensor_name(std::string_view name) {
  if (!is_plain_word(name, kMaxTensorName))
    throw Error("a tensor has no proper name", "up to 128 characters of ASCII, no blanks", in_quotes(name));
}

}  // namespace ordinal
