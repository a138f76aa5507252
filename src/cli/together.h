// together.h: a command that several ranks run at once: what they must agree on, what the first one decides for all,
// and how the run ends.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "ordinal/error.h"
#include "ranks/ranks.h"

namespace ordinal::cli {

// "rank 1 of 4 (on node07)": of the whole run.
std::string rank_name(int rank);

// Throws the same Error on all ranks, naming two of them, where `mine` is not what the first rank has.
void check_alike(const std::string& what, const std::string& mine, const std::string& suggestion);

// Throws Error unless all ranks run the same program with the same arguments.
void check_same_run(std::string_view command, Arguments arguments);

// What `ask` returns on the first rank, on all; so is what it throws, where that is an Error.
std::string from_first(const std::function<std::string()>& ask);
bool is_so_for_first(const std::function<bool()>& ask);

// Where a rank failed in what all did: its Error as it is where all failed alike, else one on all ranks that names it.
void throw_together(const Error* failure);

// The result of `work`, which every rank does by itself; no rank goes on when one could not.
template <class Work>
auto in_step(const Work& work) {
  if (ranks().count() == 1) return work();
  try {
    auto result = work();
    throw_together(nullptr);
    return result;
  } catch (const Error& error) {
    throw_together(&error);  // throws
    throw;
  }
}

// How a rank came to its end; the text says why it failed.
struct Ending {
  int status = 0;
  std::string text = {};
};

// Waits for the other ranks, so that all end in one way; a rank that failed while others are at work ends them all.
// Returns the exit status.
int end_together(const Ending& ending);

}  // namespace ordinal::cli
