// sweep_test.cpp: `ordinal sweep`: its numbers, its journal, and going on after it was interrupted.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "fixture.h"
#include "process.h"
#include "support.h"

namespace {

using test::run;

constexpr const char* kPlan = R"({"schemes": ["native", "alibi", "rope:theta={100,1000}", "none"], "lengths": [32, 64],
  "protocols": ["whole", "sliding"], "tasks": ["copy"], "seeds": [1, 2], "tokens": 160})";

struct SweepFiles {
  test::Scratch folder;
  std::string plan = folder.path("plan.json"), journal = folder.path("r.jsonl"), page = folder.path("r.html");

  SweepFiles() { test::write_file(plan, kPlan); }
  test::Outcome sweep(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"sweep", plan, "-o", journal, "--html", page};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

std::vector<std::string> journal_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("sweep: losses and differences are those of compare, and a journal has a line for each unit") {
  const SweepFiles files;
  const test::Outcome done = files.sweep();
  test::check_done(done);
  CHECK(done.err.find("16 of 16 units done") != std::string::npos);
  const auto lines = journal_lines(test::read_file(files.journal));
  REQUIRE(lines.size() == 17);
  CHECK(nlohmann::json::parse(lines[0])["units"] == 16);
  const auto compared = test::json_of(
      run({"compare", "--positions", "alibi,none", "--lengths", "32,64", "--tokens", "160", "--json", "-", "-q"}));
  int found = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto unit = nlohmann::json::parse(lines[i]);
    if (unit["work"] == "copy") {
      for (const auto& row : unit["rows"])
        if (!row.contains("refused")) CHECK((row["value"] >= row["low"] && row["value"] <= row["high"]));
      continue;
    }
    for (const auto& row : unit["rows"])
      for (const auto& other : compared["rows"])
        if (other["position"] == row["position"] && other["length"] == unit["length"] &&
            other["protocol"] == unit["work"]) {
          CHECK(row["value"] == other["nll"]);
          CHECK(row["delta"] == other["delta_nll"]);
          CHECK(row["delta_low"] == other["delta_low"]);
          CHECK(row["standing"] == other["standing"]);
          ++found;
        }
  }
  CHECK(found >= 6);  // native, alibi and none at two lengths
  CHECK(test::read_file(files.page).find("rope:theta=1000") != std::string::npos);
}

TEST_CASE("sweep: tasks have shares with intervals") {
  const SweepFiles files;
  test::write_file(files.plan, R"({"schemes": ["native"], "lengths": [64], "tasks": ["find", "passkey"]})");
  test::check_done(files.sweep({"-q"}));
  int tasks = 0;
  for (const std::string& line : journal_lines(test::read_file(files.journal))) {
    const auto unit = nlohmann::json::parse(line);
    if (!unit.contains("seed")) continue;
    const auto& row = unit["rows"][0];
    CHECK(row["low"] <= row["value"]);
    CHECK(row["value"] <= row["high"]);
    CHECK(row["tokens"] == (unit["work"] == "find" ? 8 * 4 : 5 * 4));  // windows, each of 4 tokens; depths, 4 keys each
    ++tasks;
  }
  CHECK(tasks == 2);
}

TEST_CASE("sweep: however a journal was cut short, the same report comes of it") {
  const SweepFiles files;
  const test::Outcome whole = files.sweep({"-q"});
  test::check_done(whole);
  const std::string journal = test::read_file(files.journal), page = test::read_file(files.page);
  test::Random random(7);
  std::vector<size_t> cuts = {0, 1, journal.find('\n'), journal.find('\n') + 1, journal.size() - 1};
  for (int i = 0; i < 4; ++i) cuts.push_back(static_cast<size_t>(random.below(static_cast<int64_t>(journal.size()))));
  for (const size_t cut : cuts) {
    CAPTURE(cut);
    test::write_file(files.journal, journal.substr(0, cut));
    const test::Outcome again = files.sweep();
    test::check_done(again);
    CHECK(again.out == whole.out);
    CHECK(test::read_file(files.page) == page);
    CHECK(journal_lines(test::read_file(files.journal)).size() == 17);
    const bool torn = cut > 0 && journal[cut - 1] != '\n';
    CHECK((again.err.find("was not finished") != std::string::npos) == torn);
  }
}

TEST_CASE("sweep: the journal of another plan, and a file that is no journal, are refused and left alone") {
  const SweepFiles files;
  test::write_file(files.plan, R"({"schemes": ["native"], "lengths": [32], "tokens": 100})");
  test::check_done(files.sweep({"-q"}));
  const std::string before = test::read_file(files.journal);
  test::write_file(files.plan, R"({"schemes": ["native"], "lengths": [64], "tokens": 100})");
  test::check_failed(files.sweep({"-q"}), {"not of this plan"});
  CHECK(test::read_file(files.journal) == before);
  for (const char* other : {"Once upon a time", "Once upon a time\nthere was\n", "{}\n"}) {
    test::write_file(files.journal, other);
    test::check_failed(files.sweep({"-q"}), {"not of this plan"});
    CHECK(test::read_file(files.journal) == other);
  }
}

TEST_CASE("sweep: a unit that fails is recorded, the others are measured, and --retry does it again") {
  const SweepFiles files;
  test::write_file(files.plan, R"({"schemes": ["native"], "lengths": [32, 5000], "tokens": 100})");
  const test::Outcome failed = files.sweep();
  CHECK(failed.status == 1);
  CHECK(failed.err.find("1 of 2 units failed") != std::string::npos);
  CHECK(failed.out.find("failed") != std::string::npos);
  CHECK(failed.out.find("out of range") != std::string::npos);
  CHECK(journal_lines(test::read_file(files.journal)).size() == 3);
  const test::Outcome again = files.sweep();
  CHECK(again.out == failed.out);
  CHECK(journal_lines(test::read_file(files.journal)).size() == 3);
  CHECK(files.sweep({"--retry"}).out == failed.out);
  CHECK(journal_lines(test::read_file(files.journal)).size() == 4);
}

TEST_CASE("sweep: wrong usage is said before anything is opened") {
  test::check_failed(run({"sweep"}), {"no plan"}, 2);
  test::check_failed(run({"sweep", "p.json", "--retry"}), {"-o"}, 2);
  test::check_failed(run({"sweep", "p.json", "-o", "-"}), {"file"}, 2);
  test::check_failed(run({"sweep", "no/such/plan.json"}), {"plan.json"});
}

}  // namespace
