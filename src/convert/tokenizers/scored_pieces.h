// scored_pieces.h: SentencePiece's BPE as files list it: pieces with scores and types, in a GGUF file or
// tokenizer.model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/tokenizers/tokenizer_files.h"

namespace ordinal::convert {

// SentencePiece's numbers, which GGUF has too.
enum class PieceType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// How many pieces the tokenizer has in all: as many as the model, or as are listed. Throws Error when the model has
// fewer.
int64_t rows_for(size_t pieces, const std::string& name, const Vocabulary& wanted);

// A tokenizer of kind scores. Pieces have U+2581 for blanks; `types` may be empty. Throws Error for lists whose lengths
// differ, types that are not known, and a byte that has two pieces. `name` is the file in messages.
TokenizerData read_scored_pieces(const std::vector<std::string>& pieces, const std::vector<float>& scores,
                                 const std::vector<int32_t>& types, const std::string& name, const Vocabulary& wanted);

// Sets a token's id. Throws Error for one past the vocabulary; -1 is none.
void set_token(TokenId& place, int64_t id, const char* what, const TokenizerData& data, const std::string& name);

}  // namespace ordinal::convert
