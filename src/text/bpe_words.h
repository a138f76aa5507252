// bpe_words.h: pieces of a text turned into ids by merging, each distinct one only once.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe_merge.h"

namespace ordinal {

// What the tokenizers that merge have in common. Immutable and shared between threads.
class MergeVocabulary {
 public:
  // `pieces` holds the bytes of every id.
  MergeVocabulary(const std::vector<MergeRules::Rule>& rules, const std::vector<std::string>& pieces);
  virtual ~MergeVocabulary() = default;

  const MergeRules& rules() const { return rules_; }

  // Whether some merged piece has these two bytes side by side.
  bool joins(char left, char right) const { return joins_[pair(left, right)]; }

  // Appends the ids that `text` begins as, before any merge. Cutting the text before a byte that does not continue a
  // UTF-8 character must not change them.
  virtual void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const = 0;

  // The token that a word becomes without merging; -1 for none.
  virtual TokenId whole_word(std::string_view /*word*/) const { return -1; }

  // Whether long pieces may be cut before they are merged: not where first ids depend on their neighbours.
  virtual bool may_cut() const { return true; }

 private:
  static size_t pair(char left, char right) {
    return static_cast<size_t>(static_cast<unsigned char>(left)) << 8 | static_cast<unsigned char>(right);
  }
  MergeRules rules_;
  std::bitset<65536> joins_;
};

// Encodes the pieces of one text, appending to `ids`. Remembers where it met a piece before and copies its ids from
// there. The bytes of the pieces must stay where they are while it lives, and `ids` must only grow.
class WordEncoder {
 public:
  WordEncoder(const MergeVocabulary& vocabulary, size_t text_bytes, std::vector<TokenId>& ids);

  void encode(std::string_view piece);

 private:
  struct Seen {
    const char* bytes = nullptr;
    uint32_t length = 0;
    uint32_t id_count = 0;
    size_t first_id = 0;  // index in ids_
  };
  void encode_word(std::string_view word);
  bool take_whole(std::string_view word);
  void merge(std::string_view word);

  const MergeVocabulary& vocabulary_;
  std::vector<TokenId>& ids_;
  std::vector<Seen> seen_;  // a power of two; each word has one place, and the latest keeps it
};

}  // namespace ordinal
