// sweep_tables.cpp: see sweep_tables.h. A table for each model, text and kind of work: schemes down, lengths across.
#include "report/sweep_tables.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "report/sweep_journal.h"
#include "report/text.h"

namespace ordinal::report {
namespace {

struct Cell {
  std::string text;
  std::string why;  // of a scheme that was refused, or a unit that failed
};

struct SweepTable {
  std::string title;
  std::vector<int64_t> lengths;
  std::vector<std::string> positions;
  std::vector<std::vector<Cell>> cells;  // [positions][lengths]
};

std::string table_title(const SweepUnit& unit) {
  return (unit.is_task ? "Right in " + unit.work + ", seed " + std::to_string(unit.seed)
                       : "Loss in nats per token, windows " + unit.work +
                             (unit.reference.empty() ? "" : ", and from ") + unit.reference) +
         ": " + unit.model + ", " + unit.text;
}

std::string signed_text(double value) { return (value < 0 ? "" : "+") + fixed(value, 4); }

// A difference counts where its interval leaves out zero: then it has a star.
Cell sweep_cell(const SweepUnit& unit, const SweepRow& row) {
  if (!row.refused.empty()) return {"-", row.position + ": " + row.refused};
  std::string text = unit.is_task ? fixed(100 * row.value, 1) + " %" : fixed(row.value, 4);
  if (unit.is_task && row.low) text += " (" + fixed(100 * *row.low, 0) + "-" + fixed(100 * *row.high, 0) + ")";
  if (row.delta) {
    text += " " + signed_text(*row.delta);
    if (row.delta_low && (*row.delta_low > 0 || *row.delta_high < 0)) text += "*";
  }
  return {text, ""};
}

template <class Item>
size_t index_in(std::vector<Item>& items, const Item& item) {
  const auto found = std::ranges::find(items, item);
  if (found != items.end()) return static_cast<size_t>(found - items.begin());
  items.push_back(item);
  return items.size() - 1;
}

std::vector<SweepTable> tables_of(const Sweep& sweep) {
  std::vector<SweepTable> tables;
  for (const SweepUnit& unit : sweep.units) {
    const std::string title = table_title(unit);
    auto table = std::ranges::find(tables, title, &SweepTable::title);
    if (table == tables.end())
      table = tables.insert(tables.end(), {.title = title, .lengths = {}, .positions = {}, .cells = {}});
    const size_t column = index_in(table->lengths, unit.length);
    const auto put = [&](const std::string& position, const Cell& cell) {
      const size_t row = index_in(table->positions, position);
      table->cells.resize(table->positions.size());
      table->cells[row].resize(std::max(table->cells[row].size(), column + 1));
      table->cells[row][column] = cell;
    };
    for (const SweepRow& row : unit.rows) put(row.position, sweep_cell(unit, row));
    if (!unit.is_done || !unit.error.empty())
      for (const std::string& position : unit.positions)
        put(position, unit.is_done ? Cell{"failed", unit_text(unit) + ": " + unit.error} : Cell{"not done", ""});
  }
  for (SweepTable& table : tables)
    for (std::vector<Cell>& row : table.cells) row.resize(table.lengths.size());
  return tables;
}

// Each reason once, in the order of the tables.
std::vector<std::string> refusals_of(std::span<const SweepTable> tables) {
  std::vector<std::string> reasons;
  for (const SweepTable& table : tables)
    for (const std::vector<Cell>& row : table.cells)
      for (const Cell& cell : row)
        if (!cell.why.empty()) index_in(reasons, cell.why);
  return reasons;
}

constexpr std::string_view kSweepNote =
    "A difference with * is one whose 95 % interval leaves out zero. In brackets: Wilson's 95 % interval, in percent.";

std::string page_text(std::string_view text) {
  std::string safe;
  for (const char c : escaped(text))
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

}  // namespace

std::string to_text(const Sweep& sweep, size_t width) {
  const std::vector<SweepTable> tables = tables_of(sweep);
  std::string text;
  for (const SweepTable& found : tables) {
    std::vector<std::vector<std::string>> rows = {{"position"}};
    for (const int64_t length : found.lengths) rows.front().push_back(grouped(length));
    for (size_t p = 0; p < found.positions.size(); ++p) {
      std::vector<std::string>& row = rows.emplace_back(1, escaped(found.positions[p]));
      for (const Cell& cell : found.cells[p]) row.push_back(cell.text);
    }
    text +=
        escaped(found.title) + "\n" + table_in_parts(rows, "l" + std::string(found.lengths.size(), 'r'), width) + "\n";
  }
  for (const std::string& reason : refusals_of(tables)) text += wrapped(escaped(reason), width) + "\n";
  return text + std::string(kSweepNote) + "\n";
}

std::string to_html(const Sweep& sweep, const std::string& title) {
  const std::vector<SweepTable> tables = tables_of(sweep);
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      page_text(title) +
      "</title>\n<style>\n"
      ":root { color-scheme: light dark }\n"
      "body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }\n"
      ".table { overflow-x: auto }\n"
      "table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
      "caption { text-align: left; font-weight: 600; padding: 1rem 0 .4rem }\n"
      "th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #8885; white-space: nowrap }\n"
      "th[scope=row] { text-align: left; font-family: monospace; font-weight: 400 }\n"
      "</style></head><body>\n<main>\n<h1>" +
      page_text(title) + "</h1>\n";
  for (const SweepTable& found : tables) {
    page += "<div class=\"table\" tabindex=\"0\"><table><caption>" + page_text(found.title) +
            "</caption>\n<thead><tr><th scope=\"col\">position</th>";
    for (const int64_t length : found.lengths) page += "<th scope=\"col\">" + grouped(length) + "</th>";
    page += "</tr></thead><tbody>\n";
    for (size_t p = 0; p < found.positions.size(); ++p) {
      page += "<tr><th scope=\"row\">" + page_text(found.positions[p]) + "</th>";
      for (const Cell& cell : found.cells[p]) page += "<td>" + page_text(cell.text) + "</td>";
      page += "</tr>\n";
    }
    page += "</tbody></table></div>\n";
  }
  for (const std::string& reason : refusals_of(tables)) page += "<p>" + page_text(reason) + "</p>\n";
  return page + "<p>" + page_text(kSweepNote) + "</p>\n</main></body></html>\n";
}

}  // namespace ordinal::report
