// tokenizer_base.h: what every kind of tokenizer shares: special names, the start id, added spaces and offsets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "ordinal/tokenizer.h"
#include "text/tokenizer_specials.h"

namespace ordinal {

// A kind turns one stretch of text, in which no special name is looked for, into ids; the rest is done here.
class TokenizerBase : public Tokenizer {
 public:
  std::vector<TextToken> encode_with_offsets(std::string_view text, const EncodeOptions& options) const final;

 protected:
  explicit TokenizerBase(TokenizerData data);

  // Appends the ids of `text`, which is not empty. `at_start`: it begins the text or follows bos_id.
  // Returns whether they were made as if a space stood before it.
  virtual bool append_ids(std::string_view text, bool at_start, std::vector<TokenId>& ids) const = 0;

  // How many bytes at the front of `rest` an id stands for that append_ids put there.
  virtual size_t bytes_of(TokenId id, std::string_view /*rest*/) const { return piece(id).size(); }

 private:
  std::vector<TokenId> encode_ids(std::string_view text, const EncodeOptions& options) const final;

  // A part of the text and the ids made of it, which end at index id_end.
  struct Part {
    size_t begin, end;
    TokenId special = -1;  // the id whose name the part is; -1 for plain text
    bool spaced = false;   // encoded as if a space stood before it
    size_t id_end = 0;
  };
  std::vector<Part> parts_of(std::string_view text, bool parse_special) const;
  std::vector<Part> encode_parts(std::string_view text, const EncodeOptions& options, std::vector<TokenId>& ids) const;

  SpecialNames names_;
};

// One factory per kind. Each throws Error when the data does not make a tokenizer of its kind.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_bytes_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_chars_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_scores_tokenizer(TokenizerData data);

// Whether each id is special, by id.
std::vector<bool> special_flags(const TokenizerData& data);

// How errors name tokens: `token 17 'abc'`. Bytes alone are named by in_quotes() of base/words.h.
std::string name_of_token(const TokenizerData& data, TokenId id);

}  // namespace ordinal
