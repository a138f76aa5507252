// tokenizer_chars.cpp: a token for every character of a fixed set.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "ordinal/error.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

// Bytes of what is encoded as one: a well-formed character, or else a single byte.
size_t unit_length(std::string_view text) { return std::max<size_t>(1, utf8_length(text)); }

class CharsTokenizer final : public TokenizerBase {
 public:
  explicit CharsTokenizer(TokenizerData data) : TokenizerBase(std::move(data), "none", "kept") {
    const std::vector<std::string>& pieces = this->data().pieces;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (is_special(id) || id == this->data().unknown_id || pieces[i].empty()) continue;
      if (unit_length(pieces[i]) != pieces[i].size()) {
        throw Error("a character tokenizer has a token that is not one character", "one character for each token",
                    name_of_token(this->data(), id));
      }
      units_.push_back({pieces[i], id});
    }
    std::sort(units_.begin(), units_.end());
    for (size_t i = 1; i < units_.size(); ++i) {
      if (units_[i].first != units_[i - 1].first) continue;
      throw Error("a character tokenizer has two tokens for one character", "one token for each character",
                  "tokens " + std::to_string(units_[i - 1].second) + " and " + std::to_string(units_[i].second) +
                      " for " + in_quotes(units_[i].first));
    }
  }

 private:
  void append_ids(std::string_view text, bool, std::vector<TokenId>& ids, std::vector<Word>*) const override {
    for (size_t at = 0; at < text.size();) {
      const std::string_view unit = text.substr(at, unit_length(text.substr(at)));
      ids.push_back(id_of(unit));
      at += unit.size();
    }
  }

  TokenId id_of(std::string_view unit) const {
    const auto found = std::lower_bound(units_.begin(), units_.end(), unit,
                                        [](const Unit& a, std::string_view b) { return a.first < b; });
    if (found != units_.end() && found->first == unit) return found->second;
    if (data().unknown_id >= 0) return data().unknown_id;
    throw Error("a character has no token, and this tokenizer has none for the unknown",
                "one of its " + std::to_string(units_.size()) + " characters", in_quotes(unit));
  }

  size_t bytes_of(TokenId, std::string_view rest) const override { return unit_length(rest); }

  using Unit = std::pair<std::string_view, TokenId>;
  std::vector<Unit> units_;  // by bytes; views of data().pieces
};

}  // namespace

std::unique_ptr<Tokenizer> make_chars_tokenizer(TokenizerData data) {
  return std::make_unique<CharsTokenizer>(std::move(data));
}

}  // namespace ordinal
