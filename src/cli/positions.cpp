// positions.cpp: `ordinal positions`.
#include "ordinal/position.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {

namespace {

// GPT-2's heads stand in for a model.
constexpr AttentionShape kShape{.n_layers = 12,
                                .d_model = 768,
                                .n_heads = 12,
                                .n_kv_heads = 12,
                                .head_dim = 64,
                                .trained_length = 1024,
                                .length = 1024};

// What a scheme, rope with a scaling, or a modifier is and takes.
SchemeRow row_of(const SchemeInfo& info, const SchemeFacts& facts, const std::string& name) {
  SchemeRow row;
  row.name = name;
  row.kind = info.kind;
  row.summary = info.summary;
  row.acts_on = info.acts_on;
  row.source = info.source;
  for (const SchemeTensor& tensor : facts.tensors)
    if (!tensor.is_optional) row.tensors += (row.tensors.empty() ? "" : ", ") + tensor.name;
  for (const SchemeParam& param : facts.params) row.params.push_back({param.key, param.otherwise, param.allowed});
  return row;
}

std::vector<SchemeRow> all_rows() {
  std::vector<SchemeRow> rows;
  for (const SchemeInfo& info : position_schemes()) {
    rows.push_back(row_of(info, describe_position_scheme(info.name, kShape), std::string(info.name)));
    if (info.name != "rope") continue;
    std::vector<std::string> rope_params;
    for (const SchemeParamRow& param : rows.back().params) rope_params.push_back(param.key);
    for (const SchemeInfo& scaling : rope_scalings()) {
      if (scaling.name == "none") continue;
      const std::string spec = "rope:scaling=" + std::string(scaling.name);
      rows.push_back(row_of(scaling, describe_position_scheme(spec, kShape), spec));
      rows.back().kind = info.kind;
      rows.back().acts_on = info.acts_on;
      std::erase_if(rows.back().params, [&](const SchemeParamRow& param) {  // rope's own stand there already
        return param.key == "scaling" || std::ranges::count(rope_params, param.key) > 0;
      });
    }
  }
  for (const SchemeInfo& info : position_modifiers())
    rows.push_back(row_of(info, describe_position_modifier(info.name, kShape), ";with=" + std::string(info.name)));
  return rows;
}

// A line of its own for what each scheme takes and where it was published.
std::string list_of(const std::vector<SchemeRow>& schemes) {
  std::vector<std::vector<std::string>> cells = {{"name", "kind", "what it does"}};
  for (const SchemeRow& scheme : schemes) {
    cells.push_back({scheme.name, scheme.kind, scheme.summary});
    std::string params;
    for (const auto& [key, otherwise, allowed] : scheme.params)
      params += (params.empty() ? "" : ", ") + key + "=" + (otherwise.empty() ? "(" + allowed + ")" : otherwise);
    if (!params.empty()) cells.push_back({"", "", "takes " + params});
    if (!scheme.tensors.empty()) cells.push_back({"", "", "needs " + scheme.tensors});
    cells.push_back({"", "", "from " + scheme.source});
  }
  return report::table(cells, "lll");
}

}  // namespace

int run_positions(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "check") return run_positions_check(arguments.subspan(1));
  if (!arguments.empty() && arguments[0] == "plot") return run_positions_plot(arguments.subspan(1));
  std::optional<std::string> action;
  bool json = false;
  Parser parser(
      "positions",
      "Lists the position schemes and what each takes, with the defaults of a model of GPT-2's size: --position "
      "NAME or NAME:KEY=VALUE,KEY=VALUE, and after any of them modifiers, NAME;with=NAME:KEY=VALUE. Relative ones give "
      "the same scores when all positions move together; anchored ones add nothing to the embedding, yet depend on "
      "where the text starts.",
      "ordinal positions list");
  parser.positional(
      "action", action,
      "list; or check or plot, which have options of their own: `ordinal positions check --help` [default: list]");
  parser.flag("--json", json, "an array of objects with the same facts");
  if (!parser.parse(arguments)) return 0;
  if (action && *action != "list")
    throw UsageError{"positions has no action '" + report::escaped(*action) + "'\n  expected: list, check, plot",
                     "ordinal positions list"};

  const std::vector<SchemeRow> schemes = all_rows();
  write_out(json ? report::to_json(schemes) + "\n" : list_of(schemes));
  return 0;
}

}  // namespace ordinal::cli
