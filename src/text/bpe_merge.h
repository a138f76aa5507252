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
    uint32_t rank;
    TokenId result;
  };
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  static constexpr Found kNothing = {kNever, -1};

  // Ids are not negative and ranks below kNever. Of several rules for one pair the last counts.
  explicit MergeRules(std::vector<Rule> rules);

  // kNothing when the two do not merge.
  Found find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    uint64_t pair = kEmpty;
    Found found = kNothing;
  };
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();
  static constexpr size_t kProbes = 16;
  static uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place_of(uint64_t pair) const { return pair * 0x9e3779b97f4a7c15u >> shift_; }

  // A hash table where a pair is at most kProbes places from its first. The few that find no place there stand in
  // `others_`, in order, so that pairs chosen to collide cannot make it slow.
  std::vector<Slot> table_;
  std::vector<Slot> others_;
  int shift_ = 0;
};

// Merges ids[from ..] until no rule applies: always the pair of lowest rank, and the leftmost of equals.
// n ids take O(n log n) steps. Throws Error for 2^31 ids or more.
void merge_ids(const MergeRules& rules, std::vector<TokenId>& ids, size_t from);

}  // namespace ordinal
