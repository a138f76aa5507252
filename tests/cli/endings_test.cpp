// endings_test.cpp: how a run ends from outside: Ctrl-C, a closed pipe, a full disk, missing streams.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/words.h"
#include "fixture.h"
#include "process.h"

using namespace test;
namespace fs = std::filesystem;

namespace {

// Runs for minutes when left alone.
Command endless(std::vector<std::string> more) {
  Command command;
  command.arguments = {"generate", "-m", slow_model(), "--ids", "1,2,3", "-n", "8000", "--seed", "1", "--ignore-eos"};
  command.arguments.insert(command.arguments.end(), more.begin(), more.end());
  return command;
}

}  // namespace

TEST_CASE("cli endings: Ctrl-C leaves the text so far and the timings, and exits 130") {
  Command command = endless({});
  command.watch = [](const std::string& out, const std::string&) {
    return out.size() > 20 ? Command::Action::interrupt : Command::Action::none;
  };
  const Outcome outcome = run(command);
  CHECK(!outcome.timed_out);
  CHECK(outcome.status == 130);
  CHECK(outcome.signal == 0);
  CHECK(outcome.out.size() > 20);
  CHECK(outcome.err.find("decode") != std::string::npos);
  CHECK(outcome.err.find("error") == std::string::npos);
  // What was written is the beginning of what the whole run writes.
  const std::string again =
      run({"generate", "-m", slow_model(), "--ids", "1,2,3", "-n", "15", "--seed", "1", "--ignore-eos", "-q"}).out;
  CHECK(outcome.out.substr(0, 15) == again.substr(0, 15));
}

TEST_CASE("cli endings: Ctrl-C with --json leaves a whole result") {
  Command command = endless({"--json"});
  std::erase(command.arguments, "--seed");  // so that the seed is printed, just before the work begins
  std::erase(command.arguments, "1");
  command.watch = [](const std::string&, const std::string& err) {
    return err.find("seed") != std::string::npos ? Command::Action::interrupt : Command::Action::none;
  };
  const Outcome outcome = run(command);
  CHECK(!outcome.timed_out);
  CHECK(outcome.status == 130);
  const nlohmann::json json = json_of(outcome);
  CHECK(json["finish"] == "interrupted");
  CHECK(json["ids"].size() < 8000);
}

TEST_CASE("cli endings: a closed pipe ends quietly") {
  Command command = endless({});
  command.watch = [](const std::string& out, const std::string&) {
    return out.size() > 10 ? Command::Action::close_output : Command::Action::none;
  };
  const Outcome outcome = run(command);
  CHECK(!outcome.timed_out);
  CHECK(outcome.signal == 0);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.find("error") == std::string::npos);
}

TEST_CASE("cli endings: a full disk is an error") {
  if (!fs::exists("/dev/full")) return;
  Command command;
  command.output_file = "/dev/full";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"generate", "-m", byte_model(), "x", "-n", "3"},
        std::vector<std::string>{"tokenize", "-m", byte_model(), "x"}, std::vector<std::string>{"--help"}}) {
    command.arguments = arguments;
    check_failed(run(command), {"no space"});
  }
}

TEST_CASE("cli endings: a model file that is cut short while it is in use is named") {
  const Scratch scratch;
  const std::string model = scratch.path("model.ordinal");
  fs::copy_file(slow_model(), model);
  const auto whole = static_cast<int64_t>(fs::file_size(model));
  Command command = endless({"-m", model, "-q"});
  command.arguments.erase(command.arguments.begin() + 1, command.arguments.begin() + 3);  // the other -m
  bool cut = false;
  command.watch = [&](const std::string& out, const std::string&) {
    if (out.size() > 10 && !std::exchange(cut, true)) fs::resize_file(model, 4096);
    return Command::Action::none;
  };
  const Outcome outcome = run(command);
  CAPTURE(outcome.err);
  CHECK(!outcome.timed_out);
  CHECK(outcome.signal == 0);
  CHECK(outcome.status == 1);
  CHECK(outcome.out.size() > 10);
  CHECK(outcome.err.starts_with("ordinal: error: " + model + " was cut short"));
  CHECK(outcome.err.find("\n  expected: " + ordinal::grouped(whole) + " bytes") != std::string::npos);
  CHECK(outcome.err.find("\n  found:    4,096 bytes\n  try:      ") != std::string::npos);
  CHECK(std::ranges::count(outcome.err, '\n') == 4);
}

TEST_CASE("cli endings: quiet means quiet, errors excepted") {
  const Outcome outcome = run({"generate", "-m", byte_model(), "x", "-n", "100", "-q"});
  check_done(outcome);
  CHECK(outcome.err.empty());
  check_failed(run({"generate", "-m", byte_model(), std::string(50, 'x'), "-q"}), {"context"});
}
