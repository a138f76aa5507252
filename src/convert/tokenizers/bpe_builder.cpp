// bpe_builder.cpp: see bpe_builder.h.
#include "convert/tokenizers/bpe_builder.h"

#include <algorithm>
#include <array>

#include "base/byte_spelling.h"
#include "convert/sniff.h"
#include "convert/tokenizers/hf_steps.h"
#include "ordinal/error.h"

namespace ordinal::convert {
BpeBuilder::BpeBuilder(std::string name, const Vocabulary& wanted, Spelling spelling)
    : name_(std::move(name)), wanted_(wanted), spelling_(spelling) {
  data_.kind = "bpe";
  data_.bos_id = wanted.bos_id;
  data_.pieces.resize(static_cast<size_t>(wanted.vocab_size));
  spelled_.resize(static_cast<size_t>(wanted.vocab_size));
}

// Outside the alphabet of bytes a piece is never made from text; decoding writes it as it stands, as other programs do.
std::string BpeBuilder::text_of(const std::string& spelling) const {
  if (spelling_ == Spelling::marks) return with_blanks(spelling);
  return spelling_ == Spelling::bytes ? bytes_of_spelling(spelling).value_or(spelling) : spelling;
}

bool BpeBuilder::is_spelled(const std::string& spelling) const {
  return spelling_ != Spelling::bytes || bytes_of_spelling(spelling).has_value();
}

// <0x0A> is byte 10.
bool BpeBuilder::take_byte_piece(const std::string& spelling, TokenId id) {
  const std::optional<unsigned char> byte = data_.byte_ids.empty() ? std::nullopt : byte_of_piece(spelling);
  if (!byte) return false;
  data_.byte_ids[*byte] = id;
  data_.pieces[static_cast<size_t>(id)] = std::string(1, static_cast<char>(*byte));
  return true;
}

void BpeBuilder::add_piece(const std::string& spelling, int64_t id) {
  if (spelling.empty()) throw Error(name_ + " has an empty piece", "pieces of at least one byte", "''");
  if (id < 0 || id >= wanted_.vocab_size)
    throw Error(name_ + " has an id that the model does not have", "0 to " + std::to_string(wanted_.vocab_size - 1),
                in_quotes(spelling) + ": " + std::to_string(id), "the tokenizer that belongs to the model");
  const size_t place = static_cast<size_t>(id);
  if (!data_.pieces[place].empty())
    throw Error(name_ + " has one id for two pieces", "an id of its own for " + in_quotes(spelling),
                std::to_string(id));
  if (!ids_.emplace(spelling, static_cast<TokenId>(id)).second)
    throw Error(name_ + " has a piece twice", "each piece once", in_quotes(spelling));
  if (take_byte_piece(spelling, static_cast<TokenId>(id))) return;
  spelled_[place] = is_spelled(spelling);
  data_.pieces[place] = text_of(spelling);
}

TokenId BpeBuilder::id_of(const std::string& spelling) const {
  const auto place = ids_.find(spelling);
  return place == ids_.end() ? -1 : place->second;
}

void BpeBuilder::add_merge(const std::string& left, const std::string& right) {
  const TokenizerData::Merge merge{id_of(left), id_of(right), id_of(left + right)};
  if (merge.left < 0 || merge.right < 0 || merge.result < 0)
    throw Error(name_ + " merges pieces that the vocabulary does not have",
                in_quotes(left) + ", " + in_quotes(right) + " and both together among the pieces",
                "merge " + std::to_string(pairs_.size() + 1));
  const uint64_t pair = static_cast<uint64_t>(merge.left) << 32 | static_cast<uint64_t>(merge.right);
  if (!pairs_.insert(pair).second)
    throw Error(name_ + " has a merge twice", "each pair once", in_quotes(left + " " + right));
  const auto spelled = [&](TokenId id) { return spelled_[static_cast<size_t>(id)]; };
  if (!spelled(merge.left) || !spelled(merge.right)) return;
  data_.merges.push_back(merge);
  merged_.insert({merge.left, merge.right, merge.result});
}

void BpeBuilder::add_merge_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos)
    throw Error(name_ + " has a line that is no merge", "two pieces with a space between", in_quotes(line));
  add_merge(std::string(line.substr(0, space)), std::string(line.substr(space + 1)));
}

bool BpeBuilder::has_row(const std::string& content, int64_t id) const {
  if (id < wanted_.vocab_size) return true;
  say(wanted_.note,
      "the model has no row for added token " + in_quotes(content) + ", id " + std::to_string(id) + ": left out");
  return false;
}

// Written only where it says more than that the token is special.
void BpeBuilder::keep_how(const std::string& content, TokenId id, TokenizerData::Added how) {
  how.id = id;
  how.name = content == data_.pieces[static_cast<size_t>(id)] ? "" : content;
  const bool says_more = !how.name.empty() || how.always || how.lstrip || how.rstrip || how.single_word ||
                         how.normalized || !specials_.contains(id);
  std::erase_if(data_.added, [&](const TokenizerData::Added& other) { return other.id == id; });
  if (says_more) data_.added.push_back(how);
}

void BpeBuilder::add_special(const std::string& content, std::optional<int64_t> id, const TokenizerData::Added& how) {
  if (content.empty()) throw Error(name_ + " has a special token without a name", "a name", "''");
  TokenId known = id_of(content);
  if (known >= 0 && id && *id != known)
    throw Error(name_ + " has two ids for " + in_quotes(content), std::to_string(known), std::to_string(*id));
  if (known < 0) {
    if (!id || !has_row(content, *id)) return;
    add_piece(content, *id);
    known = static_cast<TokenId>(*id);
  }
  const size_t place = static_cast<size_t>(known);
  if ((data_.pieces[place].size() == 1 && spelled_[place]) || merged_.contains(known)) {
    say(wanted_.note, "special token " + in_quotes(content) + " is also a piece of text and stays one");
  } else {
    specials_.insert(known);
    spelled_[place] = false;
  }
  keep_how(content, known, how);
}

void BpeBuilder::add_found(const std::string& content, int64_t id, TokenizerData::Added how) {
  if (content.empty()) throw Error(name_ + " has an added token without a name", "a name", "''");
  const TokenId known = id_of(content);
  if (known >= 0 && id != known)
    throw Error(name_ + " has two ids for " + in_quotes(content), std::to_string(known), std::to_string(id));
  if (known < 0) {
    if (!has_row(content, id)) return;
    add_piece(content, id);
    spelled_[static_cast<size_t>(id)] = false;  // text becomes it by its name only
    how.named_only = true;
  }
  how.always = true;
  keep_how(content, static_cast<TokenId>(id), how);
}

// How many bytes have no piece. Throws Error when one has two.
size_t BpeBuilder::count_missing_bytes() const {
  std::vector<bool> named_only(data_.pieces.size());
  for (const TokenizerData::Added& added : data_.added) named_only[static_cast<size_t>(added.id)] = added.named_only;
  std::array<bool, 256> have{};
  for (size_t id = 0; id < data_.pieces.size(); ++id) {
    const std::string& piece = data_.pieces[id];
    if (piece.size() != 1 || named_only[id] || specials_.contains(static_cast<TokenId>(id))) continue;
    bool& seen = have[static_cast<uint8_t>(piece[0])];
    if (seen) throw Error(name_ + " has two pieces for one byte", "one spelling of each byte", in_quotes(piece));
    seen = true;
  }
  return static_cast<size_t>(std::count(have.begin(), have.end(), false));
}

TokenizerData BpeBuilder::finish(const std::string& unknown) {
  if (spelling_ != Spelling::bytes) {
    data_.unknown_id = unknown.empty() ? -1 : id_of(unknown);
  } else if (const size_t missing = count_missing_bytes(); missing > 0) {
    data_.unknown_id = unknown.empty() ? -1 : id_of(unknown);
    if (data_.unknown_id < 0)
      say(wanted_.note, name_ + " has no piece for " + std::to_string(missing) +
                            " of the 256 bytes and no unknown token: text with them is refused");
  }
  if (merged_.contains(data_.unknown_id))
    throw Error("the unknown token of " + name_ + " is a piece of text", "a token of its own", in_quotes(unknown));
  data_.special_ids.assign(specials_.begin(), specials_.end());
  return std::move(data_);
}

}  // namespace ordinal::convert
