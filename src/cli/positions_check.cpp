// positions_check.cpp: `ordinal positions check`.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "report/json.h"
#include "report/text.h"
#include "study/check/checks.h"

namespace ordinal::cli {
namespace {

std::vector<report::CheckRow> rows_of(const Checks& checks) {
  std::vector<report::CheckRow> rows;
  for (const Check& check : checks)
    rows.push_back({.id = check.label.id,
                    .what = check.label.what,
                    .scheme = check.label.scheme,
                    .measured = check.measured,
                    .expected = check.expected,
                    .tolerance = check.tolerance,
                    .pass = check.passed()});
  return rows;
}

std::string number_of(double value, int digits) {
  if (std::isnan(value)) return "nan";  // of either sign
  std::array<char, 64> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, digits);
  return {buffer.data(), end.ptr};
}

// Errors in two digits; a number beside its expected value in as many as the tolerance calls for.
int digits_of(const report::CheckRow& row) {
  if (row.expected == "0" || row.expected.starts_with('<') || row.expected.starts_with('>')) return 2;
  return row.tolerance && *row.tolerance > 0 && *row.tolerance < 1e-8 ? 12 : row.tolerance ? 9 : 5;
}

std::string table_of(const std::vector<report::CheckRow>& rows) {
  const bool colored = output_takes_colour();
  const auto verdict = [&](const report::CheckRow& row) -> std::string {
    const bool shown = row.pass && row.expected.empty();
    const std::string word = shown ? "shown" : row.pass ? "pass" : "FAIL";
    if (!colored || shown) return word;
    return (row.pass ? "\x1b[32m" : "\x1b[31m") + word + "\x1b[0m";
  };
  std::vector<std::vector<std::string>> cells = {
      {"id", "scheme", "what", "measured", "expected", "tolerance", "result"}};
  for (const report::CheckRow& row : rows) {
    cells.push_back({row.id, report::escaped(row.scheme), row.what, number_of(row.measured, digits_of(row)),
                     row.expected.empty() ? "-" : row.expected, row.tolerance ? number_of(*row.tolerance, 2) : "-",
                     verdict(row)});
  }
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
                "Measures what position schemes promise, C1 to C15 of src/study/README.md: formulas in double, the "
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

  watch_signals();
  const Notes notes(quiet);
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
  const std::vector<report::CheckRow> rows = rows_of(checks);
  const auto failed = std::ranges::count(rows, false, &report::CheckRow::pass);
  write_out(json ? report::to_json(rows) + "\n"
                 : table_of(rows) + std::to_string(static_cast<int64_t>(rows.size()) - failed) + " passed, " +
                       std::to_string(failed) + " failed\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace ordinal::cli
