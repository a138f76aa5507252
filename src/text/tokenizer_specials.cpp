// tokenizer_specials.cpp: see tokenizer_specials.h. The flags of added tokens mean what they do in the `tokenizers`
// package.
#include "text/tokenizer_specials.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/changes.h"
#include "text/tokenizer_base.h"
#include "text/unicode.h"

namespace ordinal {
namespace {

constexpr size_t kLongestName = 1024;

void check_name(const TokenizerData& data, TokenId id, const std::string& name) {
  if (name.size() > kLongestName)
    throw Error("the name of a special token is too long", "at most 1024 bytes",
                name_of_token(data, id) + " of " + std::to_string(name.size()) + " bytes");
}

// The characters beside a place: where the one before it begins, and where the one behind it ends.
size_t begin_of_last(std::string_view text) {
  size_t begin = text.size();
  if (begin > 0) --begin;
  while (begin > 0 && text.size() - begin < 4 && continues_character(text[begin])) --begin;
  return utf8_length(text.substr(begin)) == text.size() - begin ? begin : text.size();
}

bool ends_in_word(std::string_view text) {
  size_t at = begin_of_last(text);
  return at < text.size() && is_word_character(take_character(text, at));
}

bool begins_with_word(std::string_view text) {
  size_t at = 0;
  return utf8_length(text) > 0 && is_word_character(take_character(text, at));
}

// Where the blanks at the end of `text` begin, and where those at its front end.
size_t last_blanks_begin(std::string_view text) {
  for (;;) {
    const size_t begin = begin_of_last(text);
    size_t at = begin;
    if (begin == text.size() || !is_blank(take_character(text, at))) return text.size();
    text = text.substr(0, begin);
  }
}

size_t first_blanks_end(std::string_view text) {
  size_t end = 0;
  while (utf8_length(text.substr(end)) > 0) {
    size_t behind = end;
    if (!is_blank(take_character(text, behind))) break;
    end = behind;
  }
  return end;
}

}  // namespace

std::vector<NamedToken> named_tokens(const TokenizerData& data, bool normalized, const TextChanges& changes) {
  std::map<TokenId, TokenizerData::Added> tokens;
  for (const TokenId id : data.special_ids) tokens[id].id = id;
  for (const TokenizerData::Added& added : data.added) tokens[added.id] = added;
  std::vector<NamedToken> names;
  for (const auto& [id, how] : tokens) {
    const std::string& name = how.name.empty() ? data.pieces[static_cast<size_t>(id)] : how.name;
    check_name(data, id, name);
    if (name.empty() || how.normalized != normalized) continue;
    names.push_back({normalized ? changes.apply(name, false).bytes : name, how});
  }
  const auto order = [](const NamedToken& a, const NamedToken& b) {
    return std::tie(a.name, a.how.id) < std::tie(b.name, b.how.id);
  };
  std::sort(names.begin(), names.end(), order);
  const auto same = [](const NamedToken& a, const NamedToken& b) { return a.name == b.name; };
  const auto twin = std::adjacent_find(names.begin(), names.end(), same);
  if (twin != names.end() && !normalized)
    throw Error("two special tokens have one name", "a name of its own for each",
                name_of_token(data, twin[0].how.id) + " and " + name_of_token(data, twin[1].how.id));
  names.erase(std::unique(names.begin(), names.end(), same), names.end());  // names that changes have made the same
  std::erase_if(names, [](const NamedToken& token) { return token.name.empty(); });
  return names;
}

SpecialNames::SpecialNames(std::vector<NamedToken> names) : names_(std::move(names)) {
  for (const NamedToken& token : names_) {
    first_bytes_.set(static_cast<unsigned char>(token.name[0]));
    has_always_ = has_always_ || token.how.always;
  }
}

SpecialNames::Match SpecialNames::at_front(std::string_view text) const {
  Match match;
  if (text.empty() || !first_bytes_[static_cast<unsigned char>(text[0])]) return match;
  auto first = names_.begin(), last = names_.end();  // the names that share the first `length` bytes with the text
  for (size_t length = 0; first != last; ++length) {
    if (first->name.size() == length) match = {&*first++, length};
    if (length == text.size()) break;
    const unsigned next = static_cast<unsigned char>(text[length]);
    const auto byte_of = [length](const NamedToken& token) {
      return unsigned{static_cast<unsigned char>(token.name[length])};
    };
    first = std::partition_point(first, last, [&](const NamedToken& token) { return byte_of(token) < next; });
    last = std::partition_point(first, last, [&](const NamedToken& token) { return byte_of(token) == next; });
  }
  return match;
}

std::vector<NamedPart> SpecialNames::parts_of(std::string_view text, bool parse_special) const {
  std::vector<NamedPart> parts;
  size_t plain = 0;       // where plain text began
  size_t blanks_end = 0;  // of the blanks behind a name that were looked at last
  for (size_t at = 0; (parse_special || has_always_) && at < text.size();) {
    const Match match = at_front(text.substr(at));
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + match.length;
    at = end;
    const TokenizerData::Added& how = match.token->how;
    if (!how.always && !parse_special) continue;
    if (how.single_word && (ends_in_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    // A token before may have taken the blanks between, or even more than this name.
    if (how.lstrip) begin = plain < begin ? plain + last_blanks_begin(text.substr(plain, begin - plain)) : plain;
    if (how.rstrip) {
      if (end > blanks_end) blanks_end = end + first_blanks_end(text.substr(end));
      end = blanks_end;
    }
    if (plain < begin) parts.push_back({plain, begin});
    parts.push_back({begin, end, how.id});
    plain = end;
  }
  if (plain < text.size()) parts.push_back({plain, text.size()});
  return parts;
}

}  // namespace ordinal
