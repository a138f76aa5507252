// open_model.cpp: which model a command uses, and opening it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/words.h"
#include "cli/options.h"
#include "cli/ranks_report.h"
#include "cli/together.h"
#include "convert/convert.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "format/checksum.h"
#include "format/config_fields.h"
#include "format/mapped_file.h"
#include "format/model_header.h"
#include "ordinal/error.h"

namespace ordinal::cli {

namespace fs = std::filesystem;

namespace {

// default.ordinal, else the first model by name.
std::string model_in(const fs::path& folder) {
  std::error_code unknown;
  if (fs::exists(folder / "default.ordinal", unknown)) return (folder / "default.ordinal").string();
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unknown))
    if (entry.path().extension() == ".ordinal") found.push_back(entry.path().string());
  return found.empty() ? "" : *std::min_element(found.begin(), found.end());
}

}  // namespace

// Beside the binary, above build/release in the source tree, under the prefix of an installed bin/ordinal.
std::vector<fs::path> model_folders() {
  std::error_code unknown;
  const fs::path here = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  if (here.empty()) return {};
  return {here / "models", here.parent_path().parent_path() / "models",
          here.parent_path() / "share" / "ordinal" / "models"};
}

std::string header_checksum(const ModelFile& file) {
  const std::byte* data = file.tensors().front().data;
  MappedPlace place;
  if (!find_mapped(data, place)) return "";
  FixedHeader header;
  std::memcpy(&header, data - place.offset, sizeof header);
  return checksum_text(header.header_checksum);
}

void ModelOptions::add_to(Parser& parser) {
  parser.option("-m,--model", "MODEL", model,
                "a model file, or a checkpoint of another program, which is converted in memory [default: the file "
                "that ORDINAL_MODEL names, else the model in models/]");
  add_import_to(parser);
}

void ModelOptions::add_dtype_to(Parser& parser) {
  parser.option("--dtype", joined(kDtypes, "|", &DtypeInfo::name), dtype,
                "how a foreign checkpoint's matrices are kept in memory [default: as in the checkpoint]");
  add_ranks_to(parser);
}

void ModelOptions::add_ranks_to(Parser& parser) {
  parser.flag("--ranks-report", RanksReport::wanted,
              "under mpirun: what each rank holds and sends, on standard error at the end");
}

void ModelOptions::add_import_to(Parser& parser) {
  parser.option("--vocab", "DIR", vocab,
                "where a foreign checkpoint's tokenizer is; none: do without [default: beside its weights]");
  parser.option("--heads", "N", heads, "heads of a foreign checkpoint that does not say how many, as minGPT's");
  parser.option("--activation", joined(kActivations, "|"), activation,
                "activation of a foreign checkpoint that does not say which, as nanoGPT's [default: gelu_erf]");
}

std::string model_path(const ModelOptions& options) {
  if (options.model && options.model->empty())
    throw Error("the model has an empty name", "the path of a model", "''", "leave -m out for the default model");
  if (options.model) return *options.model;
  if (const char* named = std::getenv("ORDINAL_MODEL"); named != nullptr && *named != '\0') return named;
  std::string places;
  for (const fs::path& folder : model_folders()) {
    if (const std::string path = model_in(folder); !path.empty()) return path;
    places += (places.empty() ? "" : ", ") + folder.string();
  }
  throw Error("no model was named, and there is no default one", "-m MODEL, ORDINAL_MODEL, or a model in " + places,
              "none of them", "ordinal convert CHECKPOINT model.ordinal, then -m model.ordinal");
}

bool is_model_file(const std::string& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return false;
  if (fs::path(path).extension() == ".ordinal") return true;
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(kModelMagic);
}

ImportOptions import_options(const ModelOptions& options, const std::string& path, const Notes& notes) {
  const std::string given = !options.vocab.empty() ? "--vocab"
                            : options.heads        ? "--heads"
                            : options.activation   ? "--activation"
                            : options.dtype        ? "--dtype"
                                                   : "";
  if (!given.empty() && is_model_file(path))
    throw Error(given + " is for checkpoints of other programs", "a model without " + given,
                path + ", which is a model file and says all of it", "leave " + given + " out");
  ImportOptions importing;
  importing.vocab_dir = options.vocab;
  importing.note = [&notes](const std::string& sentence) { notes.say(sentence); };
  importing.heads = options.heads;
  if (options.heads) check_range("the number of heads (--heads)", *options.heads, 1, kMaxConfigSize);
  if (options.activation) {
    const auto* const known = std::ranges::find(kActivations, *options.activation);
    if (known == kActivations.end())
      throw Error("there is no such activation (--activation)", joined(kActivations), escaped(*options.activation));
    importing.activation = static_cast<Activation>(known - kActivations.begin());
  }
  if (options.dtype) importing.dtype = dtype_from_name(*options.dtype);
  return importing;
}

ModelFile open_model_file(const ModelOptions& options, const std::string& path, const Notes& notes) {
  return open_any_model(path, import_options(options, path, notes));
}

OpenedModel open_model(const ModelOptions& options, const Notes& notes) {
  const auto start = std::chrono::steady_clock::now();
  OpenedModel opened;
  opened.path = model_path(options);
  opened.model = in_step([&] { return Model::bind(open_model_file(options, opened.path, notes)); });
  check_alike("model", "a header of checksum " + header_checksum(opened.model->file()),
              "one file, or copies of it, on all machines");
  RanksReport::watch(opened.model);
  if (opened.model->file().tokenizer_kind() != "none")
    opened.tokenizer = make_tokenizer(opened.model->file().tokenizer());
  opened.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return opened;
}

std::unique_ptr<Tokenizer> open_tokenizer(const ModelOptions& options, const Notes& notes) {
  if (!options.model && !options.vocab.empty())  // a tokenizer alone
    return make_tokenizer(convert::read_given_tokenizer(
        options.vocab, {.note = [&notes](const std::string& sentence) { notes.say(sentence); }}));
  const std::string path = model_path(options);
  const ImportOptions importing = import_options(options, path, notes);
  TokenizerData data =
      is_model_file(path) ? ModelFile::open(path).tokenizer() : import_checkpoint(path, importing).tokenizer;
  if (data.kind == "none")
    throw Error(path + " has no tokenizer", "a model with a tokenizer", "a model of ids only",
                "convert it again with --vocab DIR");
  return make_tokenizer(std::move(data));
}

}  // namespace ordinal::cli
