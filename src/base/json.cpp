// json.cpp: see json.h.
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {

struct JsonData {
  std::string text, name;
  int64_t line = 0;
  std::vector<Json> values;          // each container before what it holds, each key before its value
  std::vector<std::string> decoded;  // strings with escapes
  size_t start = 0;                  // of the text, after a byte order mark

  std::string place(size_t at) const {
    if (line == 0 && text.find('\n') == std::string::npos) return "byte " + std::to_string(at);
    const std::string_view before = std::string_view(text).substr(start, std::max(at, start) - start);
    const size_t newline = before.rfind('\n');
    const std::string_view in_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
    const auto characters =
        std::ranges::count_if(in_line, [](char c) { return (static_cast<uint8_t>(c) & 0xc0u) != 0x80u; });
    return "line " + std::to_string(std::max<int64_t>(line, 1) + std::ranges::count(before, '\n')) + ", column " +
           std::to_string(characters + 1);
  }

  // `what` is said of the document, or of the place when that is a line.
  [[noreturn]] void fail(size_t at, const std::string& what, const std::string& expected, const std::string& found,
                         const std::string& suggestion = "") const {
    if (line > 0) throw Error(name + ", " + place(at) + ": it " + what, expected, found);
    throw Error(name + " " + what, expected, found + " at " + place(at), suggestion);
  }

  Json& add(size_t begin, size_t end) {
    values.push_back(Json(this, static_cast<uint32_t>(values.size()), static_cast<uint32_t>(begin)));
    values.back().end_ = static_cast<uint32_t>(end);
    return values.back();
  }
  void add_string(size_t begin, const std::string& content) {
    const size_t end = string_end(begin, content);
    if (end - begin != content.size() + 2) decoded.push_back(content);
    add(begin, end).link_ = end - begin != content.size() + 2 ? static_cast<uint32_t>(decoded.size()) : 0;
  }
  void close(size_t index, size_t end) {
    values[index].end_ = static_cast<uint32_t>(end);
    values[index].link_ = static_cast<uint32_t>(values.size());
  }
  const Json* after(const Json& value) const {
    return values.data() + (value.is_structured() ? value.link_ : value.index_ + 1);
  }

  void check_keys_differ(const Json& object) const {
    std::vector<std::pair<std::string_view, const Json*>> keys;
    for (auto at = object.begin(); at != object.end(); ++at) keys.emplace_back(at.key().view(), &at.key());
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys, {}, [](const auto& key) { return key.first; });
    if (twice != keys.end())
      fail(twice[1].second->begin_, "has a key twice", "each key of an object once", in_quotes(twice->first));
  }

 private:
  // The parser has been through the string, so it is known to be closed.
  size_t string_end(size_t begin, const std::string& content) const {
    size_t at = begin + 1;
    if (text.compare(at, content.size(), content) == 0 && text[at + content.size()] == '"')
      return at + content.size() + 1;
    while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return at + 1;
  }
};

namespace {

using Parser = nlohmann::json;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Builds the tree from the parser's events; the parser itself keeps no stack but one bit a level. An event does not say
// where it is, but only blanks, commas and colons lie between the last one and it.
class Builder final : public nlohmann::json_sax<Parser> {
 public:
  Builder(JsonData& data, const JsonLimits& limits) : data_(data), limits_(limits), at_(data.start) {}

  bool null() override { return put(4); }
  bool boolean(bool value) override { return put(value ? 4 : 5); }
  bool number_integer(number_integer_t) override { return put_number(); }
  bool number_unsigned(number_unsigned_t) override { return put_number(); }
  bool number_float(number_float_t, const string_t&) override { return put_number(); }
  bool string(string_t& value) override {
    data_.add_string(next(), value);
    at_ = data_.values.back().raw().data() + data_.values.back().raw().size() - data_.text.data();
    return true;
  }
  bool key(string_t& value) override { return string(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override {
    const size_t index = open_.back();
    close();
    data_.check_keys_differ(data_.values[index]);
    return true;
  }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The parser's own words follow "syntax error while parsing ... - "; they may quote bytes of the text.
    std::string found = error.what(), expected = "JSON text";
    if (const size_t start = found.find(": "); start != std::string::npos) found.erase(0, start + 2);
    if (const size_t start = found.find(" - "); start != std::string::npos) found.erase(0, start + 3);
    for (char& c : found)
      if (c < 0x20 || c >= 0x7f) c = '?';
    constexpr std::string_view kExpected = "; expected ";
    if (const size_t start = found.find(kExpected); start != std::string::npos) {
      expected = found.substr(start + kExpected.size());
      found.resize(start);
    }
    const size_t at = std::clamp(position, size_t{1}, data_.text.size() + 1) - 1;
    data_.fail(at, "is not valid JSON", expected, found.substr(0, 160), "copy or download it again");
  }

 private:
  size_t next() {
    while (std::string_view(" \t\r\n,:").find(data_.text[at_]) != std::string_view::npos) ++at_;
    if (data_.values.size() == limits_.values)
      data_.fail(at_, "has too many values", "at most " + grouped(static_cast<int64_t>(limits_.values)), "more");
    return at_;
  }

  bool put(size_t length) {
    const size_t begin = next();
    data_.add(begin, at_ = begin + length);
    return true;
  }
  bool put_number() {
    const size_t begin = next();
    return put(std::min(data_.text.find_first_not_of("-+.eE0123456789", begin), data_.text.size()) - begin);
  }

  bool open() {
    const size_t begin = next();
    if (open_.size() == limits_.depth)
      data_.fail(begin, "is nested too deeply", "at most " + std::to_string(limits_.depth) + " levels of brackets",
                 "one level more");
    open_.push_back(data_.values.size());
    return put(1);
  }
  bool close() {
    while (data_.text[at_] != ']' && data_.text[at_] != '}') ++at_;
    data_.close(open_.back(), ++at_);
    open_.pop_back();
    return true;
  }

  JsonData& data_;
  const JsonLimits& limits_;
  size_t at_;                 // in the text, after the last event
  std::vector<size_t> open_;  // indices of the containers around the next value, outermost first
};

[[noreturn]] void refuse(const Json& value, const std::string& what, const std::string& expected) {
  value.fail(what + " is not what it should be", expected, shown(value));
}

// The value's text as a number, all of it.
template <class Number>
std::optional<Number> number_of(const Json& value) {
  const std::string_view text = value.raw();
  Number number = 0;
  if (!value.is_number()) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string dumped(const Parser& value) { return value.dump(-1, ' ', false, Parser::error_handler_t::replace); }

}  // namespace

std::string_view Json::raw() const { return std::string_view(data_->text).substr(begin_, end_ - begin_); }
std::string Json::place() const { return data_->place(begin_); }

void Json::fail(const std::string& what, const std::string& expected, const std::string& found) const {
  if (data_->line > 0) throw Error(data_->name + ", " + place() + ": " + what, expected, found);
  throw Error(what, expected, found + " at " + place());
}

std::string_view Json::view() const {
  return link_ == 0 ? raw().substr(1, raw().size() - 2) : std::string_view(data_->decoded[link_ - 1]);
}

Json::Iterator Json::begin() const { return Iterator(data_->values.data() + index_ + 1, is_object()); }
Json::Iterator Json::end() const { return Iterator(data_->after(*this), is_object()); }
Json::Members Json::items() const { return Members(*this); }
bool Json::empty() const { return begin() == end(); }
size_t Json::size() const { return static_cast<size_t>(std::distance(begin(), end())); }
const Json& Json::operator[](size_t at) const { return *std::next(begin(), static_cast<ptrdiff_t>(at)); }

bool Json::contains(std::string_view key) const {
  for (auto at = begin(); is_object() && at != end(); ++at)
    if (at.key() == key) return true;
  return false;
}

Json::Iterator& Json::Iterator::operator++() {
  const Json& value = **this;
  at_ = value.data_->after(value);
  return *this;
}

Json::Iterator Json::Iterator::operator++(int) {
  const Iterator before = *this;
  ++*this;
  return before;
}

JsonDocument::JsonDocument(std::unique_ptr<const JsonData> data) : data_(std::move(data)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;
const Json& JsonDocument::root() const { return data_->values.front(); }

JsonDocument parse_json(std::string_view text, const std::string& name, int64_t line, const JsonLimits& limits) {
  const size_t most = std::min<size_t>(limits.bytes, UINT32_MAX);
  if (text.size() > most)
    throw Error(name + " is too large", "at most " + grouped(static_cast<int64_t>(most)) + " bytes of JSON",
                grouped(static_cast<int64_t>(text.size())) + " bytes");
  auto data = std::make_unique<JsonData>();
  data->text = text;
  data->name = name;
  data->line = line;
  data->start = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  Builder builder(*data, limits);
  Parser::sax_parse(data->text.data(), data->text.data() + data->text.size(), &builder);
  return JsonDocument(std::move(data));
}

const Json* find(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  for (auto at = object.begin(); at != object.end(); ++at)
    if (at.key().view() == key) return at->is_null() ? nullptr : &*at;
  return nullptr;
}

const Json& member(const Json& object, std::string_view key) {
  for (auto at = object.begin(); at != object.end(); ++at)
    if (at.key().view() == key) return *at;
  object.fail("there is no " + std::string(key), "a member " + std::string(key), shown(object));
}

void check_members(const Json& value, const std::string& what, const std::vector<std::string_view>& required,
                   std::span<const std::string_view> optional) {
  object(value, what);
  std::vector<std::string_view> missing = required;
  for (auto at = value.begin(); at != value.end(); ++at) {
    if (std::erase(missing, at.key().view()) != 0 || std::ranges::count(optional, at.key().view()) != 0) continue;
    std::vector<std::string_view> known = required;
    known.insert(known.end(), optional.begin(), optional.end());
    at.key().fail(what + " has an unknown key, perhaps a newer program's", joined(known), shown(at.key()));
  }
  if (!missing.empty()) value.fail(what + " lacks keys", "also " + joined(missing), "an object without them");
}

int64_t whole_number(const Json& value, const std::string& what, int64_t low, int64_t high) {
  const std::optional<int64_t> number = number_of<int64_t>(value);
  if (number && *number >= low && *number <= high) return *number;
  refuse(value, what,
         low == INT64_MIN && high == INT64_MAX
             ? "an integer of 64 bits"
             : "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

int32_t whole_number_32(const Json& value, const std::string& what) {
  if (const std::optional<int32_t> number = number_of<int32_t>(value)) return *number;
  refuse(value, what, "an integer of 32 bits");
}

uint64_t natural(const Json& value, const std::string& what) {
  if (const std::optional<uint64_t> number = number_of<uint64_t>(value)) return *number;
  refuse(value, what, "an integer of 64 bits, 0 or more");
}

double number(const Json& value, const std::string& what) {
  if (const std::optional<double> number = number_of<double>(value)) return *number;
  refuse(value, what, "a number");
}

float number_f32(const Json& value, const std::string& what) {
  if (const std::optional<float> number = number_of<float>(value)) return *number;
  refuse(value, what, value.is_number() ? "a number that fits f32" : "a number");
}

bool boolean(const Json& value, const std::string& what) {
  if (!value.is_boolean()) refuse(value, what, "true or false");
  return value.raw() == "true";
}

std::string text(const Json& value, const std::string& what) {
  if (!value.is_string()) refuse(value, what, "a string");
  return std::string(value.view());
}

size_t one_of(std::span<const std::string_view> words, const Json& value, const std::string& what) {
  const std::string word = text(value, what);
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) value.fail(what + " has an unknown value", joined(words), shown(value));
  return static_cast<size_t>(found - words.begin());
}

const Json& object(const Json& value, const std::string& what) {
  if (!value.is_object()) refuse(value, what, "an object, {...}");
  return value;
}

const Json& array(const Json& value, const std::string& what) {
  if (!value.is_array()) refuse(value, what, "an array, [...]");
  return value;
}

std::string shown(const Json& value) {
  if (value.is_string()) return in_quotes(value.view());
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  if (value.is_array()) return value.empty() ? "[]" : "an array";
  return std::string(value.raw().substr(0, 60));
}

void JsonWriter::separate() {
  if (!text_.empty() && std::string_view("[{:").find(text_.back()) == std::string_view::npos) text_ += ',';
}

void JsonWriter::key(std::string_view key) {
  value(key);
  text_ += ':';
}

void JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
}

void JsonWriter::value(std::string_view text) { raw(dumped(std::string(text))); }
void JsonWriter::value(double number) { raw(dumped(number)); }

void JsonWriter::value(float number) { raw(std::isfinite(number) ? shortest(number) : "null"); }

}  // namespace ordinal
