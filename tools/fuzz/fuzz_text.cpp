// fuzz_text.cpp: any text through byte-level BPE: decoding what was encoded gives the same bytes, offsets cover them
// all.
#include <algorithm>

#include "fuzz.h"
#include "ordinal/tokenizer.h"

namespace {

// Every byte, and merges that make runs of letters and blanks of several lengths.
ordinal::TokenizerData bytes_and_merges() {
  ordinal::TokenizerData data;
  data.kind = "bpe";
  for (int byte = 0; byte < 256; ++byte) data.pieces.emplace_back(1, static_cast<char>(byte));
  for (const char* pair : {"ab", "  ", " a", "\xc3\xa9", "aa", "\n\n", "''", "'s"}) {
    const auto id = static_cast<ordinal::TokenId>(data.pieces.size());
    data.merges.push_back({static_cast<uint8_t>(pair[0]), static_cast<uint8_t>(pair[1]), id});
    data.pieces.emplace_back(pair);
    data.merges.push_back({id, id, id + 1});
    data.pieces.push_back(data.pieces.back() + data.pieces.back());
  }
  data.special_ids = {static_cast<ordinal::TokenId>(data.pieces.size())};
  data.pieces.emplace_back("<|end|>");
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = ordinal::make_tokenizer(bytes_and_merges());
  const std::string_view text = fuzz::text_of(data, size);
  for (const bool special : {false, true}) {
    const auto tokens = tokenizer->encode_with_offsets(text, {.parse_special = special});
    std::vector<ordinal::TokenId> ids;
    int64_t end = 0;
    for (const ordinal::TextToken& token : tokens) {
      if (token.begin != end || token.end <= token.begin) std::abort();
      end = token.end;
      ids.push_back(token.id);
    }
    if (end != static_cast<int64_t>(size) || tokenizer->decode(ids, true) != text) std::abort();
    ordinal::Utf8Stream stream;
    std::string streamed;
    for (const ordinal::TokenId id : ids) streamed += stream.push(tokenizer->piece(id));
    if (streamed + stream.finish() != text) std::abort();
  }
  return 0;
}
