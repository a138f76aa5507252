// tokenizer_data.h: a tokenizer as a model file keeps it: a few facts in the header, and lists as binary blobs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"

namespace ordinal {

// The lists that are kept apart, in the order in which they lie in the file.
inline constexpr size_t kBlobKinds = 3;
inline constexpr std::array<std::string_view, kBlobKinds> kBlobNames = {"pieces", "merges", "scores"};

// Which lists each kind of tokenizer has.
struct TokenizerKind {
  std::string_view name;
  std::array<bool, kBlobKinds> has;
};
inline constexpr std::array<TokenizerKind, 6> kTokenizerKinds = {{{"none", {false, false, false}},
                                                                  {"bpe", {true, true, false}},
                                                                  {"char_bpe", {true, true, false}},
                                                                  {"bytes", {true, false, false}},
                                                                  {"chars", {true, false, false}},
                                                                  {"scores", {true, false, true}}}};

// The kind called `name`. Throws Error, listing the kinds there are.
const TokenizerKind& tokenizer_kind(std::string_view name);

// Number of items of a list: pieces, merges or scores.
int64_t blob_count(const TokenizerData& data, size_t blob);

// Bytes that a list of `count` items takes at least, and whether that is all it takes.
struct BlobSize {
  int64_t bytes;
  bool exact;
};
BlobSize blob_size(size_t blob, int64_t count);

// A list as bytes, and back into `data`. Reading throws Error unless the bytes are such a list of `count` items, every
// id in it below `vocab_size`; nothing larger than the bytes themselves is allocated before that is known.
std::vector<std::byte> write_blob(const TokenizerData& data, size_t blob);
void read_blob(std::span<const std::byte> bytes, size_t blob, int64_t count, int64_t vocab_size, TokenizerData& data);

// Throws Error when facts or lists contradict themselves or the vocabulary, before they are written.
void check_tokenizer(const TokenizerData& data, int64_t vocab_size);

}  // namespace ordinal
