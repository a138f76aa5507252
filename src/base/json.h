// json.h: the one place that reads and writes JSON: text that nobody vouches for as a tree whose values know their
// place, and values as text. The parser is nlohmann's; what it cannot promise (bounds, each key once) is added here.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordinal {

struct JsonData;

// A value in a document, which must outlive it; copies are the same value. Numbers and strings stay as they are in the
// text until they are asked for.
class Json {
 public:
  bool is_null() const { return first() == 'n'; }
  bool is_boolean() const { return first() == 't' || first() == 'f'; }
  bool is_string() const { return first() == '"'; }
  bool is_array() const { return first() == '['; }
  bool is_object() const { return first() == '{'; }
  bool is_structured() const { return is_array() || is_object(); }
  bool is_number() const { return !is_null() && !is_boolean() && !is_string() && !is_structured(); }

  // The text of the value, and where in the document it begins: "byte 17", or "line 3, column 18" when the document
  // has lines, counting characters from 1.
  std::string_view raw() const;
  std::string place() const;

  // Throws Error: `what` is a whole statement, to which the place is added.
  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& found) const;

  // Elements of an array or values of an object, in the order of the text. Others have none.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;
  bool empty() const;
  size_t size() const;                      // counts them
  const Json& operator[](size_t at) const;  // the element, which must be there; walks to it

  // Whether an object has the key, be its value null.
  bool contains(std::string_view key) const;

  // The members of an object: `for (const auto& [key, value] : object.items())`.
  class Members;
  Members items() const;

  // A string's content.
  std::string_view view() const;
  friend bool operator==(const Json& value, std::string_view text) { return value.is_string() && value.view() == text; }

 private:
  friend struct JsonData;
  Json(const JsonData* data, uint32_t index, uint32_t begin) : data_(data), index_(index), begin_(begin) {}
  char first() const { return raw().front(); }

  const JsonData* data_;
  uint32_t index_, begin_;  // among the values; in the text
  uint32_t end_ = 0;        // in the text
  uint32_t link_ = 0;       // of brackets: the index after all within. Of a string with escapes: 1 + its decoded form's
};

class Json::Iterator {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names that algorithms look for
  using value_type = Json;
  using difference_type = ptrdiff_t;
  using reference = const Json&;
  using pointer = const Json*;
  using iterator_category = std::forward_iterator_tag;
  // NOLINTEND(readability-identifier-naming)

  Iterator() = default;
  explicit Iterator(const Json* at, bool skips_key = false) : at_(at), skips_key_(skips_key) {}
  const Json& operator*() const { return at_[skips_key_ ? 1 : 0]; }
  const Json* operator->() const { return &**this; }
  Iterator& operator++();
  Iterator operator++(int);
  bool operator==(const Iterator& other) const { return at_ == other.at_; }
  const Json& key() const { return *at_; }

 private:
  const Json* at_ = nullptr;
  bool skips_key_ = false;  // values of an object stand behind their keys
};

struct JsonMember {
  std::string key;
  const Json& value;
};

class Json::Members {
 public:
  class Iterator {
   public:
    explicit Iterator(Json::Iterator at) : at_(at) {}
    JsonMember operator*() const { return {std::string(at_.key().view()), *at_}; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator& other) const = default;

   private:
    Json::Iterator at_;
  };

  explicit Members(const Json& object) : object_(object) {}
  Iterator begin() const { return Iterator(object_.begin()); }
  Iterator end() const { return Iterator(object_.end()); }

 private:
  const Json& object_;
};

struct JsonLimits {
  size_t bytes = size_t{64} << 20;
  size_t depth = 32;                 // of brackets
  size_t values = size_t{16} << 20;  // keys included: 24 bytes of memory each
};

// A text with its tree. Stands for the outermost value.
class JsonDocument {
 public:
  explicit JsonDocument(std::unique_ptr<const JsonData> data);
  JsonDocument(JsonDocument&&) noexcept;
  ~JsonDocument();

  const Json& root() const;
  operator const Json&() const { return root(); }  // NOLINT(google-explicit-constructor): it stands for its value
  const Json* operator->() const { return &root(); }

 private:
  std::unique_ptr<const JsonData> data_;
};

// Throws Error, with the place, for text that is not JSON in UTF-8, goes past the limits, or has a key twice in an
// object. A byte order mark before it is passed over. `name` is the document in messages; with `line`, the text is this
// line of the document.
JsonDocument parse_json(std::string_view text, const std::string& name, int64_t line = 0,
                        const JsonLimits& limits = {});

// The member, or nullptr when it is absent or null.
const Json* find(const Json& object, std::string_view key);

// The member of an object that was checked to have it.
const Json& member(const Json& object, std::string_view key);

// Throws Error unless `value` is an object that has the required keys and no keys but these and the optional ones.
void check_members(const Json& value, const std::string& what, const std::vector<std::string_view>& required,
                   std::span<const std::string_view> optional = {});

// The value as what it should be. Throws Error naming `what`.
int64_t whole_number(const Json& value, const std::string& what, int64_t low = INT64_MIN, int64_t high = INT64_MAX);
int32_t whole_number_32(const Json& value, const std::string& what);
uint64_t natural(const Json& value, const std::string& what);
double number(const Json& value, const std::string& what);
float number_f32(const Json& value, const std::string& what);
bool boolean(const Json& value, const std::string& what);
std::string text(const Json& value, const std::string& what);
size_t one_of(std::span<const std::string_view> words, const Json& value, const std::string& what);  // the index
const Json& object(const Json& value, const std::string& what);
const Json& array(const Json& value, const std::string& what);

// A value for a message: short, and nothing that could upset a terminal.
std::string shown(const Json& value);

// Writes one value, the members of objects in the order in which they are added.
//
//   JsonWriter json;
//   json.begin_object();
//   json.add("ids", ids);                    // numbers, truths, strings, and lists of them; an empty optional is null
//   json.add("best", [&] { ... });           // whatever the function writes, one value
//   json.end_object();
//   json.take();
//
// Bytes of strings that are not UTF-8 become U+FFFD, numbers that JSON has no word for null, and a float the shortest
// number that reads back as the same float.
class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { text_ += '}'; }
  void begin_array() { open('['); }
  void end_array() { text_ += ']'; }

  void key(std::string_view key);
  void raw(std::string_view json);  // a value that is JSON already

  void value(std::nullptr_t) { raw("null"); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(float number);
  void value(double number);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(std::integral auto number) { raw(std::to_string(number)); }
  template <class T>
  void value(const std::optional<T>& maybe) {
    if (maybe)
      value(*maybe);
    else
      value(nullptr);
  }
  template <class List>
    requires requires(const List& list) { std::span(list); }
  void value(const List& list) {
    begin_array();
    for (const auto& item : list) value(item);
    end_array();
  }
  template <std::invocable Write>
  void value(const Write& write) {
    write();
  }

  template <class T>
  void add(std::string_view name, const T& what) {
    key(name);
    value(what);
  }

  std::string take() { return std::move(text_); }

 private:
  void separate();
  void open(char bracket) {
    separate();
    text_ += bracket;
  }

  std::string text_;
};

}  // namespace ordinal
