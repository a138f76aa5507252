// svg_text.cpp: see svg_text.h.
#include "svg_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace test {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '_'; }

void check_text(std::string_view text) {
  bool fine = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\n') fine = false;
    if (text[i] != '&') continue;
    const std::string_view rest = text.substr(i, 6);
    bool entity = false;
    for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;"}) entity = entity || rest.starts_with(known);
    fine = fine && entity;
  }
  CHECK_MESSAGE(fine, "a control character or a bare &");
}

}  // namespace

bool Element::has(const std::string& attribute, std::string_view value) const {
  const auto found = attributes.find(attribute);
  return found != attributes.end() && found->second == value;
}

std::vector<double> Element::numbers(const std::string& attribute) const {
  std::vector<double> values;
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return values;
  std::istringstream list(found->second);
  for (std::string word; list >> word;)
    values.push_back(word == "null" ? std::numeric_limits<double>::quiet_NaN() : std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<Element> parse_svg(const std::string& text) {
  std::vector<Element> all;
  std::vector<size_t> open;
  size_t at = 0;
  while (at < text.size()) {
    const size_t tag = std::min(text.find('<', at), text.size());
    const std::string_view between = std::string_view(text).substr(at, tag - at);
    check_text(between);
    if (!open.empty()) all[open.back()].text += between;
    REQUIRE_MESSAGE((!open.empty() || between.find_first_not_of('\n') == std::string_view::npos), "text outside");
    if (tag == text.size()) break;
    const size_t end = text.find('>', tag);
    REQUIRE(end != std::string::npos);
    at = end + 1;
    if (text[tag + 1] == '/') {
      REQUIRE(!open.empty());
      REQUIRE(all[open.back()].name == text.substr(tag + 2, end - tag - 2));
      open.pop_back();
      continue;
    }
    REQUIRE_MESSAGE((!open.empty() || all.empty()), "a second root");
    const bool closed = text[end - 1] == '/';
    const std::string inside = text.substr(tag + 1, end - tag - 1 - (closed ? 1 : 0));
    Element element;
    element.depth = open.size();
    size_t place = 0;
    while (place < inside.size() && is_name(inside[place])) ++place;
    element.name = inside.substr(0, place);
    REQUIRE(!element.name.empty());
    while (place < inside.size()) {
      REQUIRE(inside[place] == ' ');
      const size_t equals = inside.find("=\"", place);
      REQUIRE(equals != std::string::npos);
      const std::string name = inside.substr(place + 1, equals - place - 1);
      const size_t quote = inside.find('"', equals + 2);
      REQUIRE(quote != std::string::npos);
      const std::string value = inside.substr(equals + 2, quote - equals - 2);
      check_text(value);
      REQUIRE_MESSAGE(element.attributes.emplace(name, value).second, "attribute twice: " << name);
      place = quote + 1;
    }
    all.push_back(element);
    if (!closed) open.push_back(all.size() - 1);
  }
  REQUIRE(open.empty());
  REQUIRE(!all.empty());
  return all;
}

std::vector<Element> elements_with(const std::vector<Element>& all, const std::string& attribute,
                                   std::string_view value) {
  std::vector<Element> found;
  for (const Element& element : all)
    if (element.has(attribute, value)) found.push_back(element);
  return found;
}

}  // namespace test
