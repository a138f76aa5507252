// sniff.cpp: see sniff.h.
#include "convert/sniff.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "convert/convert.h"
#include "format/model_header.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr std::string_view kDownloadAgain = "download it again: the server sent something else than the file";

constexpr std::string_view kSaveWithTorch = "save the weights in Python: torch.save(model.state_dict(), FILE)";
constexpr std::string_view kSaveAsSafetensors =
    "save the model again as safetensors: save_pretrained of transformers does, in PyTorch";

// How a kind of file begins.
struct Signature {
  std::string_view begins, what, suggestion;
};
constexpr Signature kSignatures[] = {
    {kModelMagic, "an Ordinal model file: it is converted already", "use it as it is"},
    {"PK\x03\x04", "a zip archive, as PyTorch checkpoints are", "give it as it is, or call it pytorch_model.bin"},
    {"\x80\x02", "a Python pickle, but not one of torch.save", kSaveWithTorch},
    {"\x80\x03", "a Python pickle, but not one of torch.save", kSaveWithTorch},
    {"\x80\x04", "a Python pickle, but not one of torch.save", kSaveWithTorch},
    {"\x80\x05", "a Python pickle, but not one of torch.save", kSaveWithTorch},
    {"version https://git-lfs", "a git-lfs pointer, which stands for the file until it is fetched", "git lfs pull"},
    {"GGUF", "a GGUF file", "give the file itself, not a folder"},
    {"ggjt", "a ggml model of the time before GGUF", "start from the original checkpoint"},
    {"tjgg", "a ggml model of the time before GGUF", "start from the original checkpoint"},
    {"lmgg", "a ggml model of the time before GGUF", "start from the original checkpoint"},
    {"\x1f\x8b", "a gzip archive", "unpack it first"},
    {"\xfd"
     "7zXZ",
     "an xz archive", "unpack it first"},
    {"\x28\xb5\x2f\xfd", "a zstandard archive", "unpack it first"},
    {"\x93NUMPY", "a NumPy array", ""},
    {"\x89HDF", "an HDF5 file (.h5), as Keras and TensorFlow write weights", kSaveAsSafetensors},
    {"\x7f"
     "ELF",
     "a program or library", ""},
};

bool begins_with_html(std::string_view text) {
  size_t start = 0;
  while (start < text.size() && std::isspace(static_cast<unsigned char>(text[start])) != 0) ++start;
  std::string head(text.substr(start, 64));
  std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view tag : {"<!doctype html", "<html", "<head", "<body", "<?xml"})
    if (head.starts_with(tag)) return true;
  return false;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

// Formats that begin with a number instead of text.
Likeness numbered_likeness(std::span<const std::byte> bytes) {
  struct Numbered {
    uint32_t magic;
    std::string_view what, suggestion;
  };
  constexpr Numbered kNumbered[] = {
      {20240328, "an llm.c tokenizer", "give the model here, and the tokenizer with --vocab"},
      {20240327, "an llm.c debug state", "give the model it was written with"},
      {20240520, "an llm.c data file", "give a model"},
      {20240801, "an llm.c Llama 3 model, which is not supported", "convert from the Hugging Face folder"},
  };
  const uint32_t magic = read_u32(bytes, 0), swapped = __builtin_bswap32(magic);
  for (const Numbered& kind : kNumbered)
    if (magic == kind.magic) return {std::string(kind.what), std::string(kind.suggestion)};
  if (swapped == 20240326)
    return {"an llm.c model in big-endian byte order", "write it again on a little-endian machine"};
  if (swapped == 0x616b3432)
    return {"a llama2.c model in big-endian byte order", "write it again on a little-endian machine"};
  if (bytes.size() > 8 && bytes[8] == std::byte{'{'} && read_u64(bytes, 0) < (uint64_t{1} << 32))
    return {"a safetensors file, which holds weights without their config.json",
            "give the folder that holds config.json and model.safetensors"};
  return {};
}

// Formats that have no mark at their start, known by what is usual there.
Likeness unmarked_likeness(std::string_view text) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<uint8_t>(text[at]) : 0; };
  if (text.size() > 262 && text.substr(257, 5) == "ustar")
    return {"a tar archive; PyTorch's first checkpoints were such archives", std::string(kSaveWithTorch)};
  // A protobuf message of ModelProto: version, then the name of the program that wrote it.
  if (byte(0) == 0x08 && byte(1) >= 3 && byte(1) <= 20 && byte(2) == 0x12 && byte(3) > 0 && byte(3) < 64 &&
      is_printable(text.substr(4, byte(3))))
    return {"an ONNX model, a graph of operations", "start from the checkpoint that it was exported from"};
  // A map of MessagePack whose first key is a short text.
  const bool is_map = (byte(0) > 0x80 && byte(0) < 0x90) || byte(0) == 0xde;
  const size_t key = byte(0) == 0xde ? 3 : 1;
  if (is_map && byte(key) > 0xa0 && byte(key) < 0xc0 && is_printable(text.substr(key + 1, byte(key) - 0xa0)))
    return {"a MessagePack file, as Flax writes weights (flax_model.msgpack)", std::string(kSaveAsSafetensors)};
  return {};
}

// Files that are models by themselves, whatever folder they lie in.
constexpr std::string_view kModelEndings[] = {".bin", ".ordinal", ".pt", ".pth"};

// What a folder holds in place of a model.
struct FolderContent {
  std::string_view file, what;
};
constexpr FolderContent kFolderContents[] = {
    {"saved_model.pb", "a TensorFlow SavedModel, a graph of operations"},
    {"tf_model.h5", "tf_model.h5, weights of Keras"},
    {"flax_model.msgpack", "flax_model.msgpack, weights of Flax"},
    {"model.onnx", "model.onnx, a graph of operations"},
    {"consolidated.00.pth", "consolidated.00.pth, Meta's own layout of Llama"},
};

}  // namespace

uint32_t read_u32(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

int32_t read_i32(std::span<const std::byte> bytes, size_t at) { return std::bit_cast<int32_t>(read_u32(bytes, at)); }

uint64_t read_u64(std::span<const std::byte> bytes, size_t at) {
  return read_u32(bytes, at) | (static_cast<uint64_t>(read_u32(bytes, at + 4)) << 32);
}

float read_f32(std::span<const std::byte> bytes, size_t at) { return std::bit_cast<float>(read_u32(bytes, at)); }

Likeness likeness(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {"an empty file", "copy or download it again"};
  std::string_view head = as_text(bytes.first(std::min<size_t>(bytes.size(), 4096)));
  for (const Signature& signature : kSignatures)
    if (head.starts_with(signature.begins)) return {std::string(signature.what), std::string(signature.suggestion)};
  if (const Likeness unmarked = unmarked_likeness(head); !unmarked.what.empty()) return unmarked;
  if (begins_with_html(head)) return {"a web page (HTML)", std::string(kDownloadAgain)};
  if (bytes.size() < 28)
    return {"a file of " + std::to_string(bytes.size()) + " bytes, too short for the header of any model",
            "copy or download it again"};
  if (const Likeness numbered = numbered_likeness(bytes); !numbered.what.empty()) return numbered;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);  // a byte order mark
  if (is_printable(head)) return {head.front() == '{' ? "JSON text" : "text", "give the model itself"};
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; }))
    return {"zeros, as an interrupted download leaves them", "copy or download it again"};
  return {};
}

void refuse_unrecognised(const std::string& path, std::span<const std::byte> bytes) {
  std::string expected = "an Ordinal model file";
  for (const Importer& importer : importers()) expected += ", " + std::string(importer.summary);
  const Likeness like = likeness(bytes);
  throw Error("the format of " + path + " is not recognised as a model", expected,
              like.what.empty()
                  ? "no known magic number in its header (" + grouped(static_cast<int64_t>(bytes.size())) + " bytes)"
                  : like.what,
              like.suggestion);
}

std::string other_weights_in(const std::string& folder) {
  std::error_code ignored;
  for (const FolderContent& content : kFolderContents)
    if (std::filesystem::exists(std::filesystem::path(folder) / content.file, ignored))
      return std::string(content.what);
  return "";
}

void refuse_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string found = "an empty directory";
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    found = "a directory without config.json";
    if (const std::string other = other_weights_in(path); !other.empty()) {
      found += "; there is " + other;
      break;
    }
    if (std::ranges::count(kModelEndings, entry.path().extension().string()) != 0) {
      found += "; there is " + entry.path().filename().string();
      break;
    }
  }
  throw Error("there is no model in the directory " + path,
              "config.json and model.safetensors or pytorch_model.bin, as Hugging Face writes them", found,
              "give the folder with config.json, or a model file itself");
}

}  // namespace ordinal::convert
