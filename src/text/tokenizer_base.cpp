// tokenizer_base.cpp: see tokenizer_base.h.
#include "text/tokenizer_base.h"

#include <algorithm>
#include <utility>

namespace ordinal {

TokenizerBase::TokenizerBase(TokenizerData data) : Tokenizer(std::move(data)), names_(this->data()) {}

std::vector<TokenizerBase::Part> TokenizerBase::parts_of(std::string_view text, bool parse_special) const {
  std::vector<Part> parts;
  size_t plain = 0, at = 0;  // where plain text began, and where we look for a name
  const auto close_plain = [&](size_t end) {
    if (end > plain) parts.push_back({plain, end});
  };
  while (parse_special && at < text.size()) {
    const SpecialNames::Match match = names_.at_front(text.substr(at));
    if (match.id < 0) {
      ++at;
      continue;
    }
    close_plain(at);
    parts.push_back({at, at + match.length, match.id});
    plain = at += match.length;
  }
  close_plain(text.size());
  return parts;
}

std::vector<TokenizerBase::Part> TokenizerBase::encode_parts(std::string_view text, const EncodeOptions& options,
                                                             std::vector<TokenId>& ids) const {
  std::vector<Part> parts = parts_of(text, options.parse_special);
  if (options.add_bos && data().adds_bos) parts.insert(parts.begin(), {0, 0, data().bos_id});
  if (options.add_bos && data().adds_eos) parts.push_back({text.size(), text.size(), data().eos_id});
  bool at_start = true;
  for (Part& part : parts) {
    const std::string_view bytes = text.substr(part.begin, part.end - part.begin);
    if (part.special >= 0) {
      ids.push_back(part.special);
    } else {
      part.spaced = append_ids(bytes, at_start, ids);
    }
    part.id_end = ids.size();
    at_start = part.special >= 0 && part.special == data().bos_id;
  }
  return parts;
}

std::vector<TokenId> TokenizerBase::encode_ids(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  encode_parts(text, options, ids);
  return ids;
}

std::vector<TextToken> TokenizerBase::encode_with_offsets(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  const std::vector<Part> parts = encode_parts(text, options, ids);
  std::vector<TextToken> tokens;
  tokens.reserve(ids.size());
  for (const Part& part : parts) {
    size_t begin = part.begin;
    size_t added = part.spaced ? 1 : 0;  // bytes still to come that are not in the text
    while (tokens.size() < part.id_end) {
      const TokenId id = ids[tokens.size()];
      size_t length = part.special >= 0 ? part.end - part.begin : bytes_of(id, text.substr(begin));
      const size_t absent = std::min(added, length);
      added -= absent;
      const size_t end = begin + length - absent;
      tokens.push_back({id, static_cast<int64_t>(begin), static_cast<int64_t>(end)});
      begin = end;
    }
  }
  return tokens;
}

std::vector<bool> special_flags(const TokenizerData& data) {
  std::vector<bool> flags(data.pieces.size());
  for (const TokenId id : data.special_ids) flags[static_cast<size_t>(id)] = true;
  return flags;
}

std::string name_of_token(const TokenizerData& data, TokenId id) {
  return "token " + std::to_string(id) + " " + in_quotes(data.pieces[static_cast<size_t>(id)]);
}

}  // namespace ordinal
