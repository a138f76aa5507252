// tokenizer_specials.h: finds tokens in a text by their names: special tokens, and others that were added.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model_file.h"

namespace ordinal {

class TextChanges;

// A part of a text: plain, or the name of a token with the blanks that it takes.
struct NamedPart {
  size_t begin, end;
  TokenId id = -1;  // -1 for plain text
};

// A token that is looked for by its name.
struct NamedToken {
  std::string name;
  TokenizerData::Added how;
};

// The tokens of special_ids and `added` whose names are looked for in the text as it is, or in the changed text, where
// names change with it. An id may be listed twice. Throws Error for a name that two ids share, and for one longer than
// 1024 bytes, so that looking for names takes a time linear in the text.
std::vector<NamedToken> named_tokens(const TokenizerData& data, bool normalized, const TextChanges& changes);

class SpecialNames {
 public:
  explicit SpecialNames(std::vector<NamedToken> names);

  // The parts of a text, left to right. At each place the longest name counts. Names of special tokens are text like
  // any other unless `parse_special`, but still no place where another name may begin.
  std::vector<NamedPart> parts_of(std::string_view text, bool parse_special) const;

 private:
  struct Match {
    const NamedToken* token = nullptr;
    size_t length = 0;
  };
  Match at_front(std::string_view text) const;  // the longest name that `text` begins with

  std::vector<NamedToken> names_;  // in the order of their bytes
  std::bitset<256> first_bytes_;
  bool has_always_ = false;  // whether some are found even when special tokens are not asked for
};

}  // namespace ordinal
