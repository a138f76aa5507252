// tokenizer_base.h: what every kind of tokenizer shares: names, changes of the text, the start id, spaces and offsets.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "ordinal/tokenizer.h"
#include "text/changes.h"
#include "text/tokenizer_specials.h"

namespace ordinal {

// A kind turns one stretch of text, in which no name is looked for, into ids; the rest is done here.
class TokenizerBase : public Tokenizer {
 public:
  std::vector<TextToken> encode_with_offsets(std::string_view text, const EncodeOptions& options) const final;
  std::string decode_next(TokenId previous, TokenId id, bool with_special) const override;

 protected:
  // Plain text between names, changed.
  struct Stretch {
    std::string_view text;
    bool begins_text;  // nothing stands before it
    bool after_start;  // or nothing but the start token
  };
  // Which ids stand for a part of a stretch: those up to index id_end, from its byte `begin` on.
  struct Word {
    size_t begin, id_end;
  };

  // `prefix` and `first_space` are what the kind does when the data do not say. Throws Error for words in the data that
  // are not known.
  TokenizerBase(TokenizerData data, std::string_view prefix, std::string_view first_space);

  // Whether the stretch is encoded as if a space stood before it.
  virtual bool wants_space(const Stretch& stretch) const { return prefixes(stretch); }
  bool prefixes(const Stretch& stretch) const { return prefix_(stretch); }

  // Appends the ids of `text`, which is not empty; `spaced`: its first byte is a space that was put there. Where
  // `words` is given, it adds the parts of the text that were encoded each on its own; none stands for one part.
  virtual void append_ids(std::string_view text, bool spaced, std::vector<TokenId>& ids,
                          std::vector<Word>* words) const = 0;

  // How many bytes at the front of `rest` an id stands for that append_ids put there.
  virtual size_t bytes_of(TokenId id, std::string_view /*rest*/) const { return piece(id).size(); }

  // Whether an id after `previous` is the first of a text to be written.
  virtual bool is_first(TokenId previous, bool with_special) const {
    return previous == -1 || (previous == data().bos_id && !with_special);
  }

 private:
  class Encoding;  // of one text
  std::vector<TokenId> encode_ids(std::string_view text, const EncodeOptions& options) const final;

  bool (*prefix_)(const Stretch& stretch);
  std::string (*first_space_)(std::string bytes);
  TextChanges changes_;
  SpecialNames names_, changed_names_;      // looked for before and after the text is changed
  std::map<TokenId, std::string> renamed_;  // by a changed name, which is also what is written, as `tokenizers` does
};

// One factory per kind. Each throws Error when the data does not make a tokenizer of its kind.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_char_bpe_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_bytes_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_chars_tokenizer(TokenizerData data);
std::unique_ptr<Tokenizer> make_scores_tokenizer(TokenizerData data);

// Whether each id is special, by id; and whether its piece can be made from text, by merging or at once.
std::vector<bool> special_flags(const TokenizerData& data);
std::vector<bool> text_flags(const TokenizerData& data);

// How errors name tokens: `token 17 'abc'`. Bytes alone are named by in_quotes() of base/words.h.
std::string name_of_token(const TokenizerData& data, TokenId id);

}  // namespace ordinal
