// positions_check_test.cpp: `ordinal positions check`: exit status, table, JSON and errors.
#include <algorithm>

#include "fixture.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;

TEST_CASE("cli positions check: everything passes, and every check is there") {
  if (kSanitized) return;  // some seconds become a minute
  Command command;
  command.arguments = {"positions", "check"};
  command.limit_s = 300;  // under an emulator too
  const Outcome outcome = run(command);
  check_done(outcome);
  for (int id = 1; id <= 15; ++id) CHECK(outcome.out.find("\nC" + std::to_string(id) + " ") != std::string::npos);
  CHECK(outcome.out.find("FAIL") == std::string::npos);
  CHECK(outcome.out.ends_with(" passed, 0 failed\n"));
  for (const char* lab : {"index", "normalized"}) CHECK(outcome.out.find(lab) == std::string::npos);
}

TEST_CASE("cli positions check: one scheme, as a table and as JSON with the same lines") {
  const Outcome table = run({"positions", "check", "alibi"});
  check_done(table);
  CHECK(table.out.starts_with("id   scheme  what"));
  CHECK(table.out.find('\x1b') == std::string::npos);  // no colours into a pipe
  const nlohmann::json json = json_of(run({"positions", "check", "alibi", "--json"}));
  CHECK(std::ranges::count(table.out, '\n') == static_cast<int64_t>(json.size()) + 2);
  for (const nlohmann::json& row : json) {
    for (const char* key : {"id", "what", "scheme", "measured", "expected", "tolerance", "pass"})
      CHECK_MESSAGE(row.contains(key), key);
    CHECK(row["measured"].is_number());
    CHECK(row["scheme"] == "alibi");
    CHECK(row["pass"] == true);
  }
}

TEST_CASE("cli positions check: a check that fails ends with status 1 and a full table") {
  const Strings arguments = {"positions", "check", "alibi:max_bias=1000"};  // slopes of next to nothing show no order
  const Outcome table = run(arguments);
  CHECK(table.status == 1);
  CHECK(table.out.find("FAIL") != std::string::npos);
  CHECK(table.out.find(" passed, 1 failed\n") != std::string::npos);
  CHECK(table.err.empty());
  const Outcome json = run({"positions", "check", arguments[2], "--json"});
  CHECK(json.status == 1);
  CHECK(std::ranges::count_if(json_of(json), [](const nlohmann::json& row) { return row["pass"] == false; }) == 1);
}

TEST_CASE("cli positions check: a checkpoint, under its own scheme or another") {
  const std::string tales = repository("models/tales.ordinal");
  const nlohmann::json native = json_of(run({"positions", "check", "-m", tales, "--json"}));
  CHECK(std::ranges::all_of(native, [](const nlohmann::json& row) { return row["scheme"] == "rope"; }));
  const nlohmann::json own = json_of(run({"positions", "check", "learned", "-m", tales, "--json"}));
  Strings ids;
  for (const nlohmann::json& row : own) {
    CHECK(row["scheme"] == "learned");
    CHECK(row["pass"] == true);
    const std::string id = row["id"];
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  CHECK(ids == Strings{"C4", "C8", "C10", "C13", "C14"});
  for (const char* spec : {"none", "rope:scaling=yarn,factor=2", "native;layers=0:none"})
    check_done(run({"positions", "check", spec, "-m", tales}));
  check_done(run({"positions", "check", "-m", bare_model()}));
  check_failed(run({"positions", "check", "shaw", "-m", tales}), {"attn_rel_k"});
  check_failed(run({"positions", "check", "-m", "/no/such/model.ordinal"}), {"/no/such/model.ordinal"});
}

TEST_CASE("cli positions check: bad specs are errors, wrong usage exits 2, and help has an example") {
  check_failed(run({"positions", "check", "nope"}), {"relative_bias"});
  check_failed(run({"positions", "check", "rope:base=5"}), {"theta"});
  check_failed(run({"positions", "check", "native"}), {"-m MODEL"});
  check_failed(run({"positions", "check", ""}), {"spec"});
  check_failed(run({"positions", "check", "rope", "alibi"}), {"too many"}, 2);
  check_failed(run({"positions", "check", "--bogus"}), {"--help"}, 2);
  const Outcome help = run({"positions", "check", "--help"});
  check_done(help);
  CHECK(help.out.find("Example:\n  ordinal positions check") != std::string::npos);
  check_failed(run({"positions", "dance"}), {"check"}, 2);
}
