// gpt2_vocabulary.h: GPT-2's vocabulary as OpenAI published it, read without the project's own importer.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ordinal/model_file.h"

namespace test {

// The bytes that a piece written with printable stand-ins means: 33-126, 161-172 and 174-255 stand for themselves, the
// other bytes in order for the characters from U+0100 on.
inline std::string bytes_of_stand_ins(std::string_view piece) {
  static const std::map<unsigned, char> kBytes = [] {
    std::map<unsigned, char> bytes;
    unsigned next = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      bytes[itself ? b : next++] = static_cast<char>(b);
    }
    return bytes;
  }();
  std::string bytes;
  for (size_t i = 0; i < piece.size(); ++i) {
    unsigned code = static_cast<unsigned char>(piece[i]);
    if (code >= 0x80) code = (code & 0x1f) << 6 | (static_cast<unsigned char>(piece.at(++i)) & 0x3f);
    bytes += kBytes.at(code);
  }
  return bytes;
}

// `folder` holds encoder.json (piece -> id) and vocab.bpe (a version line, then a merge a line, best first).
inline ordinal::TokenizerData load_gpt2_vocabulary(const std::string& folder) {
  ordinal::TokenizerData data;
  data.kind = "bpe";
  std::ifstream encoder(folder + "/encoder.json"), merges(folder + "/vocab.bpe");
  if (!encoder || !merges) throw std::runtime_error("no encoder.json or vocab.bpe in " + folder);
  const nlohmann::json ids = nlohmann::json::parse(encoder);
  data.pieces.resize(ids.size());
  for (const auto& [piece, id] : ids.items()) {
    const bool special = piece == "<|endoftext|>";
    data.pieces.at(id.get<size_t>()) = special ? piece : bytes_of_stand_ins(piece);
    if (special) data.special_ids.push_back(id.get<ordinal::TokenId>());
  }
  std::string line, left, right;
  std::getline(merges, line);
  while (merges >> left >> right) {
    const auto id = [&](const std::string& piece) { return ids.at(piece).get<ordinal::TokenId>(); };
    data.merges.push_back({id(left), id(right), id(left + right)});
  }
  data.bos_id = data.special_ids.at(0);
  return data;
}

}  // namespace test
