// letters.h: a tokenizer for tests that only decode: every token is one letter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ordinal/tokenizer.h"

namespace test {

// Token i is letter i % letters, from a on.
class Letters final : public ordinal::Tokenizer {
 public:
  Letters(int64_t size, int64_t letters) : Tokenizer(data_of(size, letters)) {}
  std::vector<ordinal::TextToken> encode_with_offsets(std::string_view, const ordinal::EncodeOptions&) const override {
    return {};
  }

 private:
  static ordinal::TokenizerData data_of(int64_t size, int64_t letters) {
    ordinal::TokenizerData data;
    data.kind = "bytes";
    for (int64_t i = 0; i < size; ++i) data.pieces.push_back(std::string(1, static_cast<char>('a' + i % letters)));
    return data;
  }
};

}  // namespace test
