// bpe_builder.h: BPE tokenizers put together from the spellings that files have for their pieces.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "convert/tokenizers/tokenizer_files.h"

namespace ordinal::convert {

// Collects pieces, then merges and special tokens, and checks each against what came before. Throws Error for ids
// and pieces used twice, ids past the vocabulary, and merges whose pieces do not exist. `name` is the file in messages.
class BpeBuilder {
 public:
  // How pieces are spelled: bytes in the alphabet of GPT-2's files, characters, or those with U+2581 for blanks.
  enum class Spelling { bytes, characters, marks };
  BpeBuilder(std::string name, const Vocabulary& wanted, Spelling spelling = Spelling::bytes);

  // From here on pieces <0x00> to <0xFF> stand for the bytes of characters that have no piece.
  void use_byte_pieces() { data_.byte_ids.assign(256, -1); }

  void add_piece(const std::string& spelling, int64_t id);
  void add_merge(const std::string& left, const std::string& right);
  void add_merge_line(std::string_view line);  // "left right"

  // A token that text never becomes unless asked, and is not written unless asked. `id` may be left out for a name
  // that is among the pieces; a name without any id is ignored. `how` it is looked for; its id counts for nothing.
  void add_special(const std::string& content, std::optional<int64_t> id = {}, const TokenizerData::Added& how = {});

  // A token that is looked for in any text and written like any other.
  void add_found(const std::string& content, int64_t id, TokenizerData::Added how);

  // `unknown` names the token for bytes without a piece, "" for none; it counts only where there are such bytes.
  TokenizerData finish(const std::string& unknown);

  // By the name in the file; -1 when there is no such piece.
  TokenId id_of(const std::string& spelling) const;

 private:
  std::string text_of(const std::string& spelling) const;
  bool is_spelled(const std::string& spelling) const;
  bool take_byte_piece(const std::string& spelling, TokenId id);
  size_t count_missing_bytes() const;
  bool has_row(const std::string& content, int64_t id) const;
  void keep_how(const std::string& content, TokenId id, TokenizerData::Added how);

  std::string name_;
  const Vocabulary& wanted_;
  Spelling spelling_;
  TokenizerData data_;
  std::unordered_map<std::string, TokenId> ids_;  // by spelling
  std::vector<bool> spelled_;                     // [vocab_size]: a piece in the alphabet; text can become it
  std::unordered_set<uint64_t> pairs_;            // merges seen
  std::unordered_set<TokenId> merged_;            // pieces that merges take or make
  std::set<TokenId> specials_;
};

}  // namespace ordinal::convert
