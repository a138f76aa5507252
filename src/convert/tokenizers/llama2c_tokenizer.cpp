// llama2c_tokenizer.cpp: llama2.c's tokenizer file: SentencePiece's pieces with their scores.
//
//   little-endian int32: length of the longest piece; then per piece float32 score, int32 length, that many bytes
//
// The file does not say how many pieces it has; the model does. Ids 0, 1 and 2 are unknown, start and end of a text,
// 3 to 258 are the bytes.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "convert/sniff.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr TokenId kUnknown = 0, kBos = 1, kEos = 2, kFirstByte = 3;
constexpr int64_t kFewestPieces = kFirstByte + 256;

// The spellings of a byte's piece: <0x0A>, and in files of the first exporters the character of that number.
bool spells_byte(std::string_view piece, uint8_t byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string hex = {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
  const std::string character =
      byte < 0x80 ? std::string(1, static_cast<char>(byte))
                  : std::string{static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3f))};
  return piece == hex || piece == character;
}

// As many as there are up to the end, or up to a length that leads past it.
int64_t count_pieces(std::span<const std::byte> bytes) {
  int64_t count = 0;
  for (size_t at = 4; at < bytes.size() && bytes.size() - at >= 8; ++count) {
    const int32_t length = read_i32(bytes, at + 4);
    if (length < 0 || static_cast<size_t>(length) > bytes.size() - at - 8) break;
    at += 8 + static_cast<size_t>(length);
  }
  return std::max<int64_t>(count, 1);
}

// Exporters wrap the names of start and end in line breaks, for looks.
std::string without_line_breaks(const std::string& name) {
  const size_t first = name.find_first_not_of('\n'), last = name.find_last_not_of('\n');
  return first == std::string::npos ? name : name.substr(first, last - first + 1);
}

}  // namespace

TokenizerData read_llama2c_tokenizer(std::span<const std::byte> bytes, const std::string& name,
                                     const Vocabulary& wanted) {
  if (wanted.vocab_size == 0)
    return read_llama2c_tokenizer(bytes, name, {count_pieces(bytes), wanted.bos_id, wanted.note});
  const std::string count = std::to_string(wanted.vocab_size) + " pieces, the model's vocabulary";
  const auto fail = [&](const std::string& what, const std::string& found) {
    return Error(name + what, count, found, "--vocab with the tokenizer that belongs to the model");
  };
  if (wanted.vocab_size < kFewestPieces)
    throw Error(name + " cannot be the model's tokenizer", "at least 259 tokens: three, then one for every byte",
                count);
  // Each piece takes 8 bytes and its text, so that a wrong count is seen before anything is set aside for it.
  if (bytes.size() < 4 || static_cast<int64_t>((bytes.size() - 4) / 8) < wanted.vocab_size)
    throw fail(" is too short", "a size of " + grouped(static_cast<int64_t>(bytes.size())) + " bytes");
  const int32_t longest = read_i32(bytes, 0);
  if (longest < 1) throw fail(" is no llama2.c tokenizer", "a longest piece of " + std::to_string(longest) + " bytes");

  TokenizerData data;
  data.kind = "scores";
  data.adds_bos = true;
  data.bos_id = kBos;
  data.unknown_id = kUnknown;
  size_t at = 4;
  for (int64_t id = 0; id < wanted.vocab_size; ++id) {
    if (bytes.size() - at < 8) throw fail(" is truncated", std::to_string(id) + " pieces");
    const float score = read_f32(bytes, at);
    const int32_t length = read_i32(bytes, at + 4);
    at += 8;
    if (!std::isfinite(score)) throw fail(" is damaged", "a score that is no number, of piece " + std::to_string(id));
    if (length < 0 || length > longest || static_cast<size_t>(length) > bytes.size() - at)
      throw fail(" is damaged or truncated", "a length of " + std::to_string(length) + " bytes of piece " +
                                                 std::to_string(id) + "; the longest has " + std::to_string(longest));
    const std::string_view piece = as_text(bytes.subspan(at, static_cast<size_t>(length)));
    const int64_t byte = id - kFirstByte;
    if (byte >= 0 && byte < 256) {
      if (!spells_byte(piece, static_cast<uint8_t>(byte)))
        throw fail(" is no llama2.c tokenizer",
                   "piece " + std::to_string(id) + " is " + in_quotes(piece) + ", not byte " + std::to_string(byte));
      data.pieces.emplace_back(1, static_cast<char>(byte));
    } else {
      data.pieces.emplace_back(piece);
    }
    data.scores.push_back(score);
    at += static_cast<size_t>(length);
  }
  if (at != bytes.size())
    throw fail(" is longer than the model's vocabulary",
               grouped(static_cast<int64_t>(bytes.size() - at)) + " bytes more, so more pieces");
  for (const TokenId id : {kUnknown, kBos, kEos}) {
    std::string& piece = data.pieces[static_cast<size_t>(id)];
    piece = without_line_breaks(piece);
    data.special_ids.push_back(id);
  }
  return data;
}

std::optional<TokenizerData> find_llama2c_tokenizer(const std::string& folder, std::span<const std::string> candidates,
                                                    const Vocabulary& wanted) {
  namespace fs = std::filesystem;
  for (const std::string& candidate : candidates) {
    const std::string path = (fs::path(folder) / candidate).string();
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    try {
      return read_llama2c_tokenizer(MappedFile::open(path)->bytes(), path, wanted);
    } catch (const Error& error) {
      say(wanted.note, path + " is not the model's tokenizer: " + error.summary() + " (" + error.found() + ")");
    }
  }
  return std::nullopt;
}

}  // namespace ordinal::convert
