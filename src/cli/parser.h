// parser.h: command line options bound to variables. The only place that knows the parsing library is parser.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ordinal::cli {

// Wrong usage: exit status 2.
struct UsageError {
  std::string message;
  std::string suggestion;
};

// The options of one command. Names are written "-n,--new-tokens"; each option takes one value, exactly as given: no
// brackets, quotes or numbers to the base 8 are read into it. Given twice, the last counts.
class Parser {
 public:
  Parser(const std::string& command, const std::string& summary, const std::string& example);
  ~Parser();

  void positional(const std::string& name, std::optional<std::string>& target, const std::string& help);
  void flag(const std::string& names, bool& target, const std::string& help);
  void option(const std::string& names, const std::string& value, std::string& target, const std::string& help);
  void option(const std::string& names, const std::string& value, std::optional<std::string>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, std::vector<std::string>& target,
              const std::string& help);  // may be given several times
  void option(const std::string& names, const std::string& value, int64_t& target, const std::string& help);
  void option(const std::string& names, const std::string& value, std::optional<int64_t>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, std::optional<uint64_t>& target,
              const std::string& help);
  void option(const std::string& names, const std::string& value, float& target, const std::string& help);

  // Sets the variables. Returns false when help was asked for and has been written. Throws UsageError.
  bool parse(std::span<const std::string> arguments);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string command_;
};

// Numbers as text has them, all of the text. Throws UsageError naming `what`.
int64_t parse_integer(const std::string& text, const std::string& what);
// Items with commas between them: "1,2" has two, "1,," three. parse_integers reads each as a number.
std::vector<std::string> split_list(const std::string& text);
std::vector<int64_t> parse_integers(const std::string& text, const std::string& what);
float parse_number(const std::string& text, const std::string& what);

}  // namespace ordinal::cli
