// together.cpp: see together.h.
#include "cli/together.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/words.h"
#include "cli/terminal.h"
#include "format/checksum.h"
#include "format/mapped_file.h"

namespace ordinal::cli {
namespace {

constexpr double kPatience = 2;  // seconds that a rank which failed waits for the others to fail as it did

std::string host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string named(int rank, const std::string& on) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks().count()) + " (on " + on + ")";
}

// The parts of an Error as one text, and back.
constexpr char kPartEnd = '\0';
std::string packed(const Error& error) {
  return error.summary() + kPartEnd + error.expected() + kPartEnd + error.found() + kPartEnd + error.suggestion();
}
Error unpacked(const std::string& text) {
  std::array<std::string, 4> parts;
  size_t at = 0;
  for (std::string& part : parts) {
    const size_t end = std::min(text.find(kPartEnd, at), text.size());
    part = text.substr(std::min(at, text.size()), end - std::min(at, text.size()));
    at = end + 1;
  }
  return Error(parts[0], parts[1], parts[2], parts[3]);
}

// What this process runs: version, and the bytes of the program.
std::string program_facts() {
  const auto file = MappedFile::open("/proc/self/exe");
  return "version " + std::string(kVersion) + ", checksum " + checksum_text(checksum_of(file->bytes()));
}

}  // namespace

std::string rank_name(int rank) {
  return rank == ranks().rank() ? named(rank, host()) : "rank " + std::to_string(rank);
}

void check_alike(const std::string& what, const std::string& mine, const std::string& suggestion) {
  Ranks& all = ranks();
  if (all.count() == 1) return;
  const std::vector<std::string> texts = gather_texts(all, mine), hosts = gather_texts(all, host());
  const auto other = std::ranges::find_if(texts, [&](const std::string& text) { return text != texts.front(); });
  if (other == texts.end()) return;
  const auto at = static_cast<size_t>(other - texts.begin());
  throw Error(
      named(0, hosts.front()) + " and " + named(static_cast<int>(at), hosts[at]) + " do not have the same " + what,
      texts.front() + ", as on rank 0", *other + ", on rank " + std::to_string(at), suggestion);
}

void check_same_run(std::string_view command, Arguments arguments) {
  if (ranks().count() == 1) return;
  check_alike("program", program_facts(), "the same ordinal, of one `make mpi`, on all machines");
  std::string line = "ordinal " + std::string(command);
  for (const std::string& argument : arguments) line += " " + in_quotes(argument);
  check_alike("command", line,
              "one command for all ranks: mpirun -n " + std::to_string(ranks().count()) + " ordinal ...");
}

std::string from_first(const std::function<std::string()>& ask) {
  Ranks& all = ranks();
  if (all.count() == 1) return ask();
  std::string answer;
  if (all.is_first()) {
    try {
      answer = "y" + ask();
    } catch (const Error& error) {
      answer = "n" + packed(error);
    }
  }
  send_text(all, answer);
  const bool good = answer.front() == 'y';
  answer.erase(0, 1);
  if (!good) throw unpacked(answer);
  return answer;
}

bool is_so_for_first(const std::function<bool()>& ask) {
  return !from_first([&] { return std::string(ask() ? "yes" : ""); }).empty();
}

void throw_together(const Error* failure) {
  Ranks& all = ranks();
  const std::string good = "y";
  const std::vector<std::string> texts = gather_texts(all, failure == nullptr ? good : "n" + packed(*failure));
  const std::vector<std::string> hosts = gather_texts(all, host());
  const auto first = std::ranges::find_if(texts, [&](const std::string& text) { return text != good; });
  if (first == texts.end()) return;
  const bool alike = std::ranges::all_of(texts, [&](const std::string& text) { return text == *first; });
  const auto at = static_cast<size_t>(first - texts.begin());
  const Error error = unpacked(first->substr(1));
  throw alike ? error
              : Error(named(static_cast<int>(at), hosts[at]) + ": " + error.summary(), error.expected(), error.found(),
                      error.suggestion());
}

int end_together(const Ending& ending) {
  Ranks& all = ranks();
  const auto say = [&](const std::string& where) {
    if (!ending.text.empty()) std::fprintf(stderr, "ordinal: error: %s%s\n", where.c_str(), ending.text.c_str());
  };
  const std::vector<int> statuses =
      all.all_end(ending.status, ending.status == 0 ? std::nullopt : std::optional(kPatience));
  const std::string where = all.is_first() ? "" : rank_name(all.rank()) + ": ";
  if (statuses.empty()) {
    say(all.count() == 1 ? "" : rank_name(all.rank()) + ": ");
    all.end_all(ending.status);
    return ending.status;
  }
  // One of those that failed says why: what is said is the same, or the others have nothing to say.
  const auto speaker = std::ranges::find_if(statuses, [](int status) { return status != 0; });
  if (speaker - statuses.begin() == all.rank()) say(where);
  all.close();
  return ending.status;
}

}  // namespace ordinal::cli
