// parser.cpp: see parser.h.
#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "cli/terminal.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

template <class Number>
Number parse_all(const std::string& text, const std::string& what, const char* kind) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range)
    throw UsageError{what + " takes " + kind + " that fits; found '" + report::escaped(text) + "'", ""};
  if (code != std::errc() || stop != end)
    throw UsageError{what + " takes " + kind + "; found '" + report::escaped(text) + "'", ""};
  return value;
}

constexpr const char* kWhole = "a whole number";

// "1,2" has two items, "1,," three.
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> items;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    items.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

std::string text_of(const std::string& item) { return "'" + report::escaped(item) + "'"; }
std::string text_of(int64_t item) { return std::to_string(item); }

template <class Item>
void add_once(Item item, const std::string& names, std::vector<Item>& items, std::vector<std::string>& remarks) {
  if (std::ranges::find(items, item) == items.end())
    items.push_back(std::move(item));
  else
    remarks.push_back(names + " has " + text_of(item) + " twice; it counts once");
}

constexpr size_t kWidth = 100, kColumn = 30;  // of help: a line, and where explanations begin

// Lines that end at blanks and begin, but for the first, at `indent`.
std::string wrapped(const std::string& text, size_t indent) {
  std::string lines;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (column > indent && column + 1 + (end - at) > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return lines + "\n";
}

}  // namespace

int64_t parse_integer(const std::string& text, const std::string& what) {
  return parse_all<int64_t>(text, what, kWhole);
}

float parse_number(const std::string& text, const std::string& what) {
  // Through double: a number too small for a float is 0, not an error.
  return static_cast<float>(parse_all<double>(text, what, "a number"));
}

struct Parser::Library {
  CLI::App app;
  std::string summary, example;
  std::string usage;                                                // of the positionals
  std::vector<std::pair<std::string, std::string>> texts, options;  // names and help: positionals; the rest

  std::vector<std::string>& remarks;

  explicit Library(std::vector<std::string>& said) : remarks(said) {}

  using Take = std::function<void(const std::string& value)>;

  void add(const std::string& names, const std::string& value, const std::string& help, const Take& take,
           bool several = false) {
    const CLI::callback_t each = [this, names, take, several](const CLI::results_t& results) {
      for (const std::string& result : results) take(result);
      if (!several && results.front() != results.back())
        remarks.push_back(names + " is given " + (results.size() == 2 ? "twice" : "several times") +
                          "; the last counts");
      return true;
    };
    CLI::Option* option = app.add_option(names, each);
    option->type_size(1)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->allow_extra_args(false);  // would cut a value in brackets into a list
    if (names[0] == '-') options.emplace_back(names + " " + value, help);
  }

  std::string help(const std::string& command) const {
    std::string text = wrapped(summary, 0) + "\nUsage: " + command + usage + " [OPTIONS]\n";
    for (const auto* group : {&texts, &options}) {
      if (!group->empty()) text += "\n";
      for (const auto& [names, meaning] : *group) {
        const std::string left = "  " + names;
        text += left;
        text += left.size() + 2 > kColumn ? "\n" + std::string(kColumn, ' ') : std::string(kColumn - left.size(), ' ');
        text += wrapped(meaning, kColumn);
      }
    }
    return text + "\nExample:\n  " + example + "\n";
  }
};

Parser::Parser(const std::string& command, const std::string& summary, const std::string& example)
    : library_(new Library(remarks_)), command_("ordinal " + command) {
  library_->app.name(command_);
  library_->app.set_help_flag("-h,--help", "");
  library_->options.emplace_back("-h,--help", "this text");
  library_->summary = summary;
  library_->example = example;
}

Parser::~Parser() = default;

void Parser::positional(const std::string& name, std::optional<std::string>& target, const std::string& help) {
  std::string shown;
  for (const char c : name) shown += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  library_->usage += " [" + shown + "]";
  library_->texts.emplace_back(shown, help);
  library_->add(name, "", help, [&target](const std::string& value) { target = value; });
}

void Parser::flag(const std::string& names, bool& target, const std::string& help) {
  library_->options.emplace_back(names, help);
  library_->app.add_flag_callback(names, [&target] { target = true; });
}

void Parser::option(const std::string& names, const std::string& value, std::string& target, const std::string& help) {
  library_->add(names, value, help, [&target, names](const std::string& given) {
    if (given.empty()) throw UsageError{names + " takes a value, and it is empty", ""};
    target = given;
  });
}

void Parser::option(const std::string& names, const std::string& value, std::optional<std::string>& target,
                    const std::string& help) {
  library_->add(names, value, help, [&target](const std::string& given) { target = given; });
}

void Parser::option(const std::string& names, const std::string& value, std::vector<std::string>& target,
                    const std::string& help) {
  library_->add(
      names, value, help,
      [this, &target, names](const std::string& given) { add_once(given, names, target, remarks_); }, true);
}

void Parser::option(const std::string& names, const std::string& value, int64_t& target, const std::string& help) {
  library_->add(names, value, help,
                [&target, names](const std::string& given) { target = parse_integer(given, names); });
}

void Parser::option(const std::string& names, const std::string& value, std::optional<int64_t>& target,
                    const std::string& help) {
  library_->add(names, value, help,
                [&target, names](const std::string& given) { target = parse_integer(given, names); });
}

void Parser::option(const std::string& names, const std::string& value, std::optional<uint64_t>& target,
                    const std::string& help) {
  library_->add(names, value, help, [&target, names](const std::string& given) {
    target = parse_all<uint64_t>(given, names, "a whole number, 0 or more,");
  });
}

void Parser::option(const std::string& names, const std::string& value, float& target, const std::string& help) {
  library_->add(names, value, help,
                [&target, names](const std::string& given) { target = parse_number(given, names); });
}

template <class Item, class Read>
void Parser::add_list(const std::string& names, std::vector<Item>& target, const std::string& help, const Read& read) {
  library_->add(names, "LIST", help, [this, &target, names, read](const std::string& given) {
    target.clear();
    for (Item& item : read(given)) add_once(std::move(item), names, target, remarks_);
  });
}

void Parser::list(const std::string& names, std::vector<std::string>& target, const std::string& help) {
  add_list(names, target, help, [names](const std::string& given) {
    std::vector<std::string> items = split_at_commas(given);
    if (std::ranges::find(items, "") != items.end())
      throw UsageError{names + " takes a list with commas between its items; found an empty one in " + text_of(given),
                       ""};
    return items;
  });
}

void Parser::list(const std::string& names, std::vector<std::string>& target, const std::string& help, Split split) {
  add_list(names, target, help, split);
}

void Parser::list(const std::string& names, std::vector<int64_t>& target, const std::string& help) {
  add_list(names, target, help, [names](const std::string& given) {
    std::vector<int64_t> numbers;
    for (const std::string& item : split_at_commas(given)) numbers.push_back(parse_integer(item, names));
    return numbers;
  });
}

bool Parser::given(std::string_view name) const {
  const CLI::Option* option = library_->app.get_option_no_throw(std::string(name));
  return option != nullptr && option->count() > 0;
}

void Parser::idle(std::initializer_list<std::string_view> names, const std::string& reason) {
  std::string in_vain;
  int count = 0;
  for (const std::string_view name : names)
    if (given(name)) in_vain += (count++ > 0 ? ", " : "") + std::string(name);
  if (count > 0) remarks_.push_back(in_vain + (count > 1 ? " have" : " has") + " no effect: " + reason);
}

Notes Parser::notes(bool quiet) {
  const Notes notes(quiet);
  for (const std::string& remark : std::exchange(remarks_, {})) notes.say(remark);
  return notes;
}

bool Parser::parse(std::span<const std::string> arguments) {
  if (tables != nullptr) {
    tables->push_back({command_, library_->summary, library_->example, library_->texts, library_->options});
    return false;
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as the library wants them
  const std::string help = "`" + command_ + " --help` shows every option";
  try {
    library_->app.parse(std::move(reversed));
    return true;
  } catch (const CLI::CallForHelp&) {
    write_out(library_->help(command_));
    return false;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extra = library_->app.remaining();
    const std::string first = extra.empty() ? "" : "'" + report::escaped(extra.front()) + "'";
    if (first.starts_with("'-")) throw UsageError{"there is no option " + first, help};
    throw UsageError{"there is an argument too many: " + first, "quote a text of several words; " + help};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--temp: 1 required ..."
    throw UsageError{text.substr(0, text.find(": ")) + " takes a value, and there is none", help};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what(), help};
  } catch (UsageError& error) {
    if (error.suggestion.empty()) error.suggestion = help;
    throw;
  }
}

}  // namespace ordinal::cli
