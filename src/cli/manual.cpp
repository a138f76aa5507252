// manual.cpp: `ordinal manual`: the manual page and completions for shells, made from the tables behind --help.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "ordinal/error.h"

namespace ordinal::cli {
namespace {

using Row = std::pair<std::string, std::string>;

// Names of an option, and the kind of its value, "" for none: "-n,--new-tokens N".
struct OptionWords {
  std::vector<std::string> names;
  std::string value;
  std::vector<std::string> choices;  // where the value is one of several words
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

OptionWords words_of(const Row& row) {
  const size_t space = std::min(row.first.find(' '), row.first.size());
  OptionWords words{split(row.first.substr(0, space), ','), "", {}};
  if (space < row.first.size()) words.value = row.first.substr(space + 1);
  if (words.value.find('|') != std::string::npos) words.choices = split(words.value, '|');
  return words;
}

// Tables of all commands, those with a second word after the first of theirs.
std::vector<CommandTable> all_tables() {
  std::vector<CommandTable> tables;
  Parser::tables = &tables;
  const std::vector<std::string> none, check = {"check"}, plot = {"plot"};
  for (const Command& command : all_commands()) {
    if (command.run == run_manual) continue;
    command.run(none);
    if (command.run != run_positions) continue;
    command.run(check);
    command.run(plot);
  }
  Parser::tables = nullptr;
  return tables;
}

std::string subcommand(const CommandTable& table) { return table.command.substr(table.command.find(' ') + 1); }

// Text for troff: its own characters, and lines that would be requests.
std::string troff(std::string_view text) {
  std::string safe;
  if (text.starts_with('.') || text.starts_with('\'')) safe = "\\&";
  for (const char c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '\n')
      safe += "\n\\&";
    else
      safe += c;
  }
  return safe;
}

std::string man_page(const std::vector<CommandTable>& tables) {
  std::string page =
      ".TH ORDINAL 1 \"\" \"ordinal " + std::string(kVersion) +
      "\" \"User Commands\"\n.SH NAME\nordinal \\- run GPT\\-style language models on a CPU, under any "
      "position scheme\n.SH SYNOPSIS\n.B ordinal\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n"
      "Text in, text out, no Python. Where a token stands is a plug\\-in, so any model can be run under "
      "any position scheme, on the same weights, and the differences measured. Results go to standard "
      "output, all else to standard error; \\-q silences it.\n.PP\nWithout \\-m a command uses the model "
      "that ORDINAL_MODEL names, else the default one.\n.SH COMMANDS\n";
  for (const CommandTable& table : tables) {
    page += ".SS " + troff(table.command) + "\n" + troff(table.summary) + "\n";
    for (const auto* rows : {&table.texts, &table.options})
      for (const Row& row : *rows) page += ".TP\n.B " + troff(row.first) + "\n" + troff(row.second) + "\n";
    page += ".PP\nExample:\n.PP\n.nf\n.RS\n" + troff(table.example) + "\n.RE\n.fi\n";
  }
  return page +
         ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl\\-C. A server that SIGTERM or Ctrl\\-C "
         "asks to end does so with 0.\n.SH ENVIRONMENT\n.TP\n.B ORDINAL_MODEL\nthe model of commands that are given "
         "none\n.TP\n.B ORDINAL_ISA\ngeneric, avx2 or avx512: the instruction set to use\n.TP\n.B ORDINAL_API_KEY\nthe "
         "key that clients of a server must say\n.TP\n.B OMP_NUM_THREADS\nthreads, where \\-t does not say\n";
}

// Words for a shell's single quotes.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string names_of(const std::vector<CommandTable>& tables) {
  std::vector<std::string> names;
  for (const CommandTable& table : tables)
    if (subcommand(table).find(' ') == std::string::npos) names.push_back(subcommand(table));
  names.emplace_back("manual");
  return joined(names, " ");
}

std::string bash_script(const std::vector<CommandTable>& tables) {
  std::string script =
      "# bash completion for ordinal, written by `ordinal manual bash`\n_ordinal() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]-} options= "
      "choices=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W '" +
      names_of(tables) +
      " --help --version' -- \"$current\"))\n    return\n  fi\n"
      "  if [ \"$command\" = positions ]; then\n"
      "    case ${COMP_WORDS[2]-} in check | plot) [ \"$COMP_CWORD\" = 2 ] || command=\"positions ${COMP_WORDS[2]}\" "
      ";; esac\n"
      "    [ \"$COMP_CWORD\" != 2 ] || COMPREPLY=($(compgen -W 'list check plot' -- \"$current\"))\n  fi\n"
      "  case $command in\n";
  for (const CommandTable& table : tables) {
    std::vector<std::string> names;
    std::string choices;
    for (const Row& row : table.options) {
      const OptionWords words = words_of(row);
      names.insert(names.end(), words.names.begin(), words.names.end());
      if (!words.choices.empty())
        choices += "        " + joined(words.names, " | ") + ") choices='" + joined(words.choices, " ") + "' ;;\n";
    }
    script += "    '" + subcommand(table) + "')\n      options='" + joined(names, " ") + "'\n";
    if (!choices.empty()) script += "      case $before in\n" + choices + "      esac\n";
    script += "      ;;\n";
  }
  return script +
         "    manual) choices='man bash zsh fish systemd' ;;\n  esac\n"
         "  if [ -n \"$choices\" ]; then\n    COMPREPLY=($(compgen -W \"$choices\" -- \"$current\"))\n"
         "  elif [[ $current == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  elif [ ${#COMPREPLY[@]} = 0 ]; then\n    COMPREPLY=($(compgen -f -- \"$current\"))\n  fi\n}\n"
         "complete -o filenames -F _ordinal ordinal\n";
}

// In an _arguments spec a bracket or colon has a meaning.
std::string zsh_text(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return safe;
}

std::string zsh_script(const std::vector<CommandTable>& tables) {
  std::string script =
      "#compdef ordinal\n# zsh completion, written by `ordinal manual zsh`\n_ordinal() {\n"
      "  local command=${words[2]}\n"
      "  if (( CURRENT == 2 )); then\n    compadd -- " +
      names_of(tables) +
      "\n    return\n  fi\n"
      "  [[ $command == positions && ( ${words[3]} == check || ${words[3]} == plot ) ]] && "
      "command=\"positions ${words[3]}\"\n  case $command in\n";
  for (const CommandTable& table : tables) {
    script += "    " + shell_quoted(subcommand(table)) + ") _arguments -s";
    for (const Row& row : table.options) {
      const OptionWords words = words_of(row);
      for (const std::string& name : words.names) {
        std::string spec = name + "[" + zsh_text(row.second) + "]";
        if (!words.choices.empty())
          spec += ":" + zsh_text(words.names.back()) + ":(" + joined(words.choices, " ") + ")";
        else if (!words.value.empty())
          spec += ":" + zsh_text(words.value) + ":_files";
        script += " \\\n      " + shell_quoted(spec);
      }
    }
    script += " '*:file:_files' ;;\n";
  }
  return script + "    manual) compadd man bash zsh fish systemd ;;\n  esac\n}\n_ordinal \"$@\"\n";
}

std::string fish_script(const std::vector<CommandTable>& tables) {
  std::string script = "# fish completion for ordinal, written by `ordinal manual fish`\n";
  for (const Command& command : all_commands())
    script += "complete -c ordinal -f -n __fish_use_subcommand -a " + std::string(command.name) + " -d " +
              shell_quoted(command.summary) + "\n";
  script +=
      "complete -c ordinal -f -n '__fish_seen_subcommand_from positions' -a 'list check plot'\n"
      "complete -c ordinal -f -n '__fish_seen_subcommand_from manual' -a 'man bash zsh fish systemd'\n";
  for (const CommandTable& table : tables) {
    std::string condition;
    for (const std::string& word : split(subcommand(table), ' '))
      condition += std::string(condition.empty() ? "" : "; and ") + "__fish_seen_subcommand_from " + word;
    for (const Row& row : table.options) {
      const OptionWords words = words_of(row);
      script += "complete -c ordinal -n " + shell_quoted(condition);
      for (const std::string& name : words.names)
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!words.choices.empty())
        script += " -x -a " + shell_quoted(joined(words.choices, " "));
      else if (!words.value.empty())
        script += " -r";
      script += " -d " + shell_quoted(row.second) + "\n";
    }
  }
  return script;
}

// Runs as a user of its own that owns nothing, sees no home and writes nowhere.
std::string systemd_unit(const std::vector<CommandTable>&) {
  return "# ordinal.service, written by `ordinal manual systemd`. Settings: /etc/default/ordinal, say\n"
         "#   ORDINAL_OPTIONS=--port 8080 --parallel 8\n#   ORDINAL_MODEL=/srv/models/mine.ordinal\n"
         "#   ORDINAL_API_KEY=...\n"
         "[Unit]\nDescription=Ordinal, language models over HTTP\nAfter=network.target\n\n"
         "[Service]\nExecStart=/usr/bin/env ordinal serve $ORDINAL_OPTIONS\n"
         "EnvironmentFile=-/etc/default/ordinal\nRestart=on-failure\nTimeoutStopSec=60\nDynamicUser=yes\n"
         "ProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\nNoNewPrivileges=yes\n"
         "CapabilityBoundingSet=\nRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\nRestrictNamespaces=yes\n"
         "LockPersonality=yes\nSystemCallFilter=@system-service\n\n"
         "[Install]\nWantedBy=multi-user.target\n";
}

struct Kind {
  std::string_view name;
  std::string (*text)(const std::vector<CommandTable>& tables);
};

constexpr std::array<Kind, 5> kKinds = {
    {{"man", man_page}, {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}, {"systemd", systemd_unit}}};

}  // namespace

int run_manual(Arguments arguments) {
  std::optional<std::string> wanted;
  Parser parser(
      "manual",
      "Writes the manual page for man(1), a shell's completions, or a unit for systemd. All of them come from "
      "what --help says; `make install` puts them where they belong.",
      "ordinal manual bash > ~/.local/share/bash-completion/completions/ordinal");
  parser.positional("kind", wanted, joined(kKinds, ", ", &Kind::name) + " [default: man]");
  if (!parser.parse(arguments)) return 0;
  const auto* kind = std::ranges::find(kKinds, wanted.value_or("man"), &Kind::name);
  if (kind == kKinds.end())
    throw UsageError{
        "there is no such kind: " + in_quotes(*wanted) + "; there are: " + joined(kKinds, ", ", &Kind::name), ""};
  write_out(kind->text(all_tables()));
  return 0;
}

}  // namespace ordinal::cli
