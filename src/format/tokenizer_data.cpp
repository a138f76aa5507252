// tokenizer_data.cpp: see tokenizer_data.h.
#include "format/tokenizer_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/words.h"
#include "format/tokenizer_facts.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

enum Blob : size_t { kPieces, kMerges, kScores };

void check_merge(const TokenizerData::Merge& merge, int64_t vocab_size) {
  for (const TokenId id : {merge.left, merge.right, merge.result}) check_tokenizer_id("merges", id, 0, vocab_size);
}

void check_score(float score) {
  if (!std::isfinite(score))
    throw Error("a tokenizer's score is not a number", "finite numbers", std::to_string(score));
}

uint32_t word_at(std::span<const std::byte> bytes, int64_t index) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + 4 * index, 4);
  return word;
}

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), from, from + sizeof value);
}

void check_counts(size_t blob, uint32_t found, int64_t expected) {
  if (found != expected)
    throw Error("the tokenizer's " + std::string(kBlobNames[blob]) + " contradict the header",
                std::to_string(expected) + " of them", std::to_string(found));
}

void read_pieces(std::span<const std::byte> bytes, int64_t count, TokenizerData& data) {
  check_counts(kPieces, word_at(bytes, 0), count);
  const int64_t text_bytes = static_cast<int64_t>(bytes.size()) - 4 - 4 * count;
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += word_at(bytes, 1 + i);
  if (total != text_bytes)
    throw Error("the tokenizer's pieces do not fill their place", std::to_string(text_bytes) + " bytes of text",
                std::to_string(total));
  const char* from = reinterpret_cast<const char*>(bytes.data()) + 4 + 4 * count;
  data.pieces.clear();
  data.pieces.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t length = word_at(bytes, 1 + i);
    data.pieces.emplace_back(from, length);
    from += length;
  }
}

void read_merges(std::span<const std::byte> bytes, int64_t count, int64_t vocab_size, TokenizerData& data) {
  check_counts(kMerges, word_at(bytes, 0), count);
  data.merges.clear();
  data.merges.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto id = [&](int64_t part) { return static_cast<TokenId>(word_at(bytes, 1 + 3 * i + part)); };
    data.merges.push_back({id(0), id(1), id(2)});
    check_merge(data.merges.back(), vocab_size);
  }
}

}  // namespace

const TokenizerKind& tokenizer_kind(std::string_view name) {
  for (const TokenizerKind& kind : kTokenizerKinds)
    if (kind.name == name) return kind;
  throw Error("unknown kind of tokenizer " + in_quotes(name), joined(kTokenizerKinds, ", ", &TokenizerKind::name),
              in_quotes(name));
}

int64_t blob_count(const TokenizerData& data, size_t blob) {
  const std::array<size_t, kBlobKinds> counts = {data.pieces.size(), data.merges.size(), data.scores.size()};
  return static_cast<int64_t>(counts[blob]);
}

BlobSize blob_size(size_t blob, int64_t count) {
  const std::array<BlobSize, kBlobKinds> sizes = {{{4 + 4 * count, false}, {4 + 12 * count, true}, {4 * count, true}}};
  return sizes[blob];
}

std::vector<std::byte> write_blob(const TokenizerData& data, size_t blob) {
  std::vector<std::byte> out;
  if (blob == kScores) {
    for (const float score : data.scores) put(out, score);
    return out;
  }
  put(out, static_cast<uint32_t>(blob_count(data, blob)));
  if (blob == kMerges) {
    for (const TokenizerData::Merge& merge : data.merges)
      for (const TokenId id : {merge.left, merge.right, merge.result}) put(out, id);
    return out;
  }
  for (const std::string& piece : data.pieces) put(out, static_cast<uint32_t>(piece.size()));
  for (const std::string& piece : data.pieces) {
    const auto* const from = reinterpret_cast<const std::byte*>(piece.data());
    out.insert(out.end(), from, from + piece.size());
  }
  return out;
}

void read_blob(std::span<const std::byte> bytes, size_t blob, int64_t count, int64_t vocab_size, TokenizerData& data) {
  const BlobSize size = blob_size(blob, count);
  const int64_t found = static_cast<int64_t>(bytes.size());
  if (size.exact ? found != size.bytes : found < size.bytes)
    throw Error("the tokenizer's " + std::string(kBlobNames[blob]) + " have the wrong size",
                std::string(size.exact ? "" : "at least ") + std::to_string(size.bytes) + " bytes",
                std::to_string(found));
  if (blob == kPieces) return read_pieces(bytes, count, data);
  if (blob == kMerges) return read_merges(bytes, count, vocab_size, data);
  data.scores.resize(static_cast<size_t>(count));
  if (count > 0) std::memcpy(data.scores.data(), bytes.data(), bytes.size());
  for (const float score : data.scores) check_score(score);
}

void check_tokenizer(const TokenizerData& data, int64_t vocab_size) {
  check_tokenizer_facts(data, vocab_size);
  const TokenizerKind& kind = tokenizer_kind(data.kind);
  for (size_t blob = 0; blob < kBlobKinds; ++blob) {
    const int64_t count = blob_count(data, blob);
    if (!kind.has[blob] && count != 0)
      throw Error("a tokenizer of kind " + data.kind + " has no " + std::string(kBlobNames[blob]), "none",
                  std::to_string(count));
    if (kind.has[blob] && blob != kMerges && count != vocab_size)
      throw Error("the tokenizer's " + std::string(kBlobNames[blob]) + " do not fit the model's vocabulary",
                  std::to_string(vocab_size) + ", one an id (an empty piece for an id that stands for nothing)",
                  std::to_string(count));
    if (count > INT32_MAX)
      throw Error("the tokenizer has too many " + std::string(kBlobNames[blob]), "at most " + std::to_string(INT32_MAX),
                  std::to_string(count));
  }
  for (const std::string& piece : data.pieces)
    if (piece.size() > INT32_MAX) throw Error("a tokenizer's piece is too long", "under 2 GiB", "more");
  for (const TokenizerData::Merge& merge : data.merges) check_merge(merge, vocab_size);
  for (const float score : data.scores) check_score(score);
}

}  // namespace ordinal
