// tokenizer_scores.cpp: pieces with scores, best-scoring neighbours merged first: llama2.c's tokenizer.
// Karpathy, llama2.c, `encode` and `decode` of run.c; the vocabularies come from SentencePiece.
//
// Ids 3 to 258 stand for the bytes 0 to 255. They are used for characters that have no piece, and never merge.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/bpe_words.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

constexpr TokenId kFirstByte = 3;
constexpr TokenId kAfterBytes = kFirstByte + 256;
constexpr size_t kLongestPiece = 1024;  // a model's are up to about 50 bytes long
constexpr float kNoMerge = -1e10f;      // llama2.c leaves pieces of this score and below unmerged

// The pieces that text can become, in the order of their bytes. Views of TokenizerData::pieces.
class Dictionary {
 public:
  explicit Dictionary(const TokenizerData& data) {
    const std::vector<bool> special = special_flags(data);
    for (size_t i = 0; i < data.pieces.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const bool is_byte = id >= kFirstByte && id < kAfterBytes;
      if (!is_byte && !special[i] && !data.pieces[i].empty()) entries_.push_back({data.pieces[i], id});
    }
    std::sort(entries_.begin(), entries_.end());  // of two ids with one piece the lower is found
  }

  using Entry = std::pair<std::string_view, TokenId>;
  const std::vector<Entry>& entries() const { return entries_; }

  // -1 when there is none.
  TokenId find(std::string_view piece) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), Entry(piece, -1));
    return found != entries_.end() && found->first == piece ? found->second : -1;
  }

 private:
  std::vector<Entry> entries_;
};

void check(const TokenizerData& data) {
  if (data.pieces.size() < kAfterBytes) {
    throw Error("a tokenizer with scores has too few pieces", "at least 259: three, then one for every byte",
                std::to_string(data.pieces.size()));
  }
  if (data.scores.size() != data.pieces.size()) {
    throw Error("a tokenizer's scores do not fit its pieces", std::to_string(data.pieces.size()) + " scores",
                std::to_string(data.scores.size()));
  }
  for (size_t i = 0; i < data.pieces.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!std::isfinite(data.scores[i])) {
      throw Error("a score of a tokenizer is not a finite number", "a number for each piece",
                  name_of_token(data, id) + " has " + std::to_string(data.scores[i]));
    }
    if (data.pieces[i].size() > kLongestPiece) {
      throw Error("a piece of a tokenizer with scores is too long", "at most 1024 bytes",
                  name_of_token(data, id) + " of " + std::to_string(data.pieces[i].size()) + " bytes");
    }
    if (id < kFirstByte || id >= kAfterBytes) continue;
    const std::string byte(1, static_cast<char>(id - kFirstByte));
    if (data.pieces[i] == byte) continue;
    throw Error("a tokenizer with scores lacks the token of a byte",
                "token " + std::to_string(i) + " for " + in_quotes(byte), name_of_token(data, id));
  }
}

// llama2.c merges any two neighbours whose bytes together are a piece. So every way to cut a piece into two pieces is a
// rule, and its rank is the place of the piece's score among all scores, equal scores sharing a place.
std::vector<MergeRules::Rule> rules_of(const TokenizerData& data, const Dictionary& dictionary) {
  std::vector<float> scores = data.scores;
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<MergeRules::Rule> rules;
  std::vector<Dictionary::Entry> prefixes;  // the pieces that the current one begins with: before it, sorted
  for (const auto& [piece, id] : dictionary.entries()) {
    while (!prefixes.empty() && !piece.starts_with(prefixes.back().first)) prefixes.pop_back();
    if (!prefixes.empty() && prefixes.back().first == piece) continue;
    const float score = data.scores[static_cast<size_t>(id)];
    const auto place = std::lower_bound(scores.begin(), scores.end(), score, std::greater<>());
    for (const auto& [left, left_id] : prefixes) {
      const TokenId right_id = score > kNoMerge ? dictionary.find(piece.substr(left.size())) : -1;
      if (right_id >= 0) rules.push_back({left_id, right_id, id, static_cast<uint32_t>(place - scores.begin())});
    }
    prefixes.push_back({piece, id});
  }
  return rules;
}

class ScoredVocabulary final : public MergeVocabulary {
 public:
  explicit ScoredVocabulary(const TokenizerData& data) : ScoredVocabulary(data, Dictionary(data)) {}

  // A character is a byte and up to three bytes after it that continue one, whether or not that is UTF-8.
  void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const override {
    for (size_t at = 0; at < text.size();) {
      size_t length = 1;
      while (length < 4 && at + length < text.size() && continues_character(text[at + length])) ++length;
      const std::string_view character = text.substr(at, length);
      const TokenId id = dictionary_.find(character);
      if (id >= 0) {
        ids.push_back(id);
      } else {
        for (const char byte : character) ids.push_back(kFirstByte + static_cast<unsigned char>(byte));
      }
      at += length;
    }
  }

 private:
  ScoredVocabulary(const TokenizerData& data, Dictionary dictionary)
      : MergeVocabulary(rules_of(data, dictionary), data.pieces), dictionary_(std::move(dictionary)) {}

  Dictionary dictionary_;
};

class ScoresTokenizer final : public TokenizerBase {
 public:
  explicit ScoresTokenizer(TokenizerData data) : TokenizerBase(std::move(data)), vocabulary_(this->data()) {}

  // The first piece of a text begins with a space that encoding has put there.
  std::string decode_next(TokenId previous, TokenId id, bool with_special) const override {
    std::string bytes = Tokenizer::decode_next(previous, id, with_special);
    const bool first = previous == -1 || previous == data().bos_id;
    return first && !is_special(id) && bytes.starts_with(' ') ? bytes.substr(1) : bytes;
  }

 private:
  bool append_ids(std::string_view text, bool at_start, std::vector<TokenId>& ids) const override {
    if (at_start && !continues_character(text[0])) {
      const std::string spaced = std::string(" ").append(text);
      WordEncoder(vocabulary_, spaced.size(), ids).encode(spaced);
    } else {
      if (at_start) vocabulary_.append_first_ids(" ", ids);  // a character of its own, whatever the text begins with
      WordEncoder(vocabulary_, text.size(), ids).encode(text);
    }
    return at_start;
  }

  ScoredVocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_scores_tokenizer(TokenizerData data) {
  check(data);
  return std::make_unique<ScoresTokenizer>(std::move(data));
}

}  // namespace ordinal
