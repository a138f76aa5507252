// sweep_journal.cpp: see sweep_journal.h.
#include "report/sweep_journal.h"

#include <optional>

#include "base/json.h"
#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::report {
namespace {

// The numbers of a row by their names, for writing and reading alike; null where there is none.
struct RowNumber {
  std::string_view name;
  std::optional<double> SweepRow::*what;
};
constexpr RowNumber kRowNumbers[] = {
    {"stderr", &SweepRow::std_error},    {"low", &SweepRow::low},
    {"high", &SweepRow::high},           {"delta", &SweepRow::delta},
    {"delta_low", &SweepRow::delta_low}, {"delta_high", &SweepRow::delta_high},
};

std::string string_of(const Json& object, std::string_view key) { return text(member(object, key), std::string(key)); }

}  // namespace

std::string unit_text(const SweepUnit& unit) {
  std::string what =
      unit.is_task ? unit.work + " over " + std::to_string(unit.length) + " tokens, seed " + std::to_string(unit.seed)
                   : "windows of " + std::to_string(unit.length) + " (" + unit.work + ")";
  what += ", " + unit.text + ", " + unit.model + ": " + joined(unit.positions, "  ");
  if (!unit.reference.empty()) what += ", against " + unit.reference;
  return what;
}

std::string journal_head(const Sweep& sweep) {
  JsonWriter json;
  json.begin_object();
  json.add("sweep", 1);
  json.add("plan", sweep.plan);
  json.add("units", std::ssize(sweep.units));
  json.end_object();
  return json.take();
}

std::string journal_line(const SweepUnit& unit, int64_t number) {
  JsonWriter json;
  json.begin_object();
  json.add("unit", number);
  json.add("model", unit.model);
  json.add("text", unit.text);
  json.add("work", unit.work);
  json.add("length", unit.length);
  if (unit.is_task) json.add("seed", unit.seed);
  if (!unit.error.empty()) json.add("error", unit.error);
  json.add("rows", [&] {
    json.begin_array();
    for (const SweepRow& row : unit.rows) {
      json.begin_object();
      json.add("position", row.position);
      json.add("standing", standing_name(row.standing));
      if (!row.refused.empty()) json.add("refused", row.refused);
      json.add("tokens", row.tokens);
      json.add("value", row.value);
      for (const auto& [name, what] : kRowNumbers) json.add(name, row.*what);
      json.end_object();
    }
    json.end_array();
  });
  json.add("seconds", unit.seconds);
  json.end_object();
  return json.take();
}

void check_journal_head(std::string_view line, const std::string& path, const Sweep& sweep) {
  const std::string found(line.substr(0, 200));
  if (line == journal_head(sweep)) return;
  throw Error("the journal " + path + " is not of this plan", journal_head(sweep), escaped(found),
              "another -o, or the plan, models and texts that it was begun with");
}

int64_t read_journal_line(std::string_view line, const std::string& path, int64_t line_number, Sweep& sweep) {
  const JsonDocument document = parse_json(line, path, line_number);
  const Json& root = document;
  const int64_t number = whole_number(member(object(root, "a unit"), "unit"), "unit", 0, std::ssize(sweep.units) - 1);
  SweepUnit& unit = sweep.units[static_cast<size_t>(number)];
  if (string_of(root, "model") != unit.model || string_of(root, "text") != unit.text ||
      string_of(root, "work") != unit.work || whole_number(member(root, "length"), "length") != unit.length)
    root.fail("a unit of a journal that is another in the plan", unit_text(unit), "unit " + std::to_string(number));
  const Json* error = find(root, "error");
  unit.error = error == nullptr ? "" : text(*error, "error");
  unit.seconds = ordinal::number(member(root, "seconds"), "seconds");
  unit.rows.clear();
  for (const Json& value : array(member(root, "rows"), "rows")) {
    SweepRow& row = unit.rows.emplace_back();
    row.position = string_of(value, "position");
    row.standing = static_cast<Standing>(one_of(kStandingNames, member(value, "standing"), "standing"));
    if (const Json* refused = find(value, "refused")) row.refused = text(*refused, "refused");
    row.tokens = whole_number(member(value, "tokens"), "tokens", 0);
    row.value = ordinal::number(member(value, "value"), "value");
    for (const auto& [name, what] : kRowNumbers)
      if (const Json* there = find(value, name)) row.*what = ordinal::number(*there, std::string(name));
  }
  unit.is_done = true;
  return number;
}

}  // namespace ordinal::report
