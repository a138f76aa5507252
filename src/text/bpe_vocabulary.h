// bpe_vocabulary.h: the vocabularies of byte pair encoding: what a text begins as, bytes or characters.
#pragma once

#include <memory>
#include <string_view>

#include "ordinal/model_file.h"
#include "text/bpe_words.h"

namespace ordinal {

class BpeVocabulary : public MergeVocabulary {
 public:
  using MergeVocabulary::MergeVocabulary;
  // How many bytes at the front of `rest` became one unknown token.
  virtual size_t unknown_length(std::string_view rest) const = 0;
};

// Views of `data`, which must outlive them. Throws Error for merges that do not fit the pieces, and for two tokens of
// one byte.
std::unique_ptr<const BpeVocabulary> make_byte_vocabulary(const TokenizerData& data);
std::unique_ptr<const BpeVocabulary> make_char_vocabulary(const TokenizerData& data);

}  // namespace ordinal
