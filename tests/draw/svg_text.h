// svg_text.h: a strict little reader of XML, with which tests read numbers back out of pictures.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace test {

// One element, in document order.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // between its tags, without that of elements inside
  size_t depth = 0;

  bool has(const std::string& attribute, std::string_view value) const;
  std::vector<double> numbers(const std::string& attribute) const;  // NaN for "null"
};

// Fails the test for text that is not well-formed: unclosed or crossed tags, bare & or <, an attribute twice, bytes
// that XML forbids, more than one root.
std::vector<Element> parse_svg(const std::string& text);

// Those with that value of that attribute.
std::vector<Element> elements_with(const std::vector<Element>& all, const std::string& attribute,
                                   std::string_view value);

}  // namespace test
