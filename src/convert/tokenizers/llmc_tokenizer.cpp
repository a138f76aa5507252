// llmc_tokenizer.cpp: llm.c's tokenizer file: the pieces of GPT-2's vocabulary, but not its merges.
//
//   256 little-endian uint32: 20240328, version (1 or 2), count of pieces, id of the end of text (version 2), zeros
//   per piece: a length byte, then that many bytes
//
// Merges are remade from the pieces: a BPE vocabulary numbers its pieces in the order in which they were learnt, so
// each piece, cut by the merges of those before it, leaves two pieces: the merge that made it.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "convert/sniff.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr uint32_t kTokenizerMagic = 20240328;
constexpr size_t kTokenizerHeaderBytes = 1024;
constexpr int64_t kGpt2Pieces = 50257, kTokenizerEndOfText = 50256;

class Remaker {
 public:
  explicit Remaker(TokenizerData& data, const std::string& name) : data_(data), name_(name) {}

  void remake(TokenId end_of_text) {
    std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
    for (size_t id = 0; id < data_.pieces.size(); ++id) {
      const std::string& piece = data_.pieces[id];
      if (piece.size() != 1 || static_cast<TokenId>(id) == end_of_text) continue;
      TokenId& place = byte_ids_[static_cast<uint8_t>(piece[0])];
      if (place >= 0) throw Error(name_ + " has two pieces for one byte", "each piece once", in_quotes(piece));
      place = static_cast<TokenId>(id);
    }
    for (size_t id = 0; id < data_.pieces.size(); ++id)
      if (data_.pieces[id].size() > 1 && static_cast<TokenId>(id) != end_of_text) learn(static_cast<TokenId>(id));
  }

 private:
  void learn(TokenId id) {
    const std::string& piece = data_.pieces[static_cast<size_t>(id)];
    cut(piece);
    if (parts_.size() != 2 || parts_[0] < 0 || parts_[1] < 0)
      throw Error("the merges of " + name_ + " cannot be remade from its pieces",
                  "piece " + std::to_string(id) + ", " + in_quotes(piece) + ", to be two earlier pieces",
                  std::to_string(parts_.size()) + " pieces",
                  "--vocab with a folder that has merges: vocab.json and merges.txt, or tokenizer.json");
    ranks_[pair_of(parts_[0], parts_[1])] = static_cast<int32_t>(data_.merges.size());
    data_.merges.push_back({parts_[0], parts_[1], id});
  }

  // Leaves in parts_ what the merges so far make of the piece.
  void cut(const std::string& piece) {
    parts_.clear();
    for (const char c : piece) parts_.push_back(byte_ids_[static_cast<uint8_t>(c)]);
    links_.resize(parts_.size());
    for (size_t i = 0; i + 1 < parts_.size(); ++i) links_[i] = rank_of(i);
    while (parts_.size() > 1) {
      const auto best = std::min_element(links_.begin(), links_.begin() + static_cast<ptrdiff_t>(parts_.size()) - 1);
      if (*best == kNoMerge) return;
      const size_t at = static_cast<size_t>(best - links_.begin());
      parts_[at] = data_.merges[static_cast<size_t>(*best)].result;
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(at) + 1);
      links_.erase(best);
      if (at > 0) links_[at - 1] = rank_of(at - 1);
      if (at + 1 < parts_.size()) links_[at] = rank_of(at);
    }
  }

  int32_t rank_of(size_t at) const {
    const auto place = ranks_.find(pair_of(parts_[at], parts_[at + 1]));
    return place == ranks_.end() ? kNoMerge : place->second;
  }

  static uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  static constexpr int32_t kNoMerge = std::numeric_limits<int32_t>::max();
  TokenizerData& data_;
  const std::string& name_;
  TokenId byte_ids_[256];
  std::unordered_map<uint64_t, int32_t> ranks_;  // place in data_.merges by pair
  std::vector<TokenId> parts_;
  std::vector<int32_t> links_;  // rank of the merge of parts i and i + 1
};

}  // namespace

bool is_llmc_tokenizer(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && read_u32(bytes, 0) == kTokenizerMagic;
}

TokenizerData read_llmc_tokenizer(std::span<const std::byte> bytes, const std::string& name, const Vocabulary& wanted) {
  if (bytes.size() < kTokenizerHeaderBytes)
    throw Error(name + " is truncated", "a header of 1,024 bytes",
                "a size of " + std::to_string(bytes.size()) + " bytes");
  if (!is_llmc_tokenizer(bytes))
    throw Error(name + " is not an llm.c tokenizer", "magic number 20240328", std::to_string(read_u32(bytes, 0)));
  const uint32_t version = read_u32(bytes, 4), count = read_u32(bytes, 8);
  if (version != 1 && version != 2)
    throw Error(name + " is an llm.c tokenizer of an unknown version", "1 or 2", std::to_string(version));
  if (count == 0 || (wanted.vocab_size > 0 && count > wanted.vocab_size))
    throw Error(name + " does not fit the model's vocabulary", "1 to " + std::to_string(wanted.vocab_size) + " pieces",
                std::to_string(count) + " pieces");
  if (version == 1 && count != kGpt2Pieces)
    throw Error(name + " does not say which piece ends a text", "version 2, or GPT-2's 50257 pieces",
                "version 1 with " + std::to_string(count) + " pieces");
  const uint32_t end_of_text = version == 1 ? kTokenizerEndOfText : read_u32(bytes, 12);
  if (end_of_text >= count)
    throw Error(name + " has a wrong end of text", "an id below " + std::to_string(count), std::to_string(end_of_text));

  TokenizerData data;
  data.kind = "bpe";
  data.bos_id = wanted.bos_id;
  if (bytes.size() - kTokenizerHeaderBytes < count)
    throw Error(name + " is truncated", std::to_string(count) + " pieces",
                "a size of " + std::to_string(bytes.size()) + " bytes");
  data.pieces.resize(static_cast<size_t>(std::max<int64_t>(wanted.vocab_size, count)));
  size_t at = kTokenizerHeaderBytes;
  for (uint32_t id = 0; id < count; ++id) {
    const size_t length = at < bytes.size() ? static_cast<size_t>(bytes[at]) : 0;
    if (at >= bytes.size() || length > bytes.size() - at - 1)
      throw Error(name + " is truncated", std::to_string(count) + " pieces", std::to_string(id) + " pieces");
    if (length == 0)
      throw Error(name + " has an empty piece", "pieces of 1 to 255 bytes", "piece " + std::to_string(id));
    data.pieces[id] = as_text(bytes.subspan(at + 1, length));
    at += 1 + length;
  }
  if (at != bytes.size())
    throw Error(name + " has trailing bytes", grouped(static_cast<int64_t>(at)) + " bytes",
                "a size of " + grouped(static_cast<int64_t>(bytes.size())) + " bytes");
  data.special_ids = {static_cast<TokenId>(end_of_text)};
  Remaker(data, name).remake(static_cast<TokenId>(end_of_text));
  return data;
}

}  // namespace ordinal::convert
