// tokenizer_scores.cpp: pieces with scores, best-scoring neighbours merged first: llama2.c's tokenizer.
// Karpathy, llama2.c, `encode` and `decode` of run.c; the vocabularies come from SentencePiece.
//
// byte_ids stand for the bytes 0 to 255, in llama2.c's files ids 3 to 258. They are used for characters that have no
// piece, and never merge.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/bpe_words.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

constexpr TokenId kFirstByte = 3;       // in llama2.c's files
constexpr size_t kLongestPiece = 1024;  // a model's are up to about 50 bytes long
constexpr float kNoMerge = -1e10f;      // llama2.c leaves pieces of this score and below unmerged

std::vector<TokenId> ids_of_bytes(const TokenizerData& data) {
  if (!data.byte_ids.empty()) return data.byte_ids;
  if (data.pieces.size() < kFirstByte + 256)
    throw Error("a tokenizer with scores has too few pieces", "at least 259: three, then one for every byte",
                std::to_string(data.pieces.size()));
  std::vector<TokenId> ids(256);
  std::iota(ids.begin(), ids.end(), kFirstByte);
  return ids;
}

// The pieces that text can become, in the order of their bytes. Views of TokenizerData::pieces.
class Dictionary {
 public:
  Dictionary(const TokenizerData& data, const std::vector<TokenId>& byte_ids) {
    std::vector<bool> is_text = text_flags(data);
    for (const TokenId id : byte_ids)
      if (id >= 0) is_text[static_cast<size_t>(id)] = false;
    for (size_t i = 0; i < data.pieces.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (is_text[i]) entries_.push_back({data.pieces[i], id});
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
  }
  const std::vector<TokenId> byte_ids = ids_of_bytes(data);
  for (size_t i = 0; i < byte_ids.size(); ++i) {
    const std::string byte(1, static_cast<char>(i));
    if (byte_ids[i] < 0 || data.pieces[static_cast<size_t>(byte_ids[i])] == byte) continue;
    throw Error("a tokenizer with scores lacks the token of a byte",
                "token " + std::to_string(byte_ids[i]) + " for " + in_quotes(byte), name_of_token(data, byte_ids[i]));
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
  explicit ScoredVocabulary(const TokenizerData& data) : ScoredVocabulary(data, ids_of_bytes(data)) {}

  // A character is a byte and up to three bytes after it that continue one, whether or not that is UTF-8.
  void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const override {
    const size_t from = ids.size();
    for (size_t at = 0; at < text.size();) {
      const std::string_view character = unit_of(text.substr(at));
      const TokenId id = dictionary_.find(character);
      if (id >= 0) {
        ids.push_back(id);
      } else {
        append_bytes(character, from, ids);
      }
      at += character.size();
    }
  }

  bool may_cut() const override { return !fuses_; }

  // How many bytes at the front of `rest` became one unknown token.
  size_t unknown_length(std::string_view rest) const {
    size_t length = unit_of(rest).size();
    while (fuses_ && length < rest.size() && !has_tokens(unit_of(rest.substr(length))))
      length += unit_of(rest.substr(length)).size();
    return length;
  }

  static std::string_view unit_of(std::string_view text) {
    size_t length = 1;
    while (length < 4 && length < text.size() && continues_character(text[length])) ++length;
    return text.substr(0, length);
  }

 private:
  ScoredVocabulary(const TokenizerData& data, const std::vector<TokenId>& byte_ids)
      : ScoredVocabulary(data, Dictionary(data, byte_ids), byte_ids) {}
  ScoredVocabulary(const TokenizerData& data, Dictionary dictionary, std::vector<TokenId> byte_ids)
      : MergeVocabulary(rules_of(data, dictionary), data.pieces),
        dictionary_(std::move(dictionary)),
        byte_ids_(std::move(byte_ids)),
        unknown_id_(data.unknown_id),
        fuses_(data.fuse_unknown && std::find(byte_ids_.begin(), byte_ids_.end(), -1) != byte_ids_.end()) {}

  TokenId byte_id(char byte) const { return byte_ids_[static_cast<unsigned char>(byte)]; }
  bool has_bytes(std::string_view character) const {
    return std::all_of(character.begin(), character.end(), [&](char byte) { return byte_id(byte) >= 0; });
  }
  bool has_tokens(std::string_view character) const { return dictionary_.find(character) >= 0 || has_bytes(character); }

  void append_bytes(std::string_view character, size_t from, std::vector<TokenId>& ids) const {
    if (has_bytes(character)) {
      for (const char byte : character) ids.push_back(byte_id(byte));
    } else if (unknown_id_ >= 0) {
      if (!fuses_ || ids.size() == from || ids.back() != unknown_id_) ids.push_back(unknown_id_);
    } else {
      throw Error("a character has no token, and this tokenizer has none for its bytes or the unknown",
                  "pieces of its vocabulary", in_quotes(character));
    }
  }

  Dictionary dictionary_;
  std::vector<TokenId> byte_ids_;
  TokenId unknown_id_;
  bool fuses_;  // unknown characters side by side
};

class ScoresTokenizer final : public TokenizerBase {
 public:
  explicit ScoresTokenizer(TokenizerData data)
      : TokenizerBase(std::move(data), "start", "dropped"), vocabulary_(this->data()) {}

 private:
  // As in run.c, also when the start token is written.
  bool is_first(TokenId previous, bool) const override { return previous == -1 || previous == data().bos_id; }

  void append_ids(std::string_view text, bool spaced, std::vector<TokenId>& ids, std::vector<Word>*) const override {
    if (spaced && continues_character(text[1])) {
      vocabulary_.append_first_ids(" ", ids);  // a character of its own, whatever the text begins with
      text.remove_prefix(1);
    }
    WordEncoder(vocabulary_, text.size(), ids).encode(text);
  }

  size_t bytes_of(TokenId id, std::string_view rest) const override {
    return id == data().unknown_id ? vocabulary_.unknown_length(rest) : piece(id).size();
  }

  ScoredVocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_scores_tokenizer(TokenizerData data) {
  check(data);
  return std::make_unique<ScoresTokenizer>(std::move(data));
}

}  // namespace ordinal
