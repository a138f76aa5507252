// tokenizer_files.cpp: which file of a folder is the tokenizer, and what a file given as one is.
#include "convert/tokenizers/tokenizer_files.h"

#include <algorithm>
#include <filesystem>

#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

std::string in_folder(const std::string& folder, std::string_view file) { return (fs::path(folder) / file).string(); }

bool exists(const std::string& folder, std::string_view file) {
  std::error_code ignored;
  return fs::exists(in_folder(folder, file), ignored);
}

TokenizerData read_json_file(const std::string& folder, const Vocabulary& wanted) {
  const auto file = MappedFile::open(in_folder(folder, "tokenizer.json"));
  return read_tokenizer_json(as_text(file->bytes()), file->path(), folder, wanted);
}

TokenizerData read_pair(const std::string& folder, const char* vocab, const char* merges, const Vocabulary& wanted) {
  const auto vocab_file = MappedFile::open(in_folder(folder, vocab));
  const auto merges_file = MappedFile::open(in_folder(folder, merges));
  return read_bpe_files(
      {as_text(vocab_file->bytes()), as_text(merges_file->bytes()), vocab_file->path(), merges_file->path(), folder},
      wanted);
}

TokenizerData read_hugging_face_pair(const std::string& folder, const Vocabulary& wanted) {
  return read_pair(folder, "vocab.json", "merges.txt", wanted);
}

TokenizerData read_openai_pair(const std::string& folder, const Vocabulary& wanted) {
  return read_pair(folder, "encoder.json", "vocab.bpe", wanted);
}

TokenizerData read_spm_file(const std::string& folder, const Vocabulary& wanted) {
  const auto file = MappedFile::open(in_folder(folder, "tokenizer.model"));
  return read_spm_model(file->bytes(), file->path(), folder, wanted);
}

TokenizerData read_llmc_file(const std::string& folder, const Vocabulary& wanted) {
  const auto file = MappedFile::open(in_folder(folder, "gpt2_tokenizer.bin"));
  return read_llmc_tokenizer(file->bytes(), file->path(), wanted);
}

TokenizerData read_meta_file(const std::string& folder, const Vocabulary& wanted) {
  const auto file = MappedFile::open(in_folder(folder, "meta.pkl"));
  return read_meta_pickle(file->bytes(), file->path(), wanted);
}

// A kind of tokenizer, known by the file that must be there. The first that is found is read.
struct FolderTokenizer {
  std::string_view file;
  TokenizerData (*read)(const std::string& folder, const Vocabulary& wanted);
};
// What --vocab says in place of a path for a model that is to work on ids only.
constexpr std::string_view kNoTokenizer = "none";

constexpr FolderTokenizer kFolderTokenizers[] = {
    {"tokenizer.json", read_json_file}, {"vocab.json", read_hugging_face_pair}, {"encoder.json", read_openai_pair},
    {"tokenizer.model", read_spm_file}, {"gpt2_tokenizer.bin", read_llmc_file}, {"meta.pkl", read_meta_file}};

}  // namespace

std::optional<TokenizerData> read_folder_tokenizer(const std::string& folder, const Vocabulary& wanted) {
  const auto* const kind = std::ranges::find_if(
      kFolderTokenizers, [&](const FolderTokenizer& tokenizer) { return exists(folder, tokenizer.file); });
  if (kind == std::end(kFolderTokenizers)) return std::nullopt;
  try {
    return kind->read(folder, wanted);
  } catch (const Error& error) {
    const std::string without = "--vocab none opens the model without its tokenizer, for ids only";
    throw Error(error.summary(), error.expected(), error.found(),
                error.suggestion().empty() ? without : error.suggestion() + "; " + without);
  }
}

TokenizerData read_given_tokenizer(const std::string& path, const Vocabulary& wanted) {
  std::error_code ignored;
  if (path == kNoTokenizer && !fs::exists(path, ignored)) return {};
  if (!fs::is_directory(path, ignored)) {
    const auto file = MappedFile::open(path);
    const std::string name = fs::path(path).filename().string();
    const std::string folder = fs::path(path).parent_path().string();
    if (name == "vocab.json" || name == "merges.txt") return read_hugging_face_pair(folder, wanted);
    if (name == "encoder.json" || name == "vocab.bpe") return read_openai_pair(folder, wanted);
    if (name.ends_with(".pkl")) return read_meta_pickle(file->bytes(), path, wanted);
    if (name.ends_with(".model")) return read_spm_model(file->bytes(), path, folder, wanted);
    if (is_llmc_tokenizer(file->bytes())) return read_llmc_tokenizer(file->bytes(), path, wanted);
    const size_t first = as_text(file->bytes()).find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (first != std::string_view::npos && file->bytes()[first] == std::byte{'{'})
      return read_tokenizer_json(as_text(file->bytes()), path, folder, wanted);
    return read_llama2c_tokenizer(file->bytes(), path, wanted);
  }
  if (std::optional<TokenizerData> found = read_folder_tokenizer(path, wanted)) return *std::move(found);
  const std::string candidates[] = {"tokenizer.bin", "tok" + std::to_string(wanted.vocab_size) + ".bin"};
  if (std::optional<TokenizerData> found = find_llama2c_tokenizer(path, candidates, wanted)) return *std::move(found);
  throw Error("there is no tokenizer in " + path,
              "tokenizer.json, vocab.json and merges.txt, encoder.json and vocab.bpe, tokenizer.model, "
              "gpt2_tokenizer.bin, meta.pkl, or " +
                  candidates[0] + " or " + candidates[1] + " for a vocabulary of " + std::to_string(wanted.vocab_size),
              "none of them, or none that fits", "--vocab with the folder or the file of the tokenizer");
}

}  // namespace ordinal::convert
