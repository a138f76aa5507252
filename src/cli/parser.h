// parser.h: command line options bound to variables. The only place that knows the parsing library is parser.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal.h"

namespace ordinal::cli {

// Wrong usage: exit status 2.
struct UsageError {
  std::string message;
  std::string suggestion;
};

// What the help of one command is made of.
struct CommandTable {
  std::string command, summary, example;                            // "ordinal generate"
  std::vector<std::pair<std::string, std::string>> texts, options;  // names with the kind of value, and help
};

// The options of one command. Names are written "-n,--new-tokens"; each option takes one value, exactly as given: no
// brackets, quotes or numbers to the base 8 are read into it. Given twice, the last counts. What was given in vain, as
// the first of two or what idle() names, is among the command's notes.
class Parser {
 public:
  Parser(const std::string& command, const std::string& summary, const std::string& example);
  ~Parser();

  void positional(const std::string& name, std::optional<std::string>& target, const std::string& help);
  void flag(const std::string& names, bool& target, const std::string& help);
  void option(const std::string& names, const std::string& value, std::string& target,
              const std::string& help);  // not empty
  void option(const std::string& names, const std::string& value, std::optional<std::string>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, std::vector<std::string>& target,
              const std::string& help);  // may be given several times; a value counts once
  void option(const std::string& names, const std::string& value, int64_t& target, const std::string& help);
  void option(const std::string& names, const std::string& value, std::optional<int64_t>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, std::optional<uint64_t>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, float& target, const std::string& help);

  // One value that is a list: items with commas between them, or what `split` makes of it. None is empty; an item that
  // is there twice counts once.
  using Split = std::vector<std::string> (*)(std::string_view text);
  void list(const std::string& names, std::vector<std::string>& target, const std::string& help);
  void list(const std::string& names, std::vector<std::string>& target, const std::string& help, Split split);
  void list(const std::string& names, std::vector<int64_t>& target, const std::string& help);

  // Sets the variables. Returns false when help was asked for and has been written. Throws UsageError.
  bool parse(std::span<const std::string> arguments);

  // While set, parse() adds the command's table there and returns false, whatever the arguments: for manual pages and
  // completions, which so have what --help has.
  static inline std::vector<CommandTable>* tables = nullptr;

  // Whether the option, by one of its names, was among the arguments.
  bool given(std::string_view name) const;
  // These options cannot have an effect, as the others are, because `reason`: worth a note where they were given.
  void idle(std::initializer_list<std::string_view> names, const std::string& reason);
  // Says what was given in vain, each once, and is there for what the command has to say.
  Notes notes(bool quiet);

 private:
  template <class Item, class Read>
  void add_list(const std::string& names, std::vector<Item>& target, const std::string& help, const Read& read);

  struct Library;
  std::unique_ptr<Library> library_;
  std::string command_;
  std::vector<std::string> remarks_;
};

// Numbers as text has them, all of the text. Throws UsageError naming `what`.
int64_t parse_integer(const std::string& text, const std::string& what);
float parse_number(const std::string& text, const std::string& what);

}  // namespace ordinal::cli
