// scored_pieces.cpp: see scored_pieces.h.
#include "convert/tokenizers/scored_pieces.h"

#include <cmath>

#include "base/byte_spelling.h"
#include "base/words.h"
#include "convert/tokenizers/hf_steps.h"
#include "ordinal/error.h"

namespace ordinal::convert {
int64_t rows_for(size_t pieces, const std::string& name, const Vocabulary& wanted) {
  const auto count = static_cast<int64_t>(pieces);
  if (count == 0 || (wanted.vocab_size > 0 && count > wanted.vocab_size))
    throw Error(name + " does not fit the model's vocabulary",
                "1 to " + std::to_string(wanted.vocab_size > 0 ? wanted.vocab_size : INT32_MAX) + " pieces",
                std::to_string(count) + " pieces");
  return std::max(count, wanted.vocab_size);
}

TokenizerData read_scored_pieces(const std::vector<std::string>& pieces, const std::vector<float>& scores,
                                 const std::vector<int32_t>& types, const std::string& name, const Vocabulary& wanted) {
  TokenizerData data;
  data.kind = "scores";
  data.split = "none";
  const auto rows = static_cast<size_t>(rows_for(pieces.size(), name, wanted));
  if (scores.size() != pieces.size() || (!types.empty() && types.size() != pieces.size()))
    throw Error("the lists of " + name + "'s tokenizer differ in length", std::to_string(pieces.size()) + " of each",
                std::to_string(scores.size()) + " scores, " + std::to_string(types.size()) + " types");
  data.pieces.resize(rows);
  data.scores.resize(rows);
  data.byte_ids.assign(256, -1);
  data.changes = {{"replace", std::string(kBlankMark), " "}};
  data.fuse_unknown = true;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const int32_t type = types.empty() ? static_cast<int32_t>(PieceType::normal) : types[i];
    if (type < static_cast<int32_t>(PieceType::normal) || type > static_cast<int32_t>(PieceType::byte))
      throw Error(name + " has a piece of a type that is not known", "1 to 6",
                  std::to_string(type) + " for " + in_quotes(pieces[i]));
    if (!std::isfinite(scores[i]))
      throw Error(name + " has a score that is no number", "a number for each piece", in_quotes(pieces[i]));
    data.scores[i] = scores[i];
    const auto is = [&](PieceType wanted_type) { return type == static_cast<int32_t>(wanted_type); };
    if (is(PieceType::unused) || pieces[i].empty()) continue;
    if (is(PieceType::byte)) {
      const std::optional<unsigned char> byte = byte_of_piece(pieces[i]);
      if (!byte) throw Error(name + " has a piece of type byte that is none", "<0x00> to <0xFF>", in_quotes(pieces[i]));
      TokenId& place = data.byte_ids[*byte];
      if (place >= 0) throw Error(name + " has two pieces for one byte", "one of each", in_quotes(pieces[i]));
      place = id;
      data.pieces[i] = std::string(1, static_cast<char>(*byte));
      continue;
    }
    const bool is_name = is(PieceType::control) || is(PieceType::unknown);
    data.pieces[i] = is_name ? pieces[i] : with_blanks(pieces[i]);
    if (is_name) data.special_ids.push_back(id);
    if (is(PieceType::unknown)) data.unknown_id = id;
    if (is(PieceType::user_defined)) {
      data.added.emplace_back().id = id;
      data.added.back().always = true;
    }
  }
  return data;
}

void set_token(TokenId& place, int64_t id, const char* what, const TokenizerData& data, const std::string& name) {
  if (id < -1 || id >= static_cast<int64_t>(data.pieces.size()))
    throw Error(name + " names a token that it does not have: " + what,
                "an id up to " + std::to_string(data.pieces.size() - 1), std::to_string(id));
  place = static_cast<TokenId>(id);
}

}  // namespace ordinal::convert
