// tokenizer.h: text to token ids and back, exact to the byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"
#include "ordinal/tensor.h"

namespace ordinal {

struct EncodeOptions {
  bool parse_special = false;  // names of special tokens in the text become their ids
  bool add_bos = true;         // put bos_id first and eos_id last where the tokenizer does that (adds_bos, adds_eos)
};

// One token of a text: its id and the bytes of the text it stands for, [begin, end).
struct TextToken {
  TokenId id;
  int64_t begin, end;
};

// Immutable; safe to use from several threads. Any bytes can be encoded: those that are not UTF-8 follow the rule in
// src/text/README.md. decode(encode(text)) == text for byte-level kinds.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Throws Error when a character has no token and the vocabulary has no token for the unknown.
  virtual std::vector<TextToken> encode_with_offsets(std::string_view text, const EncodeOptions& options) const = 0;
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The bytes of one id; "" for ids that stand for nothing. Throws Error for an id outside the vocabulary.
  std::string_view piece(TokenId id) const;
  bool is_special(TokenId id) const;
  int64_t vocab_size() const { return static_cast<int64_t>(data_.pieces.size()); }
  const TokenizerData& data() const { return data_; }

  // The bytes of several ids in a row. Special tokens are written by name only when `with_special`.
  std::string decode(std::span<const TokenId> ids, bool with_special = false) const;

  // The bytes that `id` adds after `previous` (-1: at the start); some kinds drop a space at the start of a text.
  virtual std::string decode_next(TokenId previous, TokenId id, bool with_special = false) const;

 protected:
  explicit Tokenizer(TokenizerData data);

 private:
  // What encode() calls: the ids of encode_with_offsets, for kinds that can make them in less memory without offsets.
  virtual std::vector<TokenId> encode_ids(std::string_view text, const EncodeOptions& options) const;

  TokenizerData data_;
  std::vector<bool> special_;
};

// Throws Error when the data contradicts itself, and for kind "none".
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerData data);

// Joins pieces into text for a terminal: holds back the bytes of a character until it is whole.
// Bytes that cannot become a character are passed on as they are, so nothing is lost or changed.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);  // what can be written now: whole characters only
  std::string finish();                      // what was still held back
 private:
  std::string held_;
};

}  // namespace ordinal
