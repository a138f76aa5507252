// json_reader.cpp: see json_reader.h.
#include "format/json_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "format/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr std::array<uint32_t, 4> kLead = {0x00, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[static_cast<size_t>(more)] | (code >> (6 * more)));
  for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) out += static_cast<char>(0x80 | ((code >> shift) & 0x3f));
}

// Bytes of the character at the start of `text`; 0 when that is not UTF-8 (RFC 3629: shortest form, no surrogates).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const uint32_t lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string name, int64_t line)
    : text_(text), name_(std::move(name)), line_(line) {}

std::string JsonReader::place(size_t at) const {
  if (line_ == 0) return "byte " + std::to_string(at);
  const auto characters =
      std::ranges::count_if(text_.substr(0, at), [](char c) { return (static_cast<uint8_t>(c) & 0xc0u) != 0x80u; });
  return "line " + std::to_string(line_) + ", column " + std::to_string(characters + 1);
}

void JsonReader::fail(std::string_view what, const std::string& expected, const std::string& found) const {
  if (line_ > 0) throw Error(name_ + ", " + place(at_) + ": " + std::string(what), expected, found);
  throw Error(name_ + " does not read as expected: " + std::string(what), expected, found + " at " + place(at_));
}

std::string JsonReader::found_here() const { return at_ == text_.size() ? "its end" : quoted(text_.substr(at_, 20)); }

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
}

bool JsonReader::take(char c) {
  skip_blanks();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

size_t JsonReader::position() {
  skip_blanks();
  return at_;
}

void JsonReader::end() {
  skip_blanks();
  if (at_ != text_.size()) fail("there is more than one value", "its end", found_here());
}

void JsonReader::object(std::string_view what, const std::vector<JsonMember>& members) {
  std::vector<bool> seen(members.size());
  any_object(what, [&](const std::string& key) {
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const JsonMember& m) { return m.key == key; });
    if (member == members.end()) {
      std::string known;
      for (const JsonMember& m : members) known += (known.empty() ? "" : ", ") + std::string(m.key);
      fail(std::string(what) + " has an unknown key, perhaps a newer program's", known, quoted(key));
    }
    const size_t index = static_cast<size_t>(member - members.begin());
    if (seen[index]) fail(std::string(what) + " has a key twice", "each key once", quoted(key));
    seen[index] = true;
    member->read();
  });
  std::string missing;
  for (size_t i = 0; i < members.size(); ++i)
    if (const JsonMember& m = members.begin()[i]; m.required && !seen[i])
      missing += (missing.empty() ? "" : ", ") + std::string(m.key);
  if (!missing.empty()) fail(std::string(what) + " lacks keys", "also " + missing, "the end of " + std::string(what));
}

void JsonReader::any_object(std::string_view what, const std::function<void(const std::string& key)>& read) {
  if (!take('{')) fail(what, "an object, {...}", found_here());
  if (take('}')) return;
  do {
    skip_blanks();
    const std::string key = string(what);
    if (!take(':')) fail(what, "':' after " + quoted(key), found_here());
    read(key);
  } while (take(','));
  if (!take('}')) fail(what, "',' or '}'", found_here());
}

void JsonReader::array(std::string_view what, const std::function<void()>& read_element) {
  if (!take('[')) fail(what, "an array, [...]", found_here());
  if (take(']')) return;
  do {
    read_element();
  } while (take(','));
  if (!take(']')) fail(what, "',' or ']'", found_here());
}

bool JsonReader::boolean(std::string_view what) {
  skip_blanks();
  for (const bool value : {true, false}) {
    const std::string_view word = value ? "true" : "false";
    if (text_.substr(at_, word.size()) != word) continue;
    at_ += word.size();
    return value;
  }
  fail(what, "true or false", found_here());
}

std::string_view JsonReader::number_text(std::string_view what) {
  skip_blanks();
  size_t end = at_;
  const auto digits = [&] {
    const size_t first = end;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end - first;
  };
  const auto next_is = [&](std::string_view any_of) {
    if (end == text_.size() || any_of.find(text_[end]) == std::string_view::npos) return false;
    ++end;
    return true;
  };
  next_is("-");
  const bool leading_zero = end < text_.size() && text_[end] == '0';
  if (const size_t count = digits(); count == 0 || (leading_zero && count > 1)) fail(what, "a number", found_here());
  if (next_is(".") && digits() == 0) fail(what, "digits after '.'", found_here());
  if (next_is("eE")) {
    next_is("+-");
    if (digits() == 0) fail(what, "digits in an exponent", found_here());
  }
  return text_.substr(at_, end - at_);
}

int64_t JsonReader::integer(std::string_view what) {
  const std::string_view text = number_text(what);
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) fail(what, "an integer of 64 bits", quoted(text));
  at_ += text.size();
  return value;
}

uint64_t JsonReader::natural(std::string_view what) {
  const std::string_view text = number_text(what);
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    fail(what, "an integer of 64 bits, 0 or more", quoted(text));
  at_ += text.size();
  return value;
}

std::string_view JsonReader::any_value(std::string_view what, int depth) {
  const size_t begin = position();
  const char first = begin < text_.size() ? text_[begin] : '\0';
  if ((first == '{' || first == '[') && depth == 0) fail(what, "brackets nested less deeply", found_here());
  if (first == '{') {
    any_object(what, [&](const std::string&) { any_value(what, depth - 1); });
  } else if (first == '[') {
    array(what, [&] { any_value(what, depth - 1); });
  } else if (first == '"') {
    string(what);
  } else if (first == 't' || first == 'f') {
    boolean(what);
  } else if (text_.substr(begin, 4) == "null") {
    at_ += 4;
  } else if (first == '-' || is_digit(first)) {
    at_ += number_text(what).size();
  } else {
    fail(what, "a value", found_here());
  }
  return text_since(begin);
}

float JsonReader::number(std::string_view what) {
  const std::string_view text = number_text(what);
  float value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) fail(what, "a number that fits f32", quoted(text));
  at_ += text.size();
  return value;
}

std::string JsonReader::string(std::string_view what) {
  if (!take('"')) fail(what, "a string", found_here());
  std::string out;
  while (true) {
    if (at_ == text_.size()) fail(what, "'\"' after a string", found_here());
    const char c = text_[at_];
    if (c == '"') break;
    if (c == '\\') {
      read_escape(what, out);
      continue;
    }
    const size_t length = static_cast<uint8_t>(c) < 0x20 ? 0 : utf8_length(text_.substr(at_));
    if (length == 0) fail(what, "UTF-8 without control characters", found_here());
    out.append(text_, at_, length);
    at_ += length;
  }
  ++at_;
  return out;
}

void JsonReader::read_escape(std::string_view what, std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  ++at_;
  const size_t index = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
  if (index != std::string_view::npos) {
    ++at_;
    out += kMeanings[index];
    return;
  }
  uint32_t code = read_hex4(what);
  if (code >= 0xd800 && code <= 0xdbff) {
    if (at_ == text_.size() || text_[at_] != '\\') fail(what, "the second half of a surrogate pair", found_here());
    ++at_;
    const uint32_t low = read_hex4(what);
    if (low < 0xdc00 || low > 0xdfff) fail(what, "the second half of a surrogate pair", found_here());
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    fail(what, "the first half of a surrogate pair before the second", found_here());
  }
  append_utf8(out, code);
}

uint32_t JsonReader::read_hex4(std::string_view what) {
  if (at_ == text_.size() || text_[at_] != 'u')
    fail(what, "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", found_here());
  const std::string_view digits = text_.substr(at_ + 1, 4);
  uint32_t code = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc() || digits.size() != 4 || stop != digits.data() + 4)
    fail(what, "four hexadecimal digits after \\u", found_here());
  at_ += 5;
  return code;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += std::string("\\u00") + kHex[static_cast<uint8_t>(c) >> 4] + kHex[static_cast<uint8_t>(c) & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_number(float value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace ordinal
