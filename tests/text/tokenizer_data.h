// tokenizer_data.h: vocabularies and cases for the tokenizer tests, and checks that hold for every tokenizer.
#pragma once

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/tokenizer.h"
#include "support.h"

namespace test {

inline std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return bytes;
}

inline nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(read_file(repository("tests/goldens/" + name)));
}

// One row of "vocabularies" in a golden file.
inline ordinal::TokenizerData golden_vocabulary(const nlohmann::json& row) {
  ordinal::TokenizerData data;
  const std::string pieces = row.at("pieces");
  for (size_t begin = 0; begin <= pieces.size();) {
    const size_t end = std::min(pieces.find(' ', begin), pieces.size());
    data.pieces.push_back(from_hex(std::string_view(pieces).substr(begin, end - begin)));
    begin = end + 1;
  }
  data.special_ids = row.at("special").get<std::vector<ordinal::TokenId>>();
  if (row.contains("scores")) {
    data.kind = "scores";
    data.scores = row.at("scores").get<std::vector<float>>();
    data.bos_id = row.at("bos");
    data.adds_bos = true;
  } else {
    data.kind = "bpe";
    data.split = row.at("split");
    data.add_prefix_space = row.at("prefix_space");
    data.unknown_id = row.at("unknown");
    for (const auto& merge : row.at("merges")) data.merges.push_back({merge[0], merge[1], merge[2]});
  }
  return data;
}

// The vocabulary called `name` of a golden file.
inline ordinal::TokenizerData golden_vocabulary(const std::string& file, const std::string& name) {
  const nlohmann::json goldens = golden(file);
  for (const auto& row : goldens.at("vocabularies"))
    if (row.at("name") == name) return golden_vocabulary(row);
  FAIL("no vocabulary called ", name);
  return {};
}

// What is true of any text and tokenizer: encode and encode_with_offsets give the same ids, and the offsets cut the
// whole text, in order and without a gap.
inline void check_offsets(const ordinal::Tokenizer& tokenizer, std::string_view text,
                          const ordinal::EncodeOptions& options = {}) {
  std::vector<ordinal::TokenId> ids;
  int64_t end = 0;
  for (const ordinal::TextToken& token : tokenizer.encode_with_offsets(text, options)) {
    CHECK(token.begin == end);
    CHECK(token.end >= token.begin);
    end = token.end;
    ids.push_back(token.id);
  }
  CHECK(end == static_cast<int64_t>(text.size()));
  CHECK(ids == tokenizer.encode(text, options));
}

// Bytes of all sorts: mostly text of every alphabet, some of it cut inside characters, some not UTF-8 at all.
inline std::string random_bytes(Random& random, size_t length) {
  static const std::string kText =
      "the cat's  at 12 \xc2\xbd \xe2\x82\xac\xf0\x9f\x9a\xa2\xe7\x81\xaf\xd9\x85 \n\n\t caf\xc3\xa9!? <|end|> "
      "\xc2\xa0 x";
  std::string bytes;
  while (bytes.size() < length) {
    const auto begin = static_cast<size_t>(random.below(static_cast<int64_t>(kText.size())));
    if (random.below(4) == 0) {
      bytes += static_cast<char>(random.below(256));
    } else {
      bytes += kText.substr(begin, static_cast<size_t>(random.below(12)));
    }
  }
  bytes.resize(length);
  return bytes;
}

// Processor time, which does not grow when other programs use the machine.
template <class Action>
double seconds_of(Action&& action) {
  const std::clock_t start = std::clock();
  action();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// How much slower than a plain build on a PC this one may be: checked builds are, and so is an emulated processor.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__) || !defined(__x86_64__)
inline constexpr double kPatience = 20.0;
#else
inline constexpr double kPatience = 1.0;
#endif

}  // namespace test
