// main.cpp: the table of commands, and how a run ends.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/lost_pages.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "ordinal/error.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

constexpr Command kCommands[] = {
    {"generate", "continue a prompt", run_generate},
    {"logits", "scores of the next token, as a table, JSON or .npy", run_logits},
    {"tokenize", "text to token ids, pieces and byte offsets", run_tokenize},
    {"detokenize", "token ids to text", run_detokenize},
    {"convert", "a checkpoint of another program, or a model file, to a model file", run_convert},
    {"inspect", "what a model file holds", run_inspect},
    {"compare", "the same weights under several position schemes", run_compare},
    {"perplexity", "how well a model predicts texts", run_perplexity},
    {"diagnose", "which position facts a checkpoint was made with", run_diagnose},
    {"positions", "the position schemes there are", run_positions},
    {"bench", "how fast a model runs on this machine", run_bench},
#ifndef ORDINAL_WITHOUT_SERVER
    {"serve", "the models over HTTP, as OpenAI's clients ask", run_serve},
    {"lab", "position schemes compared on a page in the browser", run_lab},
#endif
    {"manual", "the manual page, and completions for shells", run_manual},
};

std::string help_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Command& command : kCommands)
    rows.push_back({"  " + std::string(command.name), std::string(command.summary)});
  return "ordinal " + std::string(kVersion) +
         ": runs GPT-style language models, under any position scheme\n"
         "Usage: ordinal COMMAND [OPTIONS]\n\n"
         "Commands:\n" +
         report::table(rows, "ll") +
         "\n`ordinal COMMAND --help` shows a command's options and an example.\n"
         "Without -m a command uses the model that ORDINAL_MODEL names, else the default one.\n"
         "Results go to standard output, all else to standard error; -q silences it.\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C.\n\n"
         "Example:\n  ordinal generate \"Once upon a time\"\n";
}

// Edits (insert, delete, replace) from a to b.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j)
      diagonal =
          std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
  }
  return row.back();
}

[[noreturn]] void refuse_command(const std::string& name) {
  const Command* nearest = &kCommands[0];
  for (const Command& command : kCommands)
    if (distance(name, command.name) < distance(name, nearest->name)) nearest = &command;
  const bool near = distance(name, nearest->name) <= 3;
  throw UsageError{
      "there is no command '" + report::escaped(name) + "'\n  expected: " + joined(kCommands, ", ", &Command::name),
      near ? "ordinal " + std::string(nearest->name) : "ordinal --help"};
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) throw UsageError{"no command was given", "ordinal --help"};
  if (arguments[0] == "help" || arguments[0] == "-h" || arguments[0] == "--help") {
    if (arguments.size() == 1 || arguments[0] != "help") {
      write_out(help_text());
      return kDone;
    }
    arguments = {arguments[1], "--help"};
  }
  if (arguments[0] == "--version" || arguments[0] == "-V") {
    write_out("ordinal " + std::string(kVersion) + "\n");
    return kDone;
  }
  for (const Command& command : kCommands)
    if (command.name == arguments[0]) return command.run(std::span(arguments).subspan(1));
  refuse_command(arguments[0]);
}

int fail(const std::string& text) {
  std::fprintf(stderr, "ordinal: error: %s\n", text.c_str());
  return kFailed;
}

int run_guarded(int argc, char** argv) {
  prepare_streams();
  name_lost_pages();
  try {
    return run({argv + std::min(argc, 1), argv + argc});
  } catch (const Error& error) {
    return fail(error.what());
  } catch (const UsageError& error) {
    fail(error.message + (error.suggestion.empty() ? "" : "\n  try:      " + error.suggestion));
    return kWrongUsage;
  } catch (const ClosedPipe&) {
    return kDone;
  } catch (const Interrupted&) {
    return signal_exit_status();
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory for this\n  try:      a smaller --ctx, fewer --samples, a smaller model");
  } catch (const std::exception& error) {
    return fail(std::string("something unforeseen happened: ") + error.what());
  }
}

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace ordinal::cli

int main(int argc, char** argv) { return ordinal::cli::run_guarded(argc, argv); }
