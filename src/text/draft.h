// draft.h: guesses at the next tokens, looked up in the text so far; checking several costs about one pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ordinal/tensor.h"

namespace ordinal {

// What followed the last time the text ended as it ends now will often follow again: names, quotations, code, lists.
// (Saxena 2023, "Prompt Lookup Decoding"; the check is that of Leviathan et al. 2022, arXiv:2211.17192, with exact
// equality in place of rejection sampling, since the sampler's draws are known.) Wrong guesses cost time only, so the
// guesses get shorter, then rarer, when few are right.
class LookupDraft {
 public:
  explicit LookupDraft(int64_t most);  // tokens guessed at once

  void append(std::span<const TokenId> tokens);  // to the text

  // What may follow the text: `room` tokens at most, often none.
  std::vector<TokenId> propose(int64_t room);

  // How many of the last proposal were right.
  void learn(int64_t proposed, int64_t accepted);

 private:
  size_t find_follower() const;

  int64_t most_;
  int64_t limit_;        // tokens of the next proposal
  int64_t resting_ = 0;  // steps without a proposal still to come
  int64_t rest_ = 1;     // steps of the next rest
  std::vector<TokenId> text_;
};

}  // namespace ordinal
