// bpe_words.cpp: see bpe_words.h.
#include "text/bpe_words.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace ordinal {
namespace {

// Longer pieces are first cut where no merge can reach across, and not remembered when they are still longer.
constexpr size_t kLongestWord = 64;

uint64_t load(const char* bytes, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, count);
  return value;
}

// Places a word in the table of those seen. A collision costs time, never a wrong id.
uint64_t hash(std::string_view word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const char* bytes = word.data();
  size_t left = word.size();
  uint64_t h = left * kOdd;
  for (; left > 8; left -= 8, bytes += 8) {
    h = (h ^ load(bytes, 8)) * kOdd;
    h ^= h >> 32;
  }
  // The last 1 to 8 bytes, in loads of a fixed size.
  const uint64_t last = left >= 4   ? load(bytes, 4) << 32 | load(bytes + left - 4, 4)
                        : left >= 2 ? load(bytes, 2) << 16 | load(bytes + left - 2, 2)
                                    : load(bytes, left);
  h = (h ^ last) * kOdd;
  return h ^ h >> 32;
}

}  // namespace

MergeVocabulary::MergeVocabulary(const std::vector<MergeRules::Rule>& rules, const std::vector<std::string>& pieces)
    : rules_(rules) {
  for (const MergeRules::Rule& rule : rules) {
    const std::string& piece = pieces[static_cast<size_t>(rule.result)];
    for (size_t i = 1; i < piece.size(); ++i) joins_.set(pair(piece[i - 1], piece[i]));
  }
}

WordEncoder::WordEncoder(const MergeVocabulary& vocabulary, size_t text_bytes, std::vector<TokenId>& ids)
    : vocabulary_(vocabulary), ids_(ids), seen_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 16, 32768))) {}

void WordEncoder::encode(std::string_view piece) {
  if (piece.size() <= kLongestWord) return encode_word(piece);
  if (take_whole(piece)) return;
  if (!vocabulary_.may_cut()) return merge(piece);
  // A token holds its bytes side by side, so where no merged piece joins two bytes, no token will span them, and what
  // stands left and right of them never meets: each part may be merged alone.
  size_t begin = 0;
  for (size_t i = 1; i < piece.size(); ++i) {
    if (vocabulary_.joins(piece[i - 1], piece[i]) || continues_character(piece[i])) continue;
    encode_word(piece.substr(begin, i - begin));
    begin = i;
  }
  encode_word(piece.substr(begin));
}

void WordEncoder::encode_word(std::string_view word) {
  if (word.size() > kLongestWord) return merge(word);
  Seen& seen = seen_[hash(word) & (seen_.size() - 1)];
  if (seen.length == word.size() && std::memcmp(seen.bytes, word.data(), word.size()) == 0) {
    for (size_t i = 0; i < seen.id_count; ++i) ids_.push_back(ids_[seen.first_id + i]);
    return;
  }
  const size_t first_id = ids_.size();
  if (!take_whole(word)) merge(word);
  seen = {word.data(), static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids_.size() - first_id), first_id};
}

bool WordEncoder::take_whole(std::string_view word) {
  const TokenId id = vocabulary_.whole_word(word);
  if (id >= 0) ids_.push_back(id);
  return id >= 0;
}

void WordEncoder::merge(std::string_view word) {
  const size_t from = ids_.size();
  vocabulary_.append_first_ids(word, ids_);
  merge_ids(vocabulary_.rules(), ids_, from);
}

}  // namespace ordinal
