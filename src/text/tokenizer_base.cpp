// tokenizer_base.cpp: see tokenizer_base.h.
#include "text/tokenizer_base.h"

#include <algorithm>
#include <utility>

#include "ordinal/error.h"

namespace ordinal {
namespace {

template <class Row, size_t N>
const Row& row_named(const Row (&table)[N], std::string_view name, const std::string& what) {
  for (const Row& row : table)
    if (row.name == name) return row;
  throw Error("a tokenizer's " + what + " is unknown", joined(table, ", ", &Row::name), in_quotes(name));
}

// What decoding does with blanks of the first piece.
struct FirstSpace {
  std::string_view name;
  std::string (*apply)(std::string bytes);
};
constexpr FirstSpace kFirstSpaces[] = {
    {"kept", [](std::string bytes) { return bytes; }},
    {"dropped",
     [](std::string bytes) {
       bytes.erase(0, bytes.starts_with(' ') ? 1 : 0);
       return bytes;
     }},
    {"all_dropped",
     [](std::string bytes) {
       std::erase(bytes, ' ');
       return bytes;
     }},
};

}  // namespace

TokenizerBase::TokenizerBase(TokenizerData data, std::string_view prefix, std::string_view first_space)
    : Tokenizer(std::move(data)),
      changes_(this->data().changes),
      names_(named_tokens(this->data(), false, changes_)),
      changed_names_(named_tokens(this->data(), true, changes_)) {
  for (const NamedToken& token : named_tokens(this->data(), true, changes_))
    if (token.name != piece(token.how.id)) renamed_[token.how.id] = token.name;
  struct Prefix {
    std::string_view name;
    bool (*wants)(const Stretch& stretch);
  };
  static constexpr Prefix kPrefixes[] = {{"none", [](const Stretch&) { return false; }},
                                         {"first", [](const Stretch& stretch) { return stretch.begins_text; }},
                                         {"start", [](const Stretch& stretch) { return stretch.after_start; }},
                                         {"every", [](const Stretch&) { return true; }}};
  const TokenizerData& facts = this->data();
  prefix_ = row_named(kPrefixes, facts.prefix.empty() ? prefix : facts.prefix, "prefix").wants;
  first_space_ =
      row_named(kFirstSpaces, facts.first_space.empty() ? first_space : facts.first_space, "first_space").apply;
}

// The ids of one text, and its tokens with their offsets where they are asked for.
class TokenizerBase::Encoding {
 public:
  Encoding(const TokenizerBase& tokenizer, std::string_view text, std::vector<TokenId>& ids,
           std::vector<TextToken>* tokens)
      : tokenizer_(tokenizer), text_(text), ids_(ids), tokens_(tokens) {}

  void encode(const EncodeOptions& options) {
    const TokenizerData& data = tokenizer_.data();
    if (options.add_bos && data.adds_bos) add(data.bos_id, 0);
    after_start_ = true;
    for (const NamedPart& part : tokenizer_.names_.parts_of(text_, options.parse_special)) {
      if (part.id >= 0) {
        add_named(part.id, part.end);
      } else {
        add_text(part, options.parse_special);
      }
    }
    if (options.add_bos && data.adds_eos) add(data.eos_id, text_.size());
  }

 private:
  // Tokens follow each other without a gap.
  void add(TokenId id, size_t end) {
    ids_.push_back(id);
    note(id, end);
  }
  void note(TokenId id, size_t end) {
    if (tokens_ == nullptr) return;
    const int64_t begin = tokens_->empty() ? 0 : tokens_->back().end;
    tokens_->push_back({id, begin, std::max(begin, static_cast<int64_t>(end))});
  }
  void add_named(TokenId id, size_t end) {
    add(id, end);
    after_start_ = id == tokenizer_.data().bos_id;
  }

  void add_text(const NamedPart& part, bool parse_special) {
    const std::string_view source = text_.substr(part.begin, part.end - part.begin);
    if (tokenizer_.changes_.empty()) {
      add_changed(source, part.begin, nullptr, parse_special);
    } else {
      const ChangedText changed = tokenizer_.changes_.apply(source, tokens_ != nullptr);
      add_changed(changed.bytes, part.begin, &changed.origins, parse_special);
    }
    if (tokens_ != nullptr && !tokens_->empty() && tokens_->back().begin >= static_cast<int64_t>(part.begin))
      tokens_->back().end = std::max(tokens_->back().end, static_cast<int64_t>(part.end));
  }

  void add_changed(std::string_view changed, size_t base, const std::vector<size_t>* origins, bool parse_special) {
    const auto source_of = [&](size_t at) { return base + (origins == nullptr ? at : (*origins)[at]); };
    const bool maps = tokens_ != nullptr;
    for (const NamedPart& part : tokenizer_.changed_names_.parts_of(changed, parse_special)) {
      if (part.id >= 0) {
        add_named(part.id, maps ? source_of(part.end) : 0);
        continue;
      }
      const std::string_view text = changed.substr(part.begin, part.end - part.begin);
      const bool begins_text = base == 0 && part.begin == 0;
      add_stretch({text, begins_text, after_start_}, [&](size_t at) { return source_of(part.begin + at); });
      after_start_ = false;
    }
  }

  template <class SourceOf>
  void add_stretch(const Stretch& stretch, const SourceOf& source_of) {
    const size_t added = tokenizer_.wants_space(stretch) ? 1 : 0;
    std::string spaced;
    if (added > 0) spaced.append(" ").append(stretch.text);
    const std::string_view text = added > 0 ? spaced : stretch.text;
    const size_t first = ids_.size();
    if (tokens_ == nullptr) return tokenizer_.append_ids(text, added > 0, ids_, nullptr);
    std::vector<Word> words;
    tokenizer_.append_ids(text, added > 0, ids_, &words);
    if (words.empty()) words.push_back({0, ids_.size()});
    size_t next = first;
    for (const Word& word : words)
      for (size_t at = word.begin; next < word.id_end; ++next) {
        at = std::min(at + tokenizer_.bytes_of(ids_[next], text.substr(at)), text.size());
        note(ids_[next], source_of(std::max(at, added) - added));
      }
  }

  const TokenizerBase& tokenizer_;
  std::string_view text_;
  std::vector<TokenId>& ids_;
  std::vector<TextToken>* tokens_;
  bool after_start_ = true;
};

std::vector<TokenId> TokenizerBase::encode_ids(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  Encoding(*this, text, ids, nullptr).encode(options);
  return ids;
}

std::vector<TextToken> TokenizerBase::encode_with_offsets(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  std::vector<TextToken> tokens;
  Encoding(*this, text, ids, &tokens).encode(options);
  return tokens;
}

std::string TokenizerBase::decode_next(TokenId previous, TokenId id, bool with_special) const {
  std::string bytes = Tokenizer::decode_next(previous, id, with_special);
  if (!renamed_.empty() && !bytes.empty())
    if (const auto renamed = renamed_.find(id); renamed != renamed_.end()) bytes = renamed->second;
  return is_first(previous, with_special) ? first_space_(std::move(bytes)) : bytes;
}

std::vector<bool> special_flags(const TokenizerData& data) {
  std::vector<bool> flags(data.pieces.size());
  for (const TokenId id : data.special_ids) flags[static_cast<size_t>(id)] = true;
  return flags;
}

std::vector<bool> text_flags(const TokenizerData& data) {
  std::vector<bool> flags = special_flags(data);
  flags.flip();
  for (size_t i = 0; i < data.pieces.size(); ++i) flags[i] = flags[i] && !data.pieces[i].empty();
  for (const TokenId id : data.byte_ids)
    if (id >= 0) flags[static_cast<size_t>(id)] = false;
  for (const TokenizerData::Added& added : data.added)
    if (added.named_only) flags[static_cast<size_t>(added.id)] = false;
  return flags;
}

std::string name_of_token(const TokenizerData& data, TokenId id) {
  return "token " + std::to_string(id) + " " + in_quotes(data.pieces[static_cast<size_t>(id)]);
}

}  // namespace ordinal
