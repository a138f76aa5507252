// tokenizer_bpe.cpp: byte pair encoding, from bytes (GPT-2's tokenizer and those after it) or from characters
// (SentencePiece's in the files of Hugging Face).
#include <array>
#include <utility>

#include "ordinal/error.h"
#include "text/bpe_vocabulary.h"
#include "text/bpe_words.h"
#include "text/split.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

class BpeTokenizer final : public TokenizerBase {
 public:
  using MakeVocabulary = std::unique_ptr<const BpeVocabulary> (*)(const TokenizerData& data);

  BpeTokenizer(TokenizerData data, MakeVocabulary make_vocabulary)
      : TokenizerBase(std::move(data), "none", "kept"),
        vocabulary_(make_vocabulary(this->data())),
        cuts_(this->data().cuts.empty() ? nullptr : make_cuts_splitter(this->data().cuts)),
        splitter_(cuts_ != nullptr ? *cuts_ : splitter_named(this->data().split)) {}

 private:
  // As transformers does it, no second space is put before one that is there.
  bool wants_space(const Stretch& stretch) const override {
    return (data().add_prefix_space || prefixes(stretch)) && !stretch.text.starts_with(' ');
  }

  void append_ids(std::string_view text, bool, std::vector<TokenId>& ids, std::vector<Word>* parts) const override {
    WordEncoder words(*vocabulary_, text.size(), ids);
    const std::unique_ptr<SplitCursor> cursor = splitter_.open();
    cursor->start(text);
    std::array<TextRange, 256> pieces;
    for (size_t count = cursor->next(pieces); count > 0; count = cursor->next(pieces)) {
      for (size_t i = 0; i < count; ++i) {
        words.encode(text.substr(pieces[i].begin, pieces[i].end - pieces[i].begin));
        if (parts != nullptr) parts->push_back({pieces[i].begin, ids.size()});
      }
    }
  }

  size_t bytes_of(TokenId id, std::string_view rest) const override {
    return id == data().unknown_id ? vocabulary_->unknown_length(rest) : piece(id).size();
  }

  std::unique_ptr<const BpeVocabulary> vocabulary_;
  std::unique_ptr<const Splitter> cuts_;
  const Splitter& splitter_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(TokenizerData data) {
  return std::make_unique<BpeTokenizer>(std::move(data), make_byte_vocabulary);
}

std::unique_ptr<Tokenizer> make_char_bpe_tokenizer(TokenizerData data) {
  return std::make_unique<BpeTokenizer>(std::move(data), make_char_vocabulary);
}

}  // namespace ordinal
