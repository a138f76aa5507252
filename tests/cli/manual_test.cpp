// manual_test.cpp: the manual page and completions: they have what --help has, and shells take them.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "fixture.h"
#include "process.h"

using namespace test;

namespace {

std::string manual(const std::string& kind) {
  const Outcome outcome = run({"manual", kind});
  check_done(outcome);
  return outcome.out;
}

// Every option of every command, as its --help names it.
std::set<std::string> long_options() {
  std::set<std::string> names;
  std::istringstream lines(run({"--help"}).out);
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Commands:")) listed = true;
    if (!listed || !line.starts_with("  ") || line[2] == '-') continue;
    std::istringstream words(line);
    std::string command, word;
    words >> command;
    if (command == "ordinal") break;
    std::istringstream help(run({command, "--help"}).out);
    while (std::getline(help, line)) {
      if (!line.starts_with("  -")) continue;
      line = line.substr(2, line.find(' ', 2) - 2);
      for (size_t at = line.find("--"); at != std::string::npos; at = line.find("--", at + 2))
        names.insert(line.substr(at, line.find(',', at) - at));
    }
  }
  return names;
}

std::string shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  CHECK(pclose(pipe) == 0);
  return text;
}

}  // namespace

TEST_CASE("manual: pages and completions have every option that --help has") {
  const std::set<std::string> names = long_options();
  CHECK(names.size() > 80);
  const std::string bash = manual("bash"), zsh = manual("zsh"), fish = manual("fish");
  std::string man = manual("man");
  for (size_t at = man.find("\\-"); at != std::string::npos; at = man.find("\\-", at)) man.erase(at, 1);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(man.find(name) != std::string::npos);
    CHECK(bash.find(name) != std::string::npos);
    CHECK(zsh.find(name + "[") != std::string::npos);
    CHECK(fish.find("-l " + name.substr(2)) != std::string::npos);
  }
  CHECK(man.find("ordinal positions check") != std::string::npos);
  CHECK(manual("systemd").find("ExecStart=") != std::string::npos);
}

TEST_CASE("manual: bash completes commands, options and the words that a value can be") {
  const Scratch scratch;
  write_file(scratch.path("ordinal"), manual("bash"));
  const auto completed = [&](const std::string& words, int at) {
    return shell("bash -c 'source " + scratch.path("ordinal") + "; COMP_WORDS=(" + words +
                 "); COMP_CWORD=" + std::to_string(at) + "; _ordinal; printf \"%s \" \"${COMPREPLY[@]}\"'");
  };
  CHECK(completed("ordinal gen", 1) == "generate ");
#ifndef ORDINAL_WITHOUT_SERVER
  CHECK(completed("ordinal serve --po", 2) == "--port --position ");
  CHECK(completed("ordinal serve --log \"\"", 3) == "text json ");
#endif
  CHECK(completed("ordinal positions pl", 2) == "plot ");
  CHECK(completed("ordinal positions plot --ki", 3) == "--kind ");
}

TEST_CASE("manual: troff takes the page without a word") {
  if (std::system("command -v groff >/dev/null") != 0) {
    MESSAGE("groff is not here; the page was not formatted");
    return;
  }
  const Scratch scratch;
  write_file(scratch.path("ordinal.1"), manual("man"));
  const std::string page = shell("groff -man -Tascii -P-cbou -ww " + scratch.path("ordinal.1") + " 2>&1");
  CHECK(page.find("warning") == std::string::npos);
  CHECK(page.find("error:") == std::string::npos);
  CHECK(page.find("--temperature") != std::string::npos);
}

TEST_CASE("manual: another kind is refused") { check_failed(run({"manual", "csh"}), {"man, bash, zsh"}, 2); }
