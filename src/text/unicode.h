// unicode.h: what tokenizers ask of characters: kinds, lower case, normal forms. unicode.cpp alone knows utf8proc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordinal {

enum class CharClass : uint8_t { letter, number, blank, other };  // L, N, White_Space, the rest

// The character at `at` of `text`, where a well-formed one stands; `at` moves behind it.
char32_t take_character(std::string_view text, size_t& at);
void append_character(char32_t character, std::string& text);

CharClass class_beyond_ascii(char32_t character);

inline constexpr auto kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  for (size_t i = 0; i < classes.size(); ++i) {
    const bool is_letter = (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z');
    classes[i] = is_letter                              ? CharClass::letter
                 : i >= '0' && i <= '9'                 ? CharClass::number
                 : i == ' ' || (i >= '\t' && i <= '\r') ? CharClass::blank
                                                        : CharClass::other;
  }
  return classes;
}();
inline CharClass class_of(char32_t character) {
  return character < kAsciiClasses.size() ? kAsciiClasses[character] : class_beyond_ascii(character);
}

// A letter, mark, digit, connector or joiner: what \w means in a pattern.
bool is_word_character(char32_t character);
bool is_blank(char32_t character);

// Lower case, character by character: U+0130 becomes two, a sigma at a word's end is like any other.
void append_lowercase(char32_t character, std::string& text);

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

// Unicode's normal form of a text, stretch by stretch: each is as short as it can be and normal on its own.
class Normalizer {
 public:
  explicit Normalizer(NormalForm form) : form_(form) {}

  // The end of the stretch that begins at `begin` of `text`, which is well-formed there, and appends its normal form.
  size_t append(std::string_view text, size_t begin, std::string& normal);

 private:
  NormalForm form_;
  std::u32string characters_;  // of the stretch, decomposed
};

}  // namespace ordinal
