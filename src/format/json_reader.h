// json_reader.h: reads JSON in one pass straight into the caller's variables, for text that nobody vouches for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ordinal {

// A key that an object may have, and what reads its value.
struct JsonMember {
  std::string_view key;
  std::function<void()> read;
  bool required = true;
};

// The caller says what comes next; anything else is an Error that says where. No tree is built, so memory and depth
// are the caller's own: text that is nested deeper than the caller asks for is refused at the first bracket too many.
// Stricter than most readers: a key may not come twice, integers are written as integers, text must be UTF-8.
class JsonReader {
 public:
  // `name` is the document in messages, such as "the header of gpt2.ordinal". The text must outlive the reader.
  // `line`: the text is this line of the document, and messages say line and column, counting characters from 1.
  JsonReader(std::string_view text, std::string name, int64_t line = 0);

  // An object with these members in any order. `what` names it in messages. Throws Error for an unknown key, listing
  // the known ones, and for missing keys, listing those.
  void object(std::string_view what, const std::vector<JsonMember>& members);

  // An object with any keys; `read` reads the value of each.
  void any_object(std::string_view what, const std::function<void(const std::string& key)>& read);

  void array(std::string_view what, const std::function<void()>& read_element);

  std::string string(std::string_view what);
  int64_t integer(std::string_view what);
  float number(std::string_view what);
  bool boolean(std::string_view what);
  uint64_t natural(std::string_view what);  // an integer of 64 bits, 0 or more

  // Any value, which is passed over: its text. Brackets may be nested `depth` deep.
  std::string_view any_value(std::string_view what, int depth = 32);

  // Where the next value begins, and the text from there to the end of the last one read.
  size_t position();
  std::string_view text_since(size_t begin) const { return text_.substr(begin, at_ - begin); }

  // Nothing but blanks may follow.
  void end();

  [[noreturn]] void fail(std::string_view what, const std::string& expected, const std::string& found) const;

  // A place in the text as messages have it: "byte 17", or with the line of a document "line 3, column 18".
  std::string place(size_t at) const;

 private:
  void skip_blanks();
  bool take(char c);
  std::string found_here() const;
  std::string_view number_text(std::string_view what);
  void read_escape(std::string_view what, std::string& out);
  uint32_t read_hex4(std::string_view what);

  std::string_view text_;
  std::string name_;
  int64_t line_;
  size_t at_ = 0;
};

// `text` as a JSON string, quotes included. It must be UTF-8.
std::string json_string(std::string_view text);

// The shortest number that reads back as the same float. It must be finite.
std::string json_number(float value);

}  // namespace ordinal
