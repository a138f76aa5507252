// forest.cpp: means and their intervals, a row for each name, a column for each question, all on one axis.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "draw/palette.h"
#include "draw/parts.h"

namespace ordinal::draw {
namespace {

constexpr double kFarOff = 4;  // times the middle one of all means: what is farther stands at the edge

// From what is not far off, with its intervals as far as they are not either; 0 is always there.
std::pair<double, double> ends_of(const Forest& forest) {
  std::vector<double> sizes;
  for (const Forest::Row& row : forest.rows)
    for (const Estimate& cell : row.cells)
      if (std::isfinite(cell.mean) && cell.mean != 0) sizes.push_back(std::abs(cell.mean));
  if (sizes.empty()) return {-1, 1};
  std::ranges::sort(sizes);
  const double far = kFarOff * sizes[sizes.size() / 2];
  double least = 0, greatest = 0;
  for (const Forest::Row& row : forest.rows)
    for (const Estimate& cell : row.cells)
      if (std::abs(cell.mean) <= far)
        for (const double value : {cell.mean, cell.low, cell.high})
          if (std::isfinite(value)) {
            least = std::min(least, std::max(value, -far));
            greatest = std::max(greatest, std::min(value, far));
          }
  const double room = (greatest - least) * 0.06;
  return {least - room, greatest + room};
}

void draw_cell(Canvas& canvas, const Scale& x, double y, const Estimate& cell, int look) {
  if (!std::isfinite(cell.mean)) return;
  canvas.out += "<g" + attribute("class", colour_class(look)) + attribute("data-mean", svg_number(cell.mean)) +
                attribute("data-low", svg_number(cell.low)) + attribute("data-high", svg_number(cell.high)) + ">";
  const bool left = cell.mean<x.from, right = cell.mean> x.to;
  if (left || right) {
    const double edge = left ? x.a : x.b, into = left ? 1 : -1;
    canvas.out += "<path class=\"oc-fill\"" +
                  attribute("d", "M" + svg_place(edge) + " " + svg_place(y) + "l" + svg_place(6 * into) + " -4v8Z") +
                  "/></g>\n";
    const std::string number = (left ? "−" : "+") + fixed(std::abs(cell.mean), 2);
    canvas.text(edge + 9 * into, y + 4, number, left ? "start" : "end", "oc-tick");
    return;
  }
  if (cell.has_interval()) {
    const double low = x(std::max(cell.low, x.from)), high = x(std::min(cell.high, x.to));
    canvas.line(low, y, high, y, "oc-line");
    // A bar that goes on has no foot.
    if (cell.low >= x.from) canvas.line(low, y - 3, low, y + 3, "oc-line");
    if (cell.high <= x.to) canvas.line(high, y - 3, high, y + 3, "oc-line");
  }
  canvas.out +=
      "<path class=\"oc-fill\"" + attribute("d", marker_path(marker_of(look), x(cell.mean), y, 3.6)) + "/></g>\n";
}

}  // namespace

void draw_forest(Canvas& canvas, const Forest& forest, const Box& box) {
  canvas.out += "<g" + attribute("class", "oc-forest") + attribute("data-key", forest.key) + ">\n";
  const Box inner = draw_title(canvas, forest.title, box);
  double names = 0;
  for (const Forest::Row& row : forest.rows) names = std::max(names, text_width(row.name, kTickSize));
  names = std::min(names, 0.36 * inner.width) + 20;
  const double head = kTickSize + 10, foot = kTickSize + 8 + kLine;
  const Box plot{inner.x + names, inner.y + head, inner.width - names - 6, inner.height - head - foot};
  const auto columns = static_cast<double>(std::max<size_t>(1, forest.columns.size()));
  const double width = plot.width / columns,
               height = plot.height / static_cast<double>(std::max<size_t>(1, forest.rows.size()));
  const auto [from, to] = ends_of(forest);
  const auto row_y = [&](size_t r) { return plot.y + height * (static_cast<double>(r) + 0.5); };

  for (size_t c = 0; c < forest.columns.size(); ++c) {
    const double left = plot.x + width * static_cast<double>(c);
    const Scale x{.from = from, .to = to, .a = left + 5, .b = left + width - 5};
    canvas.text(left + width / 2, plot.y - 7, forest.columns[c], "middle", "oc-tick");
    canvas.line(left, plot.y, left, plot.bottom(), "oc-grid");
    canvas.line(x(0), plot.y, x(0), plot.bottom(), "oc-axis");
    for (const Tick& tick : ticks(x, width > 130 ? 3 : 2)) {
      canvas.line(x(tick.at), plot.bottom(), x(tick.at), plot.bottom() + 4, "oc-axis");
      if (tick.at == 0 || std::abs(x(tick.at) - x(0)) > 20)  // none on that of 0
        canvas.text(x(tick.at), plot.bottom() + kTickSize + 6, tick.text, "middle", "oc-tick");
    }
  }
  canvas.line(plot.x, plot.bottom(), plot.right(), plot.bottom(), "oc-axis");
  canvas.text(plot.x + plot.width / 2, plot.bottom() + kTickSize + kLine + 7, forest.x_title, "middle");
  for (size_t r = 0; r < forest.rows.size(); ++r) {
    const Forest::Row& row = forest.rows[r];
    canvas.out += "<g" + attribute("class", "oc-forest-row") + attribute("data-name", row.name) + ">\n";
    canvas.out += "<g" + attribute("class", colour_class(row.colour)) + "><path class=\"oc-fill\"" +
                  attribute("d", marker_path(marker_of(row.colour), inner.x + 6, row_y(r), 3.6)) + "/></g>\n";
    const std::vector<std::string> lines = lines_of_name(row.name, names - 20);
    for (size_t i = 0; i < lines.size(); ++i)
      canvas.text(inner.x + 16,
                  row_y(r) + 4 + 12.5 * (static_cast<double>(i) - (static_cast<double>(lines.size()) - 1) / 2),
                  lines[i], "start", "oc-tick");
    if (r > 0)
      canvas.line(inner.x, plot.y + height * static_cast<double>(r), plot.right(),
                  plot.y + height * static_cast<double>(r), "oc-grid");
    for (size_t c = 0; c < std::min(row.cells.size(), forest.columns.size()); ++c) {
      const double left = plot.x + width * static_cast<double>(c);
      draw_cell(canvas, {.from = from, .to = to, .a = left + 5, .b = left + width - 5}, row_y(r), row.cells[c],
                row.colour);
    }
    canvas.out += "</g>\n";
  }
  canvas.out += "</g>\n";
}

}  // namespace ordinal::draw
