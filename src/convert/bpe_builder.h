// bpe_builder.h: byte-level BPE tokenizers put together from the printable form in which GPT-2's files spell bytes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "convert/tokenizer_files.h"

namespace ordinal::convert {

// Collects pieces, then merges and special tokens, and checks each against what came before. Throws Error for ids
// and pieces used twice, ids past the vocabulary, and merges whose pieces do not exist. `name` is the file in messages.
class BpeBuilder {
 public:
  BpeBuilder(std::string name, const Vocabulary& wanted);

  void add_piece(const std::string& spelling, int64_t id);
  void add_merge(const std::string& left, const std::string& right);
  void add_merge_line(std::string_view line);  // "left right"

  // A token that text never becomes unless asked. Its piece is its name, as it is. `id` may be left out for a name
  // that is among the pieces; a name without any id is ignored.
  void add_special(const std::string& content, std::optional<int64_t> id = {});

  // `unknown` names the token for bytes without a piece, "" for none; it counts only where there are such bytes.
  TokenizerData finish(const std::string& unknown);

  // By the name in the file; -1 when there is no such piece.
  TokenId id_of(const std::string& spelling) const;

 private:
  std::string name_;
  const Vocabulary& wanted_;
  TokenizerData data_;
  std::unordered_map<std::string, TokenId> ids_;  // by spelling
  std::vector<bool> spelled_;                     // [vocab_size]: a piece in the alphabet; text can become it
  std::unordered_set<uint64_t> pairs_;            // merges seen
  std::unordered_set<TokenId> merged_;            // pieces that merges take or make
  std::set<TokenId> specials_;
};

}  // namespace ordinal::convert
