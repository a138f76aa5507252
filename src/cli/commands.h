// commands.h: the commands, one function each; main.cpp holds the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ordinal::cli {

using Arguments = std::span<const std::string>;  // without the program's and the command's name

// What several ranks (src/ranks/README.md) do with a command.
enum class Ranked : uint8_t {
  shared,   // they share one model
  dealt,    // each does some of the work by itself
  first,    // the first does it, the others have nothing to do
  refused,  // one rank only
};

struct Command {
  std::string_view name, summary;
  int (*run)(Arguments);
  Ranked ranked = Ranked::first;
};

// All of them, in the order of help.
std::span<const Command> all_commands();

// Each returns the exit status. Throws Error, UsageError, ClosedPipe, Interrupted.
int run_generate(Arguments arguments);
int run_logits(Arguments arguments);
int run_tokenize(Arguments arguments);
int run_detokenize(Arguments arguments);
int run_convert(Arguments arguments);
int run_inspect(Arguments arguments);
int run_compare(Arguments arguments);
int run_diagnose(Arguments arguments);
int run_perplexity(Arguments arguments);
int run_positions(Arguments arguments);
int run_positions_check(Arguments arguments);  // ordinal positions check
int run_positions_plot(Arguments arguments);
int run_sweep(Arguments arguments);
int run_bench(Arguments arguments);
int run_serve(Arguments arguments);
int run_lab(Arguments arguments);
int run_manual(Arguments arguments);

}  // namespace ordinal::cli
