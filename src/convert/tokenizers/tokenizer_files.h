// tokenizer_files.h: tokenizers in the files of other programs. One reader per kind of file, one list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "convert/stored.h"
#include "ordinal/model_file.h"

namespace ordinal::convert {

// What a tokenizer is read for.
struct Vocabulary {
  int64_t vocab_size = 0;  // of the model: the tokenizer gets this many pieces, "" where it has none; 0: its own number
  TokenId bos_id = -1;     // of the model
  Note note;
};

// Readers of one kind each. `name` is the file in messages; `folder` is where tokenizer_config.json and the like are
// looked for, "" for nowhere. They throw Error for damage, for more pieces than
// vocab_size, and for anything that would make other ids than the program that wrote the file.
TokenizerData read_tokenizer_json(std::string_view text, const std::string& name, const std::string& folder,
                                  const Vocabulary& wanted);
TokenizerData read_spm_model(std::span<const std::byte> bytes, const std::string& name, const std::string& folder,
                             const Vocabulary& wanted);
TokenizerData read_llmc_tokenizer(std::span<const std::byte> bytes, const std::string& name, const Vocabulary& wanted);
TokenizerData read_llama2c_tokenizer(std::span<const std::byte> bytes, const std::string& name,
                                     const Vocabulary& wanted);

TokenizerData read_meta_pickle(std::span<const std::byte> bytes, const std::string& name, const Vocabulary& wanted);

// vocab.json and merges.txt, with the settings that may lie beside them.
struct BpeFiles {
  std::string_view vocab, merges;  // JSON; lines
  std::string vocab_name, merges_name;
  std::string folder;
};
TokenizerData read_bpe_files(const BpeFiles& files, const Vocabulary& wanted);

// The tokenizer in a folder (any kind but llama2.c's, whose file names vary), or nothing when there is none.
std::optional<TokenizerData> read_folder_tokenizer(const std::string& folder, const Vocabulary& wanted);

// What --vocab names: a folder or a file, of any kind, or "none" for ids only. Throws Error when there is none.
TokenizerData read_given_tokenizer(const std::string& path, const Vocabulary& wanted);

// Whether the bytes begin as an llm.c tokenizer does.
bool is_llmc_tokenizer(std::span<const std::byte> bytes);

// llama2.c's tokenizer for a vocabulary, in a folder: the files named in `candidates`, the first that fits.
std::optional<TokenizerData> find_llama2c_tokenizer(const std::string& folder, std::span<const std::string> candidates,
                                                    const Vocabulary& wanted);

}  // namespace ordinal::convert
