// main.cpp: the table of commands, and how a run ends.
#include <algorithm>
#include <array>
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
#include "cli/ranks_report.h"
#include "cli/terminal.h"
#include "cli/together.h"
#include "ordinal/error.h"
#include "ranks/ranks.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

constexpr Command kCommands[] = {
    {"generate", "continue a prompt", run_generate, Ranked::shared},
    {"logits", "scores of the next token, as a table, JSON or .npy", run_logits, Ranked::shared},
    {"tokenize", "text to token ids, pieces and byte offsets", run_tokenize},
    {"detokenize", "token ids to text", run_detokenize},
    {"convert", "a checkpoint of another program, or a model file, to a model file", run_convert},
    {"inspect", "what a model file holds", run_inspect},
    {"compare", "the same weights under several position schemes", run_compare, Ranked::shared},
    {"perplexity", "how well a model predicts texts", run_perplexity, Ranked::shared},
    {"diagnose", "which position facts a checkpoint was made with", run_diagnose},
    {"positions", "the position schemes there are", run_positions},
    {"sweep", "many measurements by a plan, which survive being interrupted", run_sweep, Ranked::dealt},
    {"bench", "how fast a model runs on this machine", run_bench, Ranked::shared},
#ifndef ORDINAL_WITHOUT_SERVER
    {"serve", "the models over HTTP, as OpenAI's clients ask", run_serve, Ranked::refused},
    {"lab", "position schemes compared on a page in the browser", run_lab, Ranked::refused},
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

// On several ranks: all do the same, or the first does it alone.
int run_ranked(const Command& command, Arguments arguments) {
  Ranks& all = ranks();
  check_same_run(command.name, arguments);
  const std::string name = "ordinal " + std::string(command.name);
  if (command.ranked == Ranked::refused && all.count() > 1)
    throw Error(name + " runs on one rank", "1 rank", std::to_string(all.count()) + " ranks",
                "without mpirun: " + name);
  if (command.ranked != Ranked::first || all.count() == 1) {
    const int status = command.run(arguments);
    RanksReport::write();
    return status;
  }
  if (!all.is_first()) return kDone;
  Ranks alone;
  const RanksInUse in_use(alone);
  return command.run(arguments);
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
    if (command.name == arguments[0]) return run_ranked(command, std::span(arguments).subspan(1));
  refuse_command(arguments[0]);
}

Ending run_guarded(int argc, char** argv) {
  try {
    return {run({argv + std::min(argc, 1), argv + argc})};
  } catch (const Error& error) {
    return {kFailed, error.what()};
  } catch (const UsageError& error) {
    return {kWrongUsage, error.message + (error.suggestion.empty() ? "" : "\n  try:      " + error.suggestion)};
  } catch (const ClosedPipe&) {
    return {kDone};
  } catch (const Interrupted&) {
    return {signal_exit_status()};
  } catch (const std::bad_alloc&) {
    return {kFailed,
            "there is not enough memory for this\n  try:      a smaller --ctx, fewer --samples, a smaller model"};
  } catch (const std::exception& error) {
    return {kFailed, std::string("something unforeseen happened: ") + error.what()};
  }
}

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace ordinal::cli

int main(int argc, char** argv) {
  ordinal::cli::prepare_streams();
  ordinal::ranks();  // joins the others before anything else
  ordinal::cli::name_lost_pages();
  return ordinal::cli::end_together(ordinal::cli::run_guarded(argc, argv));
}
