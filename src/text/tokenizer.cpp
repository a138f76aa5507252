// tokenizer.cpp: the kinds of tokenizer, what their data must hold, and ids back to text.
#include "ordinal/tokenizer.h"

#include <limits>
#include <utility>

#include "ordinal/error.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)(TokenizerData);
};

constexpr Kind kKinds[] = {
    {"bpe", make_bpe_tokenizer},     {"char_bpe", make_char_bpe_tokenizer}, {"bytes", make_bytes_tokenizer},
    {"chars", make_chars_tokenizer}, {"scores", make_scores_tokenizer},
};

void check_id(TokenId id, const TokenizerData& data, const std::string& what) {
  if (id >= 0 && static_cast<size_t>(id) < data.pieces.size()) return;
  throw Error("a tokenizer's " + what + " is outside its vocabulary",
              "0 to " + std::to_string(static_cast<int64_t>(data.pieces.size()) - 1), std::to_string(id));
}

// What holds for every kind. The kinds check their own fields.
void check_data(const TokenizerData& data) {
  if (data.pieces.empty() || data.pieces.size() > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    throw Error("a tokenizer has a vocabulary of impossible size", "1 to 2147483647 pieces",
                std::to_string(data.pieces.size()));
  }
  for (const TokenId id : data.special_ids) check_id(id, data, "special id");
  for (const TokenizerData::Added& added : data.added) check_id(added.id, data, "added id");
  for (const TokenId id : data.byte_ids)
    if (id != -1) check_id(id, data, "byte id");
  if (!data.byte_ids.empty() && data.byte_ids.size() != 256)
    throw Error("a tokenizer's byte ids are not those of all bytes", "256 of them, or none",
                std::to_string(data.byte_ids.size()));
  if (data.bos_id != -1) check_id(data.bos_id, data, "start id");
  if (data.eos_id != -1) check_id(data.eos_id, data, "end id");
  if (data.unknown_id != -1) check_id(data.unknown_id, data, "unknown id");
  const auto check_added = [](bool adds, TokenId id, const char* what) {
    if (adds && id == -1)
      throw Error(std::string("a tokenizer ") + what + " but has none", "an id of its vocabulary", "-1");
  };
  check_added(data.adds_bos, data.bos_id, "puts a start id before texts");
  check_added(data.adds_eos, data.eos_id, "puts an end id after texts");
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerData data) {
  if (data.kind == "none") {
    throw Error("this model has no tokenizer", "one of its own, to read text with", "",
                "give token ids in place of text: --ids 1,2,3");
  }
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == data.kind) {
      check_data(data);
      return kind.make(std::move(data));
    }
    known += std::string(kind.name) + ", ";
  }
  throw Error("the kind of a tokenizer is unknown", known + "none", in_quotes(data.kind));
}

Tokenizer::Tokenizer(TokenizerData data) : data_(std::move(data)), special_(special_flags(data_)) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return encode_ids(text, options);
}

std::vector<TokenId> Tokenizer::encode_ids(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  for (const TextToken& token : encode_with_offsets(text, options)) ids.push_back(token.id);
  return ids;
}

std::string_view Tokenizer::piece(TokenId id) const {
  check_id(id, data_, "token id");
  return data_.pieces[static_cast<size_t>(id)];
}

bool Tokenizer::is_special(TokenId id) const {
  check_id(id, data_, "token id");
  return special_[static_cast<size_t>(id)];
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool with_special) const {
  std::string text;
  TokenId previous = -1;
  for (const TokenId id : ids) {
    text += decode_next(previous, id, with_special);
    // What is left out at the start does not count as something before.
    if (previous != -1 || with_special || !is_special(id) || id == data_.bos_id) previous = id;
  }
  return text;
}

std::string Tokenizer::decode_next(TokenId, TokenId id, bool with_special) const {
  return is_special(id) && !with_special ? "" : std::string(piece(id));
}

}  // namespace ordinal
