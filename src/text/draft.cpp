// draft.cpp: see draft.h.
#include "text/draft.h"

#include <algorithm>

namespace ordinal {
namespace {

constexpr size_t kLongestMatch = 3, kShortestMatch = 2;  // tokens; after a single one nearly anything may follow
constexpr int64_t kFirstLimit = 4, kLongestRest = 64;

}  // namespace

LookupDraft::LookupDraft(int64_t most) : most_(most), limit_(std::min(most, kFirstLimit)) {}

void LookupDraft::append(std::span<const TokenId> tokens) { text_.insert(text_.end(), tokens.begin(), tokens.end()); }

// Where the text goes on after the latest of the longest earlier occurrences of its end; the text's size without one.
size_t LookupDraft::find_follower() const {
  const size_t size = text_.size();
  size_t best = kShortestMatch - 1, found = size;
  for (size_t follower = size - 1; follower > best && best < kLongestMatch; --follower) {
    size_t match = 0;
    while (match < std::min(kLongestMatch, follower) && text_[follower - 1 - match] == text_[size - 1 - match]) ++match;
    if (match <= best) continue;
    best = match;
    found = follower;
  }
  return found;
}

std::vector<TokenId> LookupDraft::propose(int64_t room) {
  if (resting_ > 0) {
    --resting_;
    return {};
  }
  const int64_t count = std::min(limit_, room);
  if (count <= 0 || text_.size() <= kShortestMatch) return {};
  std::vector<TokenId> proposal;
  // A text that repeats itself runs into its own end, and on into the proposal.
  for (size_t at = find_follower(); at < text_.size() + proposal.size() && std::ssize(proposal) < count; ++at)
    proposal.push_back(at < text_.size() ? text_[at] : proposal[at - text_.size()]);
  return proposal;
}

void LookupDraft::learn(int64_t proposed, int64_t accepted) {
  if (proposed == 0) return;
  if (accepted > 0) {
    rest_ = 1;
    limit_ = std::min(most_, accepted == proposed ? std::max(limit_, 2 * accepted) : accepted + 1);
  } else if (limit_ > 1) {
    limit_ /= 2;
  } else {
    resting_ = rest_;
    rest_ = std::min(2 * rest_, kLongestRest);
  }
}

}  // namespace ordinal
