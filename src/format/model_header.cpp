// model_header.cpp: reads, checks and writes the JSON text of a model file's header.
#include "format/model_header.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "format/checksum.h"
#include "format/config_fields.h"
#include "format/json_reader.h"
#include "format/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr size_t kMaxSpec = 1024;
constexpr size_t kMaxTrainedSpecs = 256;
constexpr size_t kMaxProvenance = size_t{1} << 20;

std::string decimal(int64_t value) { return std::to_string(value); }

FilePart check_part(const FilePart& part, JsonReader& reader, const std::string& what) {
  if (part.bytes <= 0) reader.fail(what + " has an impossible size", "1 byte or more", decimal(part.bytes));
  if (part.offset < 0 || part.offset % kFileAlignment != 0)
    reader.fail(what + " has an impossible offset", "a multiple of 64", decimal(part.offset));
  return part;
}

uint64_t read_checksum(JsonReader& reader) {
  const std::string text = reader.string("checksum");
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || stop != text.data() + text.size() || checksum_text(value) != text)
    reader.fail("checksum", "16 lower-case hexadecimal digits", quoted(text));
  return value;
}

// `text`, when it is an object of strings with no key twice.
void read_provenance(JsonReader& reader) {
  std::set<std::string> keys;
  reader.any_object("provenance", [&](const std::string& key) {
    if (!keys.insert(key).second) reader.fail("provenance has a key twice", "each key once", quoted(key));
    reader.string("provenance");
  });
}

ModelNotes read_position(JsonReader& reader) {
  ModelNotes notes;
  reader.object("position", {{"native", [&] { notes.position = reader.string("native"); }},
                             {"trained", [&] {
                                reader.array("trained", [&] {
                                  if (notes.trained_positions.size() == kMaxTrainedSpecs)
                                    reader.fail("trained", "at most " + decimal(kMaxTrainedSpecs) + " specs", "more");
                                  notes.trained_positions.push_back(reader.string("trained"));
                                });
                              }}});
  return notes;
}

BlobPart read_blob_part(JsonReader& reader, const std::string& what) {
  BlobPart blob;
  reader.object(what, {{"count", [&] { blob.count = reader.integer("count"); }},
                       {"offset", [&] { blob.part.offset = reader.integer("offset"); }},
                       {"bytes", [&] { blob.part.bytes = reader.integer("bytes"); }},
                       {"checksum", [&] { blob.part.checksum = read_checksum(reader); }}});
  check_part(blob.part, reader, what);
  return blob;
}

void read_tokenizer(JsonReader& reader, ModelHeader& header) {
  TokenizerData& data = header.tokenizer;
  const auto id = [&](const char* key) {
    const int64_t value = reader.integer(key);
    if (value < INT32_MIN || value > INT32_MAX) reader.fail(key, "an id of 32 bits", decimal(value));
    return static_cast<TokenId>(value);
  };
  const auto blob = [&](size_t i) {
    return JsonMember{kBlobNames[i], [&, i] { header.blobs[i] = read_blob_part(reader, std::string(kBlobNames[i])); },
                      false};
  };
  static_assert(kBlobKinds == 3);
  reader.object(
      "tokenizer",
      {{"kind", [&] { data.kind = reader.string("kind"); }},
       {"split", [&] { data.split = reader.string("split"); }},
       {"add_prefix_space", [&] { data.add_prefix_space = reader.boolean("add_prefix_space"); }},
       {"adds_bos", [&] { data.adds_bos = reader.boolean("adds_bos"); }},
       {"bos_id", [&] { data.bos_id = id("bos_id"); }},
       {"unknown_id", [&] { data.unknown_id = id("unknown_id"); }},
       {"special_ids", [&] { reader.array("special_ids", [&] { data.special_ids.push_back(id("special_ids")); }); }},
       blob(0),
       blob(1),
       blob(2)});
}

Dtype read_dtype(JsonReader& reader) {
  const std::string name = reader.string("dtype");
  if (!is_plain_word(name, 16)) reader.fail("dtype", "the name of a kind of number", quoted(name));
  return dtype_from_name(name);
}

int64_t bytes_of(const TensorPart& tensor) try {
  return tensor_bytes(tensor.dtype, tensor.layout, tensor.shape);
} catch (const Error& error) {
  throw Error(tensor.name + ": " + error.summary(), error.expected(), error.found());
}

TensorPart read_tensor(JsonReader& reader) {
  TensorPart tensor;
  const auto layout = [&](const std::string& name) {
    const auto found = std::find(kLayouts.begin(), kLayouts.end(), name);
    if (found == kLayouts.end()) reader.fail("unknown layout", "rows, panels", quoted(name));
    return static_cast<Layout>(found - kLayouts.begin());
  };
  reader.object("tensor", {{"name", [&] { tensor.name = reader.string("name"); }},
                           {"dtype", [&] { tensor.dtype = read_dtype(reader); }},
                           {"shape",
                            [&] {
                              reader.array("shape", [&] {
                                if (tensor.shape.size() == 3) reader.fail("shape", "one to three sizes", "more");
                                tensor.shape.push_back(reader.integer("shape"));
                              });
                            }},
                           {"layout", [&] { tensor.layout = layout(reader.string("layout")); }},
                           {"offset", [&] { tensor.part.offset = reader.integer("offset"); }},
                           {"bytes", [&] { tensor.part.bytes = reader.integer("bytes"); }},
                           {"checksum", [&] { tensor.part.checksum = read_checksum(reader); }}});
  check_tensor_name(tensor.name);
  if (tensor.shape.size() == 1 && tensor.layout == Layout::panels)
    reader.fail(tensor.name + " has one dimension and is in panels", "rows", "panels");
  const int64_t bytes = bytes_of(tensor);
  if (bytes != tensor.part.bytes)
    reader.fail(tensor.name + " has a size that does not follow from its shape", decimal(bytes) + " bytes",
                decimal(tensor.part.bytes));
  check_part(tensor.part, reader, tensor.name);
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

std::string part_json(const FilePart& part) {
  return "\"offset\":" + decimal(part.offset) + ",\"bytes\":" + decimal(part.bytes) + ",\"checksum\":\"" +
         checksum_text(part.checksum) + "\"}";
}

template <class Items, class Text>
std::string json_array(const Items& items, const Text& text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ",") + text(item);
  return "[" + out + "]";
}

std::string tokenizer_json(const ModelHeader& header) {
  const TokenizerData& data = header.tokenizer;
  const auto boolean = [](bool value) { return std::string(value ? "true" : "false"); };
  std::string out = "{\"kind\":" + json_string(data.kind) + ",\"split\":" + json_string(data.split) +
                    ",\"add_prefix_space\":" + boolean(data.add_prefix_space) +
                    ",\"adds_bos\":" + boolean(data.adds_bos) + ",\"bos_id\":" + decimal(data.bos_id) +
                    ",\"unknown_id\":" + decimal(data.unknown_id) +
                    ",\"special_ids\":" + json_array(data.special_ids, [](TokenId id) { return decimal(id); });
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (const BlobPart& blob = header.blobs[i]; blob.part.bytes != 0)
      out += "," + json_string(kBlobNames[i]) + ":{\"count\":" + decimal(blob.count) + "," + part_json(blob.part);
  return out + "}";
}

std::string tensor_json(const TensorPart& tensor) {
  return "{\"name\":" + json_string(tensor.name) + ",\"dtype\":" + json_string(dtype_info(tensor.dtype).name) +
         ",\"shape\":" + json_array(tensor.shape, decimal) +
         ",\"layout\":" + json_string(kLayouts[static_cast<size_t>(tensor.layout)]) + "," + part_json(tensor.part);
}

}  // namespace

ModelHeader parse_model_header(std::string_view json, const std::string& path) try {
  ModelHeader header;
  ModelNotes& notes = header.notes;
  JsonReader reader(json, "the header");
  std::string provenance;
  reader.object("header",
                {{"config", [&] { header.config = read_config(reader); }},
                 {"position",
                  [&] {
                    ModelNotes read = read_position(reader);
                    notes.position = std::move(read.position);
                    notes.trained_positions = std::move(read.trained_positions);
                  }},
                 {"tokenizer", [&] { read_tokenizer(reader, header); }},
                 {"tensors", [&] { reader.array("tensors", [&] { header.tensors.push_back(read_tensor(reader)); }); }},
                 {"provenance", [&] {
                    const size_t begin = reader.position();
                    read_provenance(reader);
                    notes.provenance_json = reader.text_since(begin);
                  }}});
  reader.end();
  header.config.validate();
  check_notes(notes);
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
  return "{\"config\":" + config_json(header.config) +
         ",\"position\":{\"native\":" + json_string(header.notes.position) +
         ",\"trained\":" + json_array(header.notes.trained_positions, json_string) +
         "},\"tokenizer\":" + tokenizer_json(header) + ",\"tensors\":" + json_array(header.tensors, tensor_json) +
         ",\"provenance\":" + header.notes.provenance_json + "}";
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
    throw Error("the native position is not among the trained ones", "a list with " + quoted(notes.position),
                decimal(static_cast<int64_t>(specs.size())) + " others");
  specs.push_back(notes.position);
  for (const std::string_view spec : specs)
    if (!is_plain_word(spec, kMaxSpec))
      throw Error("a position spec cannot be kept in a file", "up to 1024 characters of ASCII, no blanks",
                  quoted(spec));

  if (notes.provenance_json.size() > kMaxProvenance)
    throw Error("the provenance is too long", "at most " + decimal(kMaxProvenance) + " bytes",
                decimal(static_cast<int64_t>(notes.provenance_json.size())));
  JsonReader reader(notes.provenance_json, "the provenance");
  read_provenance(reader);
  reader.end();
}

void check_tensor_name(std::string_view name) {
  if (!is_plain_word(name, kMaxTensorName))
    throw Error("a tensor has no proper name", "up to 128 characters of ASCII, no blanks", quoted(name));
}

}  // namespace ordinal
