// heat_map.cpp: rows of coloured cells, and the bar that says what the colours mean.
#include <algorithm>
#include <cmath>
#include <map>

#include "draw/parts.h"

namespace ordinal::draw {
namespace {

constexpr int kLevels = 60;  // shades of one colour: a step is less than the eye sees
constexpr double kBarWidth = 12, kBarRoom = 62;

// Cells of one shade are one path: a stroke along their row, one unit thick.
using Shades = std::map<int, std::string>;  // below 0: the second colour

int shade_of(double value, double most) {
  if (!std::isfinite(value) || most <= 0) return 0;
  return static_cast<int>(std::lround(std::clamp(value / most, -1.0, 1.0) * kLevels));
}

std::string shade_attributes(int shade, bool diverging) {
  return attribute("class", shade < 0   ? "oc-cell oc-minus"
                            : diverging ? "oc-cell oc-plus"
                                        : "oc-cell oc-one") +
         attribute("stroke-opacity", std::abs(shade) / static_cast<double>(kLevels));
}

void draw_cells(Canvas& canvas, const HeatMap& map, const Frame& frame, double most, bool diverging) {
  Shades shades;
  for (int64_t row = 0; row < map.rows; ++row) {
    const double* values = map.values.data() + row * map.cols;
    for (int64_t begin = 0, end = 0; begin < map.cols; begin = end) {
      const int shade = shade_of(values[begin], most);
      while (end < map.cols && shade_of(values[end], most) == shade) ++end;
      if (shade != 0)
        shades[shade] += "M" + std::to_string(begin) + " " + std::to_string(row) + "h" + std::to_string(end - begin);
    }
  }
  const double across = frame.plot.width / static_cast<double>(map.cols);
  const double down = frame.plot.height / static_cast<double>(map.rows);
  canvas.out +=
      "<g" +
      attribute("transform", "translate(" + svg_place(frame.plot.x) + " " + svg_place(frame.plot.y + down / 2) +
                                 ") scale(" + svg_number(across) + " " + svg_number(down) + ")") +
      ">\n";
  for (const auto& [shade, path] : shades)
    canvas.out += "<path" + shade_attributes(shade, diverging) + attribute("d", path) + "/>\n";
  canvas.out += "</g>\n";
  for (int64_t row = 0; row < map.rows; ++row)
    canvas.out +=
        "<g" + attribute("class", "oc-row") +
        attribute("data-" + map.row_key, svg_number(map.first_y + map.step_y * static_cast<double>(row))) +
        numbers_attribute("data-values", {map.values.data() + row * map.cols, static_cast<size_t>(map.cols)}) + "/>\n";
  if (!map.with_text) return;
  for (int64_t row = 0; row < map.rows; ++row)
    for (int64_t col = 0; col < map.cols; ++col)
      canvas.text(frame.plot.x + across * (static_cast<double>(col) + 0.5),
                  frame.plot.y + down * (static_cast<double>(row) + 0.5) + 4,
                  svg_number(map.values[row * map.cols + col]), "middle", "oc-tick");
}

void draw_bar(Canvas& canvas, const HeatMap& map, const Box& bar, double most, bool diverging) {
  const int low = diverging ? -kLevels : 0;
  const double step = bar.height / (kLevels - low);
  canvas.out += "<g" +
                attribute("transform", "translate(" + svg_place(bar.x) + " " + svg_place(bar.bottom()) + ") scale(1 " +
                                           svg_number(-step) + ")") +
                ">\n";
  for (int shade = low; shade < kLevels; shade += 2)
    canvas.out += "<path" + shade_attributes(shade + 1, diverging) +
                  attribute("d", "M0 " + std::to_string(shade + 1 - low) + "h" + svg_place(kBarWidth)) +
                  " stroke-width=\"2\"/>\n";
  canvas.out += "</g>\n";
  const Scale scale{.from = diverging ? -most : 0, .to = most, .a = bar.bottom(), .b = bar.y};
  for (const Tick& tick : ticks(scale, 4))
    canvas.text(bar.right() + 5, scale(tick.at) + 4, tick.text, "start", "oc-tick");
  const double side = bar.right() + 44, middle = bar.y + bar.height / 2;
  canvas.text(side, middle, map.value_title, "middle", "",
              attribute("transform", "rotate(-90 " + svg_place(side) + " " + svg_place(middle) + ")"));
}

// From half a cell before the first to half a cell behind the last; a scale of one cell of no size would have no room.
Scale cell_scale(const Axis& axis, double first, double step, int64_t count) {
  if (!axis.labels.empty() || step == 0) first = 0, step = 1;
  return {.from = first - step / 2, .to = first + step * (static_cast<double>(count) - 0.5)};
}

}  // namespace

void draw_heat_map(Canvas& canvas, const HeatMap& map, const Box& box) {
  canvas.out += "<g" + attribute("class", "oc-heat-map") + attribute("data-key", map.key) +
                attribute("data-first", svg_number(map.first_x)) + attribute("data-step", svg_number(map.step_x)) +
                ">\n";
  Box inner = draw_title(canvas, map.title, box);
  double most = 0;
  bool diverging = false;
  for (const double value : map.values) {
    if (!std::isfinite(value)) continue;
    most = std::max(most, std::abs(value));
    diverging = diverging || value < 0;
  }
  most = map.most.value_or(most == 0 ? 1 : most);
  const bool bar = !map.value_title.empty();
  if (bar) inner.width -= kBarRoom;
  Scale x = cell_scale(map.x, map.first_x, map.step_x, map.cols);
  Scale y = cell_scale(map.y, map.first_y, map.step_y, map.rows);
  // A tick between two cells would stand for neither.
  Axis x_axis = map.x, y_axis = map.y;
  x_axis.whole = x_axis.whole || map.step_x == std::round(map.step_x);
  y_axis.whole = y_axis.whole || map.step_y == std::round(map.step_y);
  const Frame frame = draw_frame(canvas, inner, x_axis, y_axis, x, {.from = y.to, .to = y.from}, false, map.square);
  if (map.rows > 0 && map.cols > 0 && static_cast<int64_t>(map.values.size()) == map.rows * map.cols)
    draw_cells(canvas, map, frame, most, diverging);
  if (bar)
    draw_bar(canvas, map, {frame.plot.right() + 12, frame.plot.y, kBarWidth, frame.plot.height}, most, diverging);
  canvas.out += "</g>\n";
}

}  // namespace ordinal::draw
