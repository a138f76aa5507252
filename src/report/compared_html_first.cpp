// compared_html_first.cpp: the first thing on the page of a comparison: the difference to the reference, by position in
// the window and by length.
#include <algorithm>
#include <cmath>

#include "draw/scale.h"
#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

constexpr size_t kMostLines = 7;  // more cannot be told apart
constexpr size_t kMostRows = 14;  // of the forest on the first screen; the section of differences has all

// The rows with differences by position at a length: what the weights know first, then what costs least.
std::vector<const ComparedRow*> lines_at(const Compared& result, int64_t length) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : result.rows)
    if (row.length == length && row.protocol == kWhole && !row.delta_by_position.empty()) rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [&](const ComparedRow* row) {
    const int index = scheme_index(result, row->position);
    const bool known = index >= 0 && result.schemes[static_cast<size_t>(index)].question <= Question::joint;
    return std::pair(!known, row->nll);
  });
  if (rows.size() > kMostLines) rows.resize(kMostLines);
  return rows;
}

// The scale is of the lines: a band from two windows would leave nothing to see of them.
void scale_to_lines(Chart& chart) {
  draw::Range range(false);
  for (const Series& series : chart.series)
    for (const double y : series.y) range.add(y);
  const auto [from, to] = range.ends();
  const double room = (to - from) * 0.1;
  chart.y.from = from - room, chart.y.to = to + room;
}

std::optional<Chart> by_position(const Compared& result, int64_t length) {
  const std::vector<const ComparedRow*> rows = lines_at(result, length);
  if (rows.empty()) return std::nullopt;
  const ComparedRow& one = *rows.front();
  const auto end = static_cast<double>(length);
  Chart chart{.title = "windows of " + count(length, "token", "tokens"),
              .x = {.title = "position in the window", .from = 0, .to = end},
              .y = {.title = "nats per token, + is worse"}};
  if (result.trained_length > 0 && result.trained_length <= length)
    chart.markers.push_back({.at = static_cast<double>(result.trained_length), .label = "trained length"});
  const bool recent = one.against_protocol == kRecent;
  chart.series.push_back({.name = one.against + (recent ? ", last tokens" : ""),
                          .x = {0, end},
                          .y = {0, 0},
                          .dashed = recent,
                          .colour = std::max(0, scheme_index(result, one.against))});
  for (const ComparedRow* row : rows) {
    Series line{.name = row->position, .colour = std::max(0, scheme_index(result, row->position))};
    for (size_t i = 0; i < row->delta_by_position.size(); ++i) {
      const Estimate& e = row->delta_by_position[i];
      line.x.push_back((static_cast<double>(i) + 0.5) * static_cast<double>(row->loss_step));
      line.y.push_back(e.mean);
      line.low.push_back(e.low), line.high.push_back(e.high);
    }
    chart.series.push_back(std::move(line));
  }
  scale_to_lines(chart);
  return chart;
}

Estimate cell_of(const ComparedRow* row) {
  if (row == nullptr || !row->refused.empty() || !row->delta_nll) return {.mean = kNan};
  Estimate cell{.mean = *row->delta_nll};
  if (row->delta_low && row->delta_high) cell.low = *row->delta_low, cell.high = *row->delta_high;
  return cell;
}

// Differences to the reference: schemes down, lengths across. Best first, by the longest length that a scheme reaches.
Forest forest_of(const Compared& result, std::string_view protocol) {
  Forest forest{.x_title = "difference to " + result.reference + " (nats)"};
  const std::vector<int64_t> lengths = lengths_of(result);
  for (const int64_t length : lengths)
    forest.columns.push_back(grouped(length) + (length == result.trained_length ? " ◂ trained" : ""));
  const auto add = [&](std::string_view position, std::string_view cut, const std::string& after) {
    Forest::Row row{.name = short_name(position) + after, .colour = std::max(0, scheme_index(result, position))};
    for (const int64_t length : lengths) row.cells.push_back(cell_of(find_row(result, position, length, cut)));
    if (std::ranges::any_of(row.cells, [](const Estimate& cell) { return std::isfinite(cell.mean); }))
      forest.rows.push_back(std::move(row));
  };
  for (const ComparedScheme& scheme : result.schemes) add(scheme.position, protocol, "");
  if (protocol == kWhole) add(result.native, kRecent, ", last tokens");
  // Lengths that have nothing to show, as those inside the trained one where windows slide.
  for (size_t c = forest.columns.size(); c-- > 0;) {
    if (std::ranges::any_of(forest.rows, [&](const Forest::Row& row) { return std::isfinite(row.cells[c].mean); }))
      continue;
    const auto at = static_cast<ptrdiff_t>(c);
    forest.columns.erase(forest.columns.begin() + at);
    for (Forest::Row& row : forest.rows) row.cells.erase(row.cells.begin() + at);
  }
  std::ranges::stable_sort(forest.rows, {}, [&](const Forest::Row& row) {
    for (size_t c = row.cells.size(); c-- > 0;)
      if (std::isfinite(row.cells[c].mean)) return std::pair(row.cells.size() - c, row.cells[c].mean);
    return std::pair(row.cells.size() + 1, 0.0);
  });
  return forest;
}

double forest_height(const Forest& forest) { return 76 + 27 * static_cast<double>(forest.rows.size()); }

std::string position_caption(const Compared& result) {
  return "Differences to " + spec(result.reference) +
         " on the same tokens. Bands are 95&nbsp;% intervals over windows, cut where the scale of the lines ends. A "
         "line "
         "that leaves 0 at the trained length shows a scheme that does not reach further.";
}

std::string clipped_caption(const Compared& result) {
  return "Differences to " + spec(result.reference) +
         " on the same tokens, by position in the window and by length. Bands and bars are 95&nbsp;% intervals over "
         "windows; the scale is of the lines, so that wide bands are cut. What is far off stands at the edge as a "
         "number. A line that leaves 0 at the trained length shows a scheme that does not reach further.";
}

}  // namespace

std::string difference_by_position(const Compared& result) {
  std::vector<int64_t> lengths = lengths_of(result);
  std::ranges::reverse(lengths);
  std::optional<Chart> chart;
  for (const int64_t length : lengths)
    if (!chart) chart = by_position(result, length);
  Forest forest = forest_of(result, kWhole);
  if (!chart && forest.rows.empty()) return paragraph("nothing", "No scheme ran beside the reference.");
  const bool more = forest.rows.size() > kMostRows;
  if (more) forest.rows.resize(kMostRows);
  Drawing drawing{.key = "difference-by-position",
                  .label = "Difference to the reference",
                  .width = 560,
                  .height = std::max(360.0, forest_height(forest)),
                  .wide_only = true};
  std::string narrow;
  if (chart) {
    // The same once more for a phone, where letters must not shrink with the picture.
    Drawing small{.key = "difference-by-position-narrow",
                  .label = "Difference to the reference by position",
                  .panels = {*chart},
                  .caption = position_caption(result),
                  .width = 360,
                  .height = 330,
                  .narrow_only = true};
    narrow = figure(result, std::move(small));
    drawing.panels.emplace_back(std::move(*chart));
  }
  if (!forest.rows.empty()) drawing.panels.emplace_back(std::move(forest));
  drawing.caption = clipped_caption(result) +
                    (more ? " The " + std::to_string(kMostRows) +
                                " best of the schemes are here, <a href=\"#difference\">all further down</a>."
                          : "");
  return figure(result, std::move(drawing)) + narrow;
}

std::string differences(const Compared& result) {
  std::string out;
  int figures = 0;
  for (const std::string& protocol : protocols_of(result)) {
    Forest forest = forest_of(result, protocol);
    if (forest.rows.empty()) continue;
    Drawing drawing{.key = "differences-" + std::to_string(++figures),
                    .label = "Difference to the reference, " + protocol_title(protocol),
                    .width = 760,
                    .height = forest_height(forest),
                    .columns = 1,
                    .wide = true};
    drawing.panels.emplace_back(std::move(forest));
    out += "<h3>" + html(protocol_title(protocol)) + "</h3>\n" + figure(result, std::move(drawing));
  }
  if (out.empty()) return paragraph("nothing", "No scheme ran beside the reference.");
  // The first screen has the longest windows by position.
  const std::vector<int64_t> lengths = lengths_of(result);
  if (lengths.back() > result.trained_length)
    if (std::optional<Chart> inside = by_position(result, result.trained_length)) {
      Drawing drawing{.key = "difference-inside", .label = "Difference by position inside the trained length"};
      drawing.panels.emplace_back(std::move(*inside));
      drawing.caption = "By position in windows of the trained length.";
      out += "<h3>Inside the trained length</h3>\n" + figure(result, std::move(drawing));
    }
  return "<p>A sign is the mean difference to " + spec(result.reference) +
         " on the same tokens, the bar through it the 95&nbsp;% interval; to the left of 0 is better. All lengths have "
         "one axis.</p>\n" +
         out;
}

}  // namespace ordinal::report::page
