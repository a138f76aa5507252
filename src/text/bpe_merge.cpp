// bpe_merge.cpp: see bpe_merge.h. Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword
// Units", 2016 (arXiv:1508.07909), applied as GPT-2's encoder does: by rank, within one piece.
#include "text/bpe_merge.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "ordinal/error.h"

namespace ordinal {
namespace {

// Up to here, looking at every pair each time is quicker than keeping them in order.
constexpr size_t kShort = 48;

// Merges by looking through all pairs for the best one. Returns how many ids are left.
size_t merge_short(const MergeRules& rules, std::span<TokenId> ids) {
  std::array<MergeRules::Found, kShort> pairs;  // pairs[i]: what ids[i] and ids[i + 1] become
  size_t count = ids.size();
  const auto refresh = [&](size_t i) {
    pairs[i] = i + 1 < count ? rules.find(ids[i], ids[i + 1]) : MergeRules::Found{};
  };
  for (size_t i = 0; i < count; ++i) refresh(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].rank == MergeRules::kNever) break;
    ids[best] = pairs[best].result;
    for (size_t i = best + 1; i + 1 < count; ++i) {
      ids[i] = ids[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --count;
    refresh(best);
    if (best > 0) refresh(best - 1);
  }
  return count;
}

// Merges with a heap of pairs and links between the ids that are left.
size_t merge_long(const MergeRules& rules, std::span<TokenId> ids) {
  struct Node {
    int32_t previous, next;  // -1 at the ends
    MergeRules::Found pair;  // what this id and the next become
  };
  const auto count = static_cast<int32_t>(ids.size());
  std::vector<Node> nodes(ids.size());
  std::vector<uint64_t> heap;  // rank, then place: the smallest is the best pair, leftmost among equals
  heap.reserve(ids.size());
  const auto entry = [&](int32_t i) { return uint64_t{nodes[i].pair.rank} << 32 | static_cast<uint32_t>(i); };
  const auto refresh = [&](int32_t i) {
    const int32_t next = nodes[i].next;
    nodes[i].pair = next < 0 ? MergeRules::Found{} : rules.find(ids[i], ids[next]);
    return nodes[i].pair.rank != MergeRules::kNever;
  };
  for (int32_t i = 0; i < count; ++i) {
    nodes[i] = {i - 1, i + 1 < count ? i + 1 : -1, {}};
    if (refresh(i)) heap.push_back(entry(i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](int32_t i) {
    if (i < 0 || !refresh(i)) return;
    heap.push_back(entry(i));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t best = heap.back();
    heap.pop_back();
    const auto at = static_cast<int32_t>(best & 0xffffffffu);
    if (nodes[at].pair.rank != best >> 32) continue;  // one of the two ids has been merged since
    ids[at] = nodes[at].pair.result;
    const int32_t gone = nodes[at].next;
    nodes[gone].pair = {};
    nodes[at].next = nodes[gone].next;
    if (nodes[at].next >= 0) nodes[nodes[at].next].previous = at;
    push(at);
    push(nodes[at].previous);
  }
  size_t kept = 0;
  for (int32_t i = 0; i >= 0; i = nodes[i].next) ids[kept++] = ids[i];
  return kept;
}

}  // namespace

MergeRules::MergeRules(std::vector<Rule> rules, size_t vocab_size) : begin_(vocab_size + 1) {
  std::stable_sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  });
  rights_.reserve(rules.size());
  found_.reserve(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (i + 1 < rules.size() && rule.left == rules[i + 1].left && rule.right == rules[i + 1].right) continue;
    rights_.push_back(rule.right);
    found_.push_back({rule.rank, rule.result});
    ++begin_[static_cast<size_t>(rule.left) + 1];
  }
  for (size_t left = 0; left < vocab_size; ++left) begin_[left + 1] += begin_[left];
}

MergeRules::Found MergeRules::find(TokenId left, TokenId right) const {
  const TokenId* first = rights_.data() + begin_[static_cast<size_t>(left)];
  const TokenId* const end = rights_.data() + begin_[static_cast<size_t>(left) + 1];
  for (size_t count = static_cast<size_t>(end - first); count > 1;) {
    const size_t half = count / 2;
    first += first[half] <= right ? half : 0;  // a conditional move: the branch could not be predicted
    count -= half;
  }
  return first != end && *first == right ? found_[static_cast<size_t>(first - rights_.data())] : Found{};
}

void merge_ids(const MergeRules& rules, std::vector<TokenId>& ids, size_t from) {
  const std::span<TokenId> piece = std::span(ids).subspan(from);
  if (piece.size() >= size_t{1} << 31) {
    throw Error("a piece of text is too long to be merged", "fewer than 2147483648 bytes without a break",
                std::to_string(piece.size()));
  }
  ids.resize(from + (piece.size() <= kShort ? merge_short(rules, piece) : merge_long(rules, piece)));
}

}  // namespace ordinal
