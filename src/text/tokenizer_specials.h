// tokenizer_specials.h: finds the names of special tokens in a text.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"

namespace ordinal {

class SpecialNames {
 public:
  // Takes the pieces of data.special_ids that are not empty; an id may be listed twice. Throws Error for a name that
  // two ids share, and for one longer than 1024 bytes, so that looking for names takes a time linear in the text.
  explicit SpecialNames(const TokenizerData& data);

  struct Match {
    TokenId id = -1;  // -1: none
    size_t length = 0;
  };
  // The longest name that `text` begins with.
  Match at_front(std::string_view text) const;

 private:
  struct Name {
    std::string bytes;
    TokenId id;
  };
  std::vector<Name> names_;  // in the order of their bytes
  std::bitset<256> first_bytes_;
};

}  // namespace ordinal
