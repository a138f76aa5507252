// tokenizer_bpe.cpp: byte-level byte pair encoding, GPT-2's tokenizer.
#include <array>
#include <utility>

#include "ordinal/error.h"
#include "text/bpe_words.h"
#include "text/split.h"
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
  const std::vector<bool> special = special_flags(data);
  const auto is_text = [&](TokenId id) {
    return !special[static_cast<size_t>(id)] && id != data.unknown_id && !data.pieces[static_cast<size_t>(id)].empty();
  };
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

class ByteVocabulary final : public MergeVocabulary {
 public:
  explicit ByteVocabulary(const TokenizerData& data) : MergeVocabulary(checked_rules(data), data.pieces) {
    const std::vector<bool> special = special_flags(data);
    ids_.fill(-1);
    for (size_t i = 0; i < data.pieces.size(); ++i) {
      if (special[i] || data.pieces[i].size() != 1) continue;
      TokenId& id = ids_[static_cast<unsigned char>(data.pieces[i][0])];
      if (id >= 0) {
        throw Error("a tokenizer has two tokens for one byte", "at most one",
                    "tokens " + std::to_string(id) + " and " + std::to_string(i) + " for " + in_quotes(data.pieces[i]));
      }
      id = static_cast<TokenId>(i);
    }
    for (TokenId& id : ids_) id = id < 0 ? data.unknown_id : id;
  }

  void append_first_ids(std::string_view text, std::vector<TokenId>& ids) const override {
    for (const char byte : text) {
      const TokenId id = ids_[static_cast<unsigned char>(byte)];
      if (id < 0) {
        throw Error("a byte has no token, and this tokenizer has none for the unknown",
                    "bytes that are pieces of its vocabulary", in_quotes(std::string_view(&byte, 1)));
      }
      ids.push_back(id);
    }
  }

 private:
  std::array<TokenId, 256> ids_;  // by byte; no rule merges the unknown
};

class BpeTokenizer final : public TokenizerBase {
 public:
  explicit BpeTokenizer(TokenizerData data)
      : TokenizerBase(std::move(data)), vocabulary_(this->data()), splitter_(splitter_named(this->data().split)) {}

 private:
  // As transformers does it, no second space is put before one that is there.
  bool append_ids(std::string_view text, bool, std::vector<TokenId>& ids) const override {
    const bool spaced = data().add_prefix_space && !text.starts_with(' ');
    if (spaced) {
      encode_words(std::string(" ").append(text), ids);
    } else {
      encode_words(text, ids);
    }
    return spaced;
  }

  void encode_words(std::string_view text, std::vector<TokenId>& ids) const {
    WordEncoder words(vocabulary_, text.size(), ids);
    const std::unique_ptr<SplitCursor> cursor = splitter_.open(text);
    std::array<size_t, 256> ends;
    size_t begin = 0;
    for (size_t count = cursor->next(ends); count > 0; count = cursor->next(ends)) {
      for (size_t i = 0; i < count; ++i) {
        words.encode(text.substr(begin, ends[i] - begin));
        begin = ends[i];
      }
    }
  }

  size_t bytes_of(TokenId id, std::string_view) const override {
    return id == data().unknown_id ? 1 : piece(id).size();
  }

  ByteVocabulary vocabulary_;
  const Splitter& splitter_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(TokenizerData data) {
  return std::make_unique<BpeTokenizer>(std::move(data));
}

}  // namespace ordinal
