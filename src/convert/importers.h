// importers.h: the importers that convert.cpp lists; each is described in its own file and in README.md.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "convert/convert.h"
#include "convert/tokenizers/tokenizer_files.h"

namespace ordinal::convert {

bool is_hf_folder(const std::string& path);
ModelDraft read_hf_folder(const std::string& path, const ImportOptions& options);

bool is_nanogpt(const std::string& path);
ModelDraft read_nanogpt(const std::string& path, const ImportOptions& options);

bool is_tf_gpt2(const std::string& path);
ModelDraft read_tf_gpt2(const std::string& path, const ImportOptions& options);

bool is_llmc(const std::string& path);
ModelDraft read_llmc(const std::string& path, const ImportOptions& options);

bool is_gguf(const std::string& path);
ModelDraft read_gguf(const std::string& path, const ImportOptions& options);

bool is_llama2c(const std::string& path);
ModelDraft read_llama2c(const std::string& path, const ImportOptions& options);

// The tokenizer of the checkpoint at `path`: what --vocab names, else what `beside` finds, else none, which is said.
TokenizerData choose_tokenizer(const std::string& path, const Vocabulary& wanted, const ImportOptions& options,
                               const std::function<std::optional<TokenizerData>()>& beside);

}  // namespace ordinal::convert
