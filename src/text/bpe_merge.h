// bpe_merge.h: neighbouring tokens merged, best pair first, in a time near-linear in their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ordinal/tensor.h"

namespace ordinal {

// Which pairs of tokens merge into what, and how early. A lower rank goes first.
class MergeRules {
 public:
  struct Rule {
    TokenId left, right, result;
    uint32_t rank;
  };
  struct Found {
    uint32_t rank = kNever;
    TokenId result = -1;
  };
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

  // Ids are in [0, vocab_size) and ranks below kNever. Of several rules for one pair the last counts.
  MergeRules(std::vector<Rule> rules, size_t vocab_size);

  Found find(TokenId left, TokenId right) const;

 private:
  // The rules of `left` are [begin_[left], begin_[left + 1]), by right token. No hashing, so no data can slow it down.
  std::vector<uint32_t> begin_;
  std::vector<TokenId> rights_;
  std::vector<Found> found_;
};

// Merges ids[from ..] until no rule applies: always the pair of lowest rank, and the leftmost of equals.
// n ids take O(n log n) steps. Throws Error for 2^31 ids or more.
void merge_ids(const MergeRules& rules, std::vector<TokenId>& ids, size_t from);

}  // namespace ordinal
