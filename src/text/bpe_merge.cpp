// bpe_merge.cpp: see bpe_merge.h. Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword
// Units", 2016 (arXiv:1508.07909), applied as GPT-2's encoder does: by rank, within one piece.
#include "text/bpe_merge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <span>
#include <string>

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
    pairs[i] = i + 1 < count ? rules.find(ids[i], ids[i + 1]) : MergeRules::kNothing;
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
    nodes[i].pair = next < 0 ? MergeRules::kNothing : rules.find(ids[i], ids[next]);
    return nodes[i].pair.rank != MergeRules::kNever;
  };
  for (int32_t i = 0; i < count; ++i) {
    nodes[i] = {i - 1, i + 1 < count ? i + 1 : -1, MergeRules::kNothing};
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
    nodes[gone].pair = MergeRules::kNothing;
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

MergeRules::MergeRules(std::vector<Rule> rules) {
  // By pair, the last of each pair first, so that the others can be dropped; then by rank, so that the pairs of most
  // texts come first to their places.
  std::reverse(rules.begin(), rules.end());
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Rule& a, const Rule& b) { return pair_of(a.left, a.right) < pair_of(b.left, b.right); });
  const auto repeated = std::unique(
      rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.left == b.left && a.right == b.right; });
  rules.erase(repeated, rules.end());
  std::stable_sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.rank < b.rank; });

  const size_t places = std::bit_ceil(std::max<size_t>(2 * rules.size(), 2));
  shift_ = 64 - std::countr_zero(places);
  table_.resize(places + kProbes);
  for (const Rule& rule : rules) {
    const Slot slot = {pair_of(rule.left, rule.right), {rule.rank, rule.result}};
    Slot* place = table_.data() + place_of(slot.pair);
    Slot* const end = place + kProbes;
    while (place != end && place->pair != kEmpty) ++place;
    if (place != end) {
      *place = slot;
    } else {
      others_.push_back(slot);
    }
  }
  std::sort(others_.begin(), others_.end(), [](const Slot& a, const Slot& b) { return a.pair < b.pair; });
}

MergeRules::Found MergeRules::find(TokenId left, TokenId right) const {
  const uint64_t pair = pair_of(left, right);
  const Slot* place = table_.data() + place_of(pair);
  for (const Slot* const end = place + kProbes; place != end; ++place) {
    if (place->pair == pair) return place->found;
    if (place->pair == kEmpty) return kNothing;
  }
  const auto other = std::lower_bound(others_.begin(), others_.end(), pair,
                                      [](const Slot& slot, uint64_t value) { return slot.pair < value; });
  return other != others_.end() && other->pair == pair ? other->found : kNothing;
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
