// positions_check.cpp: `ordinal positions check`.
#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "position/scheme.h"
#include "report/json.h"
#include "report/text.h"
#include "study/check/checks.h"

namespace ordinal::cli {
namespace {

std::string number_of(double value, int digits) {
  return std::isnan(value) ? "nan" : report::significant(value, digits);  // of either sign
}

// Errors in two digits; a number beside its expected value in as many as the tolerance calls for.
int digits_of(const Check& check) {
  if (check.expected == "0" || check.expected.starts_with('<') || check.expected.starts_with('>')) return 2;
  return check.tolerance && *check.tolerance > 0 && *check.tolerance < 1e-8 ? 12 : check.tolerance ? 9 : 5;
}

std::string table_of(const Checks& checks) {
  const bool colored = output_takes_colour();
  const auto verdict = [&](const Check& check) -> std::string {
    const bool shown = check.passed() && check.expected.empty();
    const std::string word = shown ? "shown" : check.passed() ? "pass" : "FAIL";
    if (!colored || shown) return word;
    return (check.passed() ? "\x1b[32m" : "\x1b[31m") + word + "\x1b[0m";
  };
  std::vector<std::vector<std::string>> cells = {
      {"id", "scheme", "what", "measured", "expected", "tolerance", "result"}};
  for (const Check& check : checks)
    cells.push_back({check.label.id, report::escaped(check.label.scheme), check.label.what,
                     number_of(check.measured, digits_of(check)), check.expected.empty() ? "-" : check.expected,
                     check.tolerance ? number_of(*check.tolerance, 2) : "-", verdict(check)});
  return report::table(cells, "lllrrrl");
}

// C2 before C10; within a check as they came.
void sort_by_id(Checks& checks) {
  std::ranges::stable_sort(checks, {}, [](const Check& check) { return std::stoi(check.label.id.substr(1)); });
}

}  // namespace

int run_positions_check(Arguments arguments) {
  std::optional<std::string> spec;
  ModelOptions model;
  bool json = false, quiet = false;
  Parser parser("positions check",
                "Measures what position schemes promise, C1 to C16 of src/study/README.md: formulas in double, the "
                "engine's own code, and whole models, random ones unless -m names a checkpoint. The exit status is 1 "
                "when a check fails.",
                "ordinal positions check rope:scaling=yarn,factor=4");
  parser.positional("spec", spec,
                    "the scheme to check [default: all with their defaults but the lab's, rope under "
                    "every scaling; with -m: native]");
  parser.option("-m,--model", "MODEL", model.model,
                "check this model under its own scheme, or SPEC: shift, word order, collisions, bits");
  parser.flag("--json", json, "an array of objects: id, what, scheme, measured, expected, tolerance, pass");
  parser.flag("-q,--quiet", quiet, "no notes and no progress on standard error");
  if (!parser.parse(arguments)) return 0;

  if (spec) check_position_spec(*spec);

  watch_signals();
  const Notes notes = parser.notes(quiet);
  Checks checks;
  if (model.model) {
    const auto opened = Model::bind(open_model_file(model, model_path(model), notes));
    checks = check_checkpoint(opened, spec.value_or("native"));
  } else {
    const std::vector<std::string> specs = spec ? std::vector{*spec} : specs_to_check();
    Progress progress("checks", quiet);
    for (size_t i = 0; i < specs.size(); ++i) {
      throw_if_interrupted();
      progress.update(static_cast<int64_t>(i), static_cast<int64_t>(specs.size()));
      const Checks more = check_scheme(specs[i]);
      checks.insert(checks.end(), more.begin(), more.end());
    }
  }
  sort_by_id(checks);
  const auto failed = std::ranges::count(checks, false, &Check::passed);
  write_out(json ? report::to_json(checks) + "\n"
                 : table_of(checks) + std::to_string(static_cast<int64_t>(checks.size()) - failed) + " passed, " +
                       std::to_string(failed) + " failed\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace ordinal::cli
