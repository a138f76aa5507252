// bpe_builder.cpp: see bpe_builder.h.
#include "convert/bpe_builder.h"

#include <algorithm>
#include <array>

#include "base/byte_spelling.h"
#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
BpeBuilder::BpeBuilder(std::string name, const Vocabulary& wanted) : name_(std::move(name)), wanted_(wanted) {
  data_.kind = "bpe";
  data_.bos_id = wanted.bos_id;
  data_.pieces.resize(static_cast<size_t>(wanted.vocab_size));
  spelled_.resize(static_cast<size_t>(wanted.vocab_size));
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
  const std::optional<std::string> bytes = bytes_of_spelling(spelling);
  spelled_[place] = bytes.has_value();
  // Outside the alphabet a piece is never made from text; decoding writes it as it stands, as other programs do.
  data_.pieces[place] = bytes.value_or(spelling);
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

void BpeBuilder::add_special(const std::string& content, std::optional<int64_t> id) {
  if (content.empty()) throw Error(name_ + " has a special token without a name", "a name", "''");
  if (const TokenId known = id_of(content); known >= 0) {
    if (id && *id != known)
      throw Error(name_ + " has two ids for " + in_quotes(content), std::to_string(known), std::to_string(*id));
    std::string& piece = data_.pieces[static_cast<size_t>(known)];
    if ((piece.size() == 1 && spelled_[static_cast<size_t>(known)]) || merged_.contains(known)) {
      say(wanted_.note, "special token " + in_quotes(content) + " is also a piece of text and stays one");
      return;
    }
    piece = content;
    spelled_[static_cast<size_t>(known)] = false;
    specials_.insert(known);
    return;
  }
  if (!id) return;
  if (*id >= wanted_.vocab_size) {
    say(wanted_.note,
        "the model has no row for special token " + in_quotes(content) + ", id " + std::to_string(*id) + ": left out");
    return;
  }
  add_piece(content, *id);
  add_special(content, id);
}

TokenizerData BpeBuilder::finish(const std::string& unknown) {
  std::array<bool, 256> have{};
  for (size_t id = 0; id < data_.pieces.size(); ++id) {
    const std::string& piece = data_.pieces[id];
    if (piece.size() != 1 || specials_.contains(static_cast<TokenId>(id))) continue;
    bool& seen = have[static_cast<uint8_t>(piece[0])];
    if (seen) throw Error(name_ + " has two pieces for one byte", "one spelling of each byte", in_quotes(piece));
    seen = true;
  }
  const auto missing = std::count(have.begin(), have.end(), false);
  if (missing > 0) data_.unknown_id = unknown.empty() ? -1 : id_of(unknown);
  if (merged_.contains(data_.unknown_id))
    throw Error("the unknown token of " + name_ + " is a piece of text", "a token of its own", in_quotes(unknown));
  if (missing > 0 && data_.unknown_id < 0)
    say(wanted_.note, name_ + " has no piece for " + std::to_string(missing) +
                          " of the 256 bytes and no unknown token: text with them is refused");
  data_.special_ids.assign(specials_.begin(), specials_.end());
  return std::move(data_);
}

}  // namespace ordinal::convert
