// hf_steps.h: normalizer, pre_tokenizer and decoder of tokenizer.json as facts of a tokenizer.
#pragma once

#include <string>

#include "base/json.h"
#include "ordinal/model_file.h"

namespace ordinal::convert {

// The character that stands for a blank in SentencePiece's pieces: U+2581. Pieces, changes and cuts are kept with
// the blank itself.
inline constexpr std::string_view kBlankMark = "\xe2\x96\x81";
std::string with_blanks(std::string_view text);

// What the steps are made into.
struct PipelineFacts {
  bool byte_level = false;    // pieces are spelled in the byte alphabet
  bool marks_blanks = false;  // pieces have U+2581 for blanks
};

// Sets kind, changes, split, cuts, prefix and first_space of `data` from the three members, any of which may be absent.
// Throws Error naming the first step, or the setting of one, that the engine does not do. `name` is the file in
// messages.
PipelineFacts read_steps(const Json& tokenizer, const std::string& name, TokenizerData& data);

}  // namespace ordinal::convert
