// json_tree.cpp: see json_tree.h.
#include "convert/json_tree.h"

#include <cmath>
#include <vector>

#include "convert/sniff.h"
#include "format/mapped_file.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

// Builds the tree from the parser's events; the parser itself keeps no stack but one bit a level.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(Json& root, const std::string& name) : root_(root), name_(name) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [place, fresh] = members.emplace(key, nullptr);
    if (!fresh) throw Error(name_ + " has a key twice", "each key of an object once", in_quotes(key));
    slot_ = &place->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The parser's own words follow "syntax error ...: "; they may quote bytes of the file.
    std::string reason = error.what();
    if (const size_t start = reason.find(": "); start != std::string::npos) reason = reason.substr(start + 2);
    for (char& c : reason)
      if (c < 0x20 || c >= 0x7f) c = '?';
    throw Error(name_ + " is not valid JSON", "JSON text",
                reason.substr(0, 160) + ", at byte " + std::to_string(position), "copy or download it again");
  }

 private:
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return open_.back()->back();
    }
    return *slot_ = std::move(value);
  }

  bool put(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() == kMaxJsonDepth)
      throw Error(name_ + " is nested too deeply", "at most " + std::to_string(kMaxJsonDepth) + " levels of brackets",
                  "one level more");
    open_.push_back(&place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  const std::string& name_;
  std::vector<Json*> open_;  // the containers around the next value, outermost first
  Json* slot_ = nullptr;     // where the value of the last key goes
};

[[noreturn]] void refuse(const std::string& what, const std::string& expected, const Json& value) {
  throw Error(what + " is not what it should be", expected, shown(value));
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  if (text.size() > kMaxJsonBytes)
    throw Error(name + " is too large", "at most " + grouped(static_cast<int64_t>(kMaxJsonBytes)) + " bytes of JSON",
                grouped(static_cast<int64_t>(text.size())) + " bytes");
  Json root;
  Builder builder(root, name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return root;
}

Json read_json(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes().empty()) throw Error(path + " is empty", "JSON text", "a size of 0 bytes");
  return parse_json(as_text(file->bytes()), path);
}

const Json* find(const Json& object, const std::string& key) {
  const auto place = object.find(key);
  return place == object.end() || place->is_null() ? nullptr : &*place;
}

int64_t whole_number(const Json& value, const std::string& what, int64_t low, int64_t high) {
  const std::string expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.is_number_integer()) refuse(what, expected, value);
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    refuse(what, expected, value);
  const int64_t number = value.get<int64_t>();
  if (number < low || number > high) refuse(what, expected, value);
  return number;
}

double number(const Json& value, const std::string& what) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(what, "a number", value);
  return value.get<double>();
}

bool boolean(const Json& value, const std::string& what) {
  if (!value.is_boolean()) refuse(what, "true or false", value);
  return value.get<bool>();
}

const std::string& text(const Json& value, const std::string& what) {
  if (!value.is_string()) refuse(what, "a string", value);
  return value.get_ref<const std::string&>();
}

const Json& object(const Json& value, const std::string& what) {
  if (!value.is_object()) refuse(what, "an object, {...}", value);
  return value;
}

const Json& array(const Json& value, const std::string& what) {
  if (!value.is_array()) refuse(what, "an array, [...]", value);
  return value;
}

std::string shown(const Json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  if (value.is_array()) return value.empty() ? "[]" : "an array";
  return value.dump();
}

}  // namespace ordinal::convert
