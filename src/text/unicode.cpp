// unicode.cpp: see unicode.h. Unicode Standard Annex 15 (normal forms), utf8proc's tables.
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace ordinal {
namespace {

using Category = utf8proc_category_t;

Category category_of(char32_t character) { return utf8proc_category(static_cast<utf8proc_int32_t>(character)); }

constexpr bool is_letter(Category category) {
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
constexpr bool is_mark(Category category) {
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}
constexpr bool is_number(Category category) {
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_between(char32_t character, char32_t low, char32_t high) { return character >= low && character <= high; }

int combining_class(char32_t character) {
  return static_cast<int>(utf8proc_get_property(static_cast<utf8proc_int32_t>(character))->combining_class);
}

constexpr bool composes(NormalForm form) { return form == NormalForm::nfc || form == NormalForm::nfkc; }
constexpr bool is_compatible(NormalForm form) { return form == NormalForm::nfkc || form == NormalForm::nfkd; }

// The most characters that one decomposes to is 18.
constexpr size_t kLongestDecomposition = 32;
using Decomposed = std::array<utf8proc_int32_t, kLongestDecomposition>;

size_t decompose(char32_t character, NormalForm form, Decomposed& into) {
  int last_class = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
                                                      (is_compatible(form) ? UTF8PROC_COMPAT : 0));
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), into.data(),
                                             kLongestDecomposition, options, &last_class);
  if (count >= 1 && count <= static_cast<utf8proc_ssize_t>(kLongestDecomposition)) return static_cast<size_t>(count);
  into[0] = static_cast<utf8proc_int32_t>(character);  // a character that utf8proc does not know
  return 1;
}

// Whether nothing before this (decomposed) character can change it or be changed by it: it is no mark, no vowel or
// final consonant of Hangul that composes, and none of the few letters that are second in a composition. U+11A7 does
// not compose, but utf8proc 2.8 would swallow it behind a syllable: here it never stands behind one.
bool begins_stretch(utf8proc_int32_t first) {
  const auto character = static_cast<char32_t>(first);
  return !is_mark(category_of(character)) && combining_class(character) == 0 &&
         !is_between(character, 0x1161, 0x1175) && !is_between(character, 0x11a8, 0x11c2) &&
         !is_between(character, 0x16d63, 0x16d6a);
}

}  // namespace

char32_t take_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  char32_t character = first;
  size_t length = 1;
  if (first >= 0xf0) {
    character = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    length = 4;
  } else if (first >= 0xe0) {
    character = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    length = 3;
  } else if (first >= 0xc0) {
    character = (first & 0x1f) << 6 | (byte(1) & 0x3f);
    length = 2;
  }
  at += length;
  return character;
}

void append_character(char32_t character, std::string& text) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length));
}

CharClass class_beyond_ascii(char32_t character) {
  if (is_blank(character)) return CharClass::blank;
  const Category category = category_of(character);
  return is_letter(category) ? CharClass::letter : is_number(category) ? CharClass::number : CharClass::other;
}

bool is_blank(char32_t character) {
  if (character < 0x80) return character == ' ' || is_between(character, '\t', '\r');
  return character == 0x85 || character == 0xa0 || character == 0x1680 || is_between(character, 0x2000, 0x200a) ||
         is_between(character, 0x2028, 0x2029) || character == 0x202f || character == 0x205f || character == 0x3000;
}

bool is_word_character(char32_t character) {
  const Category category = category_of(character);
  return is_letter(category) || is_mark(category) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC ||
         is_between(character, 0x200c, 0x200d) ||
         // letters in circles and squares: Other_Alphabetic
         is_between(character, 0x24b6, 0x24e9) || is_between(character, 0x1f130, 0x1f149) ||
         is_between(character, 0x1f150, 0x1f169) || is_between(character, 0x1f170, 0x1f189);
}

void append_lowercase(char32_t character, std::string& text) {
  if (character == 0x130) {
    text += "i\xcc\x87";
  } else {
    append_character(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))), text);
  }
}

size_t Normalizer::append(std::string_view text, size_t begin, std::string& normal) {
  characters_.clear();
  size_t end = begin;
  while (end < text.size() && utf8_length(text.substr(end)) > 0) {
    size_t behind = end;
    const char32_t character = take_character(text, behind);
    Decomposed parts;
    const size_t count = decompose(character, form_, parts);
    if (end > begin && begins_stretch(parts[0])) break;
    characters_.append(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count));
    end = behind;
  }
  // Marks in the order of their classes, between characters of class 0.
  for (size_t i = 0; i < characters_.size(); ++i) {
    size_t last = i;
    while (last < characters_.size() && combining_class(characters_[last]) != 0) ++last;
    const auto from = characters_.begin() + static_cast<ptrdiff_t>(i),
               to = characters_.begin() + static_cast<ptrdiff_t>(last);
    std::stable_sort(from, to, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    i = last;
  }
  if (composes(form_) && characters_.size() > 1) {
    const auto left = utf8proc_normalize_utf32(reinterpret_cast<utf8proc_int32_t*>(characters_.data()),
                                               static_cast<utf8proc_ssize_t>(characters_.size()),
                                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    if (left >= 0) characters_.resize(static_cast<size_t>(left));
  }
  for (const char32_t character : characters_) append_character(character, normal);
  return end;
}

}  // namespace ordinal
