// tokenizer_bytes.cpp: a token for every byte.
#include <array>
#include <utility>

#include "ordinal/error.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {

using ByteIds = std::array<TokenId, 256>;

// The token of every byte. Throws Error unless each byte has exactly one.
ByteIds byte_ids(const TokenizerData& data) {
  ByteIds ids;
  ids.fill(-1);
  const std::vector<bool> special = special_flags(data);
  for (size_t i = 0; i < data.pieces.size(); ++i) {
    const std::string& piece = data.pieces[i];
    if (special[i] || piece.size() != 1) continue;
    TokenId& id = ids[static_cast<unsigned char>(piece[0])];
    if (id >= 0) {
      throw Error("a byte tokenizer has two tokens for one byte", "one token for each of the 256 bytes",
                  "tokens " + std::to_string(id) + " and " + std::to_string(i) + " for " + in_quotes(piece));
    }
    id = static_cast<TokenId>(i);
  }
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    if (ids[byte] >= 0) continue;
    throw Error("a byte tokenizer has no token for a byte", "one token for each of the 256 bytes",
                "none for " + in_quotes(std::string(1, static_cast<char>(byte))));
  }
  return ids;
}

class BytesTokenizer final : public TokenizerBase {
 public:
  BytesTokenizer(TokenizerData data, const ByteIds& ids) : TokenizerBase(std::move(data), "none", "kept"), ids_(ids) {}

 private:
  void append_ids(std::string_view text, bool, std::vector<TokenId>& ids, std::vector<Word>*) const override {
    ids.reserve(ids.size() + text.size());
    for (const char byte : text) ids.push_back(ids_[static_cast<unsigned char>(byte)]);
  }

  const ByteIds ids_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bytes_tokenizer(TokenizerData data) {
  const ByteIds ids = byte_ids(data);
  return std::make_unique<BytesTokenizer>(std::move(data), ids);
}

}  // namespace ordinal
