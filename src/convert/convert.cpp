// convert.cpp: the list of importers, and opening a model whatever it is.
#include "convert/convert.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "base/json.h"
#include "base/number_text.h"
#include "base/words.h"
#include "convert/importers.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "format/mapped_file.h"
#include "format/model_header.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

namespace fs = std::filesystem;

// In this order: llama2.c's older files have no magic number, so it comes last.
constexpr Importer kImporters[] = {
    {"huggingface", "a Hugging Face folder (config.json, model.safetensors or pytorch_model.bin)",
     convert::is_hf_folder, convert::read_hf_folder},
    {"pytorch", "a nanoGPT or minGPT checkpoint of PyTorch (.pt)", convert::is_nanogpt, convert::read_nanogpt, true},
    {"tensorflow", "OpenAI's GPT-2 folder (hparams.json, model.ckpt.index)", convert::is_tf_gpt2,
     convert::read_tf_gpt2},
    {"gguf", "a GGUF file", convert::is_gguf, convert::read_gguf},
    {"llm.c", "an llm.c model", convert::is_llmc, convert::read_llmc},
    {"llama2.c", "a llama2.c model", convert::is_llama2c, convert::read_llama2c},
};

constexpr std::string_view kModelFileExtension = ".ordinal";

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

const Importer& importer_of(const std::string& path) {
  if (is_directory(path)) {
    for (const Importer& importer : kImporters)
      if (importer.recognises(path)) return importer;
    convert::refuse_folder(path);
  }
  const auto file = MappedFile::open(path);  // says why when it cannot
  for (const Importer& importer : kImporters)
    if (importer.recognises(path)) return importer;
  convert::refuse_unrecognised(path, file->bytes());
}

// The path without a slash at its end.
fs::path tidy(const std::string& path) {
  const fs::path name = fs::path(path).lexically_normal();
  return name.has_filename() ? name : name.parent_path();
}

std::string short_name(const std::string& path) { return tidy(path).filename().string(); }

// A remark for the model file, which says nothing of where on this machine its source lay.
std::string without_folders(std::string remark, const std::string& path) {
  const std::string folder = tidy(path).parent_path().string() + "/";
  for (size_t at = remark.find(folder); folder.size() > 1 && at != std::string::npos; at = remark.find(folder, at))
    remark.erase(at, folder.size());
  return remark;
}

// "Qwen2, 494 M parameters, 24 layers, positions rope:theta=1e+06, context 32,768, gguf, q5_0 and q8_0"
std::string recognised(const ModelDraft& draft, const Importer& importer) {
  std::map<Dtype, int64_t> numbers;  // by kind
  int64_t all = 0;
  for (const TensorSource& tensor : draft.tensors) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    all += count;
    if (tensor.shape.size() > 1) numbers[tensor.source_dtype] += count;
  }
  std::vector<std::pair<int64_t, std::string>> kinds;
  for (const auto& [dtype, count] : numbers) kinds.emplace_back(count, dtype_info(dtype).name);
  std::ranges::sort(kinds, std::greater());
  const std::string count =
      all < 1'000'000 ? std::to_string(all / 1000) + " k" : std::to_string(all / 1'000'000) + " M";
  return (draft.kind.empty() ? "" : draft.kind + ", ") + count + " parameters, " +
         std::to_string(draft.config.n_layers) + " layers, positions " + draft.notes.position + ", context " +
         grouped(draft.config.max_seq_len) + ", " + std::string(importer.name) + ", " +
         joined(kinds, " and ", &std::pair<int64_t, std::string>::second);
}

}  // namespace

std::span<const Importer> importers() { return kImporters; }

ModelDraft import_checkpoint(const std::string& path, const ImportOptions& options) {
  const Importer& importer = importer_of(path);
  if ((options.heads || options.activation) && !importer.leaves_open)
    throw Error("heads and activation (--heads, --activation) are for checkpoints that do not say them",
                "a checkpoint of nanoGPT or minGPT", path + ", which is " + std::string(importer.summary),
                "leave them out");
  // Sources keep the listener and may call it as long as the draft lives.
  const auto remarks = std::make_shared<std::string>();
  ImportOptions listening = options;
  listening.note = [remarks, path, note = options.note](const std::string& remark) {
    *remarks += (remarks->empty() ? "" : "; ") + without_folders(remark, path);
    convert::say(note, remark);
  };
  ModelDraft draft = importer.read(path, listening);
  // Names come from the file system, where they need not be UTF-8.
  JsonWriter provenance;
  provenance.begin_object();
  provenance.add("source", short_name(path));
  provenance.add("format", importer.name);
  if (!remarks->empty()) provenance.add("remarks", *remarks);
  provenance.end_object();
  draft.notes.provenance_json = provenance.take();
  draft.config.validate();
  draft.kind = recognised(draft, importer);
  return draft;
}

ModelFile open_any_model(const std::string& path, const ImportOptions& options) {
  if (!is_directory(path)) {
    // By its name too: what is left of a damaged model file is best described by its own reader.
    const auto file = MappedFile::open(path);
    if (fs::path(path).extension() == kModelFileExtension || convert::as_text(file->bytes()).starts_with(kModelMagic))
      return ModelFile::open(path);
  }
  const auto start = std::chrono::steady_clock::now();
  const ModelDraft draft = import_checkpoint(path, options);
  convert::say(options.note, path + ": " + draft.kind);
  WriteOptions writing;
  writing.keep_dtype = !options.dtype;
  if (options.dtype) writing.dtype = *options.dtype;
  ModelFile file = write_model_in_memory(draft, path, writing);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const std::string vocab = options.vocab_dir.empty() ? "" : " --vocab " + options.vocab_dir;
  convert::say(options.note, path + " was converted in memory, in " + fixed(taken.count(), 1) +
                                 " s, as it is each time; once and for all: ordinal convert " + path + " " +
                                 fs::path(short_name(path)).stem().string() + std::string(kModelFileExtension) + vocab);
  return file;
}

namespace convert {

TokenizerData choose_tokenizer(const std::string& path, const Vocabulary& wanted, const ImportOptions& options,
                               const std::function<std::optional<TokenizerData>()>& beside) {
  if (!options.vocab_dir.empty()) return read_given_tokenizer(options.vocab_dir, wanted);
  if (std::optional<TokenizerData> found = beside()) return *std::move(found);
  say(options.note, path + " has no tokenizer: ids only (--vocab names a folder with one)");
  return {};
}

}  // namespace convert
}  // namespace ordinal
