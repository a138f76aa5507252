// bpe_vocabulary.cpp: see bpe_vocabulary.h.
#include "text/bpe_vocabulary.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

[[noreturn]] void reject_merge(const TokenizerData& data, size_t i, const std::string& expected) {
  const TokenizerData::Merge& merge = data.merges[i];
  throw Error("merge " + std::to_string(i) + " of a tokenizer does not fit its pieces", expected,
              name_of_token(data, merge.left) + " and " + name_of_token(data, merge.right) + " into " +
                  name_of_token(data, merge.result));
}

// The merges as rules, checked: ids are in the vocabulary, and what stands for the result is what stands for both.
std::vector<MergeRules::Rule> checked_rules(const TokenizerData& data) {
  const std::vector<bool> can_be_text = text_flags(data);
  const auto is_text = [&](TokenId id) { return can_be_text[static_cast<size_t>(id)] && id != data.unknown_id; };
  std::vector<MergeRules::Rule> rules;
  rules.reserve(data.merges.size());
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const TokenizerData::Merge& merge = data.merges[i];
    for (const TokenId id : {merge.left, merge.right, merge.result}) {
      if (id >= 0 && static_cast<size_t>(id) < data.pieces.size()) continue;
      throw Error("merge " + std::to_string(i) + " of a tokenizer names an id outside its vocabulary",
                  "0 to " + std::to_string(data.pieces.size() - 1), std::to_string(id));
    }
    if (!is_text(merge.left) || !is_text(merge.right) || !is_text(merge.result))
      reject_merge(data, i, "tokens that stand for text: not special, unknown or empty");
    const std::string_view left = data.pieces[static_cast<size_t>(merge.left)];
    const std::string_view right = data.pieces[static_cast<size_t>(merge.right)];
    const std::string_view result = data.pieces[static_cast<size_t>(merge.result)];
    if (result.size() != left.size() + right.size() || !result.starts_with(left) || !result.ends_with(right))
      reject_merge(data, i, "a result that is the left piece and then the right one");
    rules.push_back({merge.left, merge.right, merge.result, static_cast<uint32_t>(i)});
  }
  return rules;
}

// What both have: words that are taken whole, and the unknown.
class Vocabulary : public BpeVocabulary {
 public:
  explicit Vocabulary(const TokenizerData& data)
      : BpeVocabulary(checked_rules(data), data.pieces), unknown_(data.unknown_id), fuses_(data.fuse_unknown) {
    if (!data.ignore_merges) return;
    const std::vector<bool> is_text = text_flags(data);
    for (size_t i = 0; i < data.pieces.size(); ++i)
      if (is_text[i]) whole_.emplace(data.pieces[i], static_cast<TokenId>(i));
  }

  TokenId whole_word(std::string_view word) const override {
    if (whole_.empty()) return -1;
    const auto found = whole_.find(word);
    return found == whole_.end() ? -1 : found->second;
  }

 protected:
  // Appends the unknown token, or not where it belongs to the one before it in the word, which began at ids[from].
  void append_unknown(std::string_view unit, size_t from, std::vector<TokenId>& ids) const {
    if (unknown_ < 0)
      throw Error(unit.size() == 1 ? "a byte has no token, and this tokenizer has none for the unknown"
                                   : "a character has no token, and this tokenizer has none for the unknown",
                  "pieces of its vocabulary", in_quotes(unit));
    if (!fuses_ || ids.size() == from || ids.back() != unknown_) ids.push_back(unknown_);
  }
  bool fuses() const { return fuses_ && unknown_ >= 0; }
  // Parts of a word are no words.
  bool takes_words() const { return !whole_.empty(); }

 private:
  TokenId unknown_;  // no rule merges it
  bool fuses_;
  std::unordered_map<std::string_view, TokenId> whole_;
};

class ByteVocabulary final : public Vocabulary {
 public:
  explicit ByteVocabulary(const TokenizerData& data) : Vocabulary(data) {
    const std::vector<bool> is_text = text_flags(data);
    ids_.fill(-1);
    for (size_t i = 0; i < data.pieces.size(); ++i) {
      if (!is_text[i] || data.pieces[i].size() != 1) continue;
      TokenId& id = ids_[static_cast<unsigned char>(data.pieces[i][0])];
      if (id >= 0) {
        throw Error("a tokenizer has two tokens for one byte", "at most one",
                    "tokens " + std::to_string(id) + " and " + std::to_string(i) + " for " + in_quotes(data.pieces[i]));
      }
      id = static_cast<TokenId>(i);
    }
    has_all_ = std::find(ids_.begin(), ids_.end(), -1) == ids_.end();
  }

  void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const override {
    const size_t from = ids.size();
    for (size_t at = 0; at < text.size(); ++at) {
      const TokenId id = ids_[static_cast<unsigned char>(text[at])];
      if (id >= 0) {
        ids.push_back(id);
      } else {
        append_unknown(text.substr(at, 1), from, ids);
      }
    }
  }

  bool may_cut() const override { return !takes_words() && (has_all_ || !fuses()); }

  size_t unknown_length(std::string_view rest) const override {
    size_t length = 1;
    while (fuses() && length < rest.size() && ids_[static_cast<unsigned char>(rest[length])] < 0) ++length;
    return length;
  }

 private:
  std::array<TokenId, 256> ids_;  // by byte
  bool has_all_ = false;
};

// A character is a well-formed one, or else a single byte.
class CharVocabulary final : public Vocabulary {
 public:
  explicit CharVocabulary(const TokenizerData& data) : Vocabulary(data), bytes_(data.byte_ids) {
    const std::vector<bool> is_text = text_flags(data);
    for (size_t i = 0; i < data.pieces.size(); ++i) {
      const std::string& piece = data.pieces[i];
      if (!is_text[i] || unit_of(piece).size() != piece.size()) continue;
      ids_.emplace(key_of(piece), static_cast<TokenId>(i));  // of two the first
    }
    has_all_bytes_ = !bytes_.empty() && std::find(bytes_.begin(), bytes_.end(), -1) == bytes_.end();
  }

  void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const override {
    const size_t from = ids.size();
    for (size_t at = 0; at < text.size();) {
      const std::string_view unit = unit_of(text.substr(at));
      if (const auto found = ids_.find(key_of(unit)); found != ids_.end()) {
        ids.push_back(found->second);
      } else if (falls_back(unit)) {
        for (const char byte : unit) ids.push_back(bytes_[static_cast<unsigned char>(byte)]);
      } else {
        append_unknown(unit, from, ids);
      }
      at += unit.size();
    }
  }

  bool may_cut() const override { return !takes_words() && (has_all_bytes_ || !fuses()); }

  size_t unknown_length(std::string_view rest) const override {
    size_t length = unit_of(rest).size();
    while (fuses() && length < rest.size()) {
      const std::string_view unit = unit_of(rest.substr(length));
      if (ids_.contains(key_of(unit)) || falls_back(unit)) break;
      length += unit.size();
    }
    return length;
  }

 private:
  static std::string_view unit_of(std::string_view text) {
    return text.substr(0, std::max<size_t>(1, utf8_length(text)));
  }
  static uint32_t key_of(std::string_view unit) {
    uint32_t key = 0;
    for (const char byte : unit) key = key << 8 | static_cast<unsigned char>(byte);
    return key;
  }
  bool falls_back(std::string_view unit) const {
    return !bytes_.empty() && std::all_of(unit.begin(), unit.end(),
                                          [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; });
  }

  std::unordered_map<uint32_t, TokenId> ids_;  // by the bytes of the character
  const std::vector<TokenId>& bytes_;
  bool has_all_bytes_ = false;
};

}  // namespace

std::unique_ptr<const BpeVocabulary> make_byte_vocabulary(const TokenizerData& data) {
  return std::make_unique<ByteVocabulary>(data);
}

std::unique_ptr<const BpeVocabulary> make_char_vocabulary(const TokenizerData& data) {
  return std::make_unique<CharVocabulary>(data);
}

}  // namespace ordinal
