// positions.cpp: `ordinal positions`.
#include "ordinal/position.h"

#include "cli/commands.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {

int run_positions(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "check") return run_positions_check(arguments.subspan(1));
  if (!arguments.empty() && arguments[0] == "plot") return run_positions_plot(arguments.subspan(1));
  std::optional<std::string> action;
  bool json = false;
  Parser parser("positions",
                "Lists the position schemes: what --position takes, as NAME or NAME:KEY=VALUE,KEY=VALUE. Relative ones "
                "give the same scores when all positions move together.",
                "ordinal positions list");
  parser.positional(
      "action", action,
      "list; or check or plot, which have options of their own: `ordinal positions check --help` [default: list]");
  parser.flag("--json", json, "an array of name, kind, summary");
  if (!parser.parse(arguments)) return 0;
  if (action && *action != "list")
    throw UsageError{"positions has no action '" + report::escaped(*action) + "'\n  expected: list, check, plot",
                     "ordinal positions list"};

  std::vector<report::SchemeRow> schemes;
  std::vector<std::vector<std::string>> rows = {{"name", "kind", "what it does"}};
  for (const SchemeInfo& info : position_schemes()) {
    schemes.push_back({std::string(info.name), std::string(info.kind), std::string(info.summary)});
    rows.push_back({schemes.back().name, schemes.back().kind, schemes.back().summary});
  }
  write_out(json ? report::to_json(schemes) + "\n" : report::table(rows, "lll"));
  return 0;
}

}  // namespace ordinal::cli
