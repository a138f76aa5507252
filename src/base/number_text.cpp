// number_text.cpp: see number_text.h.
#include "base/number_text.h"

#include <array>
#include <charconv>

namespace ordinal {
namespace {

template <class... Format>
std::string text_of(Format... format) {
  std::array<char, 400> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), format...).ptr};
}

}  // namespace

std::string fixed(double value, int digits) { return text_of(value, std::chars_format::fixed, digits); }
std::string significant(double value, int digits) { return text_of(value, std::chars_format::general, digits); }
std::string shortest(float value) { return text_of(value); }

}  // namespace ordinal
