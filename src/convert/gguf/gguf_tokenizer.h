// gguf_tokenizer.h: the tokenizer that a GGUF file describes by its keys tokenizer.ggml.*.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/tokenizers/tokenizer_files.h"

namespace ordinal::convert {

// What the keys say, as it stands in the file. Absent: an empty list, an empty text, -1, nothing.
struct GgufTokenizer {
  std::string model;                // tokenizer.ggml.model: gpt2, llama, ...
  std::string pre;                  // .pre: names the rule by which gpt2's text is cut
  std::vector<std::string> tokens;  // .tokens
  std::vector<int32_t> token_types;
  std::vector<float> scores;
  std::vector<std::string> merges;  // "left right"
  int64_t bos_id = -1, eos_id = -1, unknown_id = -1;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  std::string chat_template;  // tokenizer.chat_template
};

// Kind "none" for a file without a tokenizer (no model, or no_vocab). Throws Error for models that are not known,
// lists whose lengths differ, ids past the vocabulary and merges whose pieces do not exist. `name` is the file in
// messages.
TokenizerData read_gguf_tokenizer(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted);

}  // namespace ordinal::convert
