// hf_template.h: the tokens that a Hugging Face tokenizer puts around a text.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "convert/tokenizers/tokenizer_files.h"

namespace ordinal::convert {

// Ids before and after a text; -1 for none.
struct TextFrame {
  int64_t start = -1, end = -1;
};

// What the post-processor of tokenizer.json adds; nullptr adds nothing. Throws Error for what is more than one token on
// either side, or no post-processor that is known. `name` is the file in messages.
TextFrame read_post_processor(const Json* step, const std::string& name);

// Keeps the frame in the tokenizer. Throws Error for an id that the model has no row for.
void set_frame(TokenizerData& data, const TextFrame& frame, const std::string& name, const Vocabulary& wanted);

// Throws the Error for a setting that asks for other ids than the engine would make; `found` may be nullptr.
[[noreturn]] void refuse_field(const std::string& name, const std::string& field, const std::string& expected,
                               const Json* found);

}  // namespace ordinal::convert
