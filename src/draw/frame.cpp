// frame.cpp: titles, axes, ticks and grid lines: what stands around the numbers of a panel.
#include <algorithm>
#include <cmath>

#include "draw/parts.h"

namespace ordinal::draw {
namespace {

// Every n-th label, so that they have room.
std::vector<Tick> label_ticks(const std::vector<std::string>& labels, double room_each, bool across) {
  double widest = kTickSize;
  if (across)
    for (const std::string& label : labels) widest = std::max(widest, text_width(label, kTickSize) + 8);
  const auto stride = std::max<size_t>(1, static_cast<size_t>(std::ceil(widest / std::max(room_each, 0.1))));
  std::vector<Tick> list;
  for (size_t i = 0; i < labels.size(); i += stride) list.push_back({static_cast<double>(i), labels[i]});
  return list;
}

// Labels below a chart that stand upright, since they have room only so: how much of it they take, else 0.
double upright_room(const Axis& axis, double width) {
  if (axis.labels.empty()) return 0;
  double widest = 0;
  for (const std::string& label : axis.labels) widest = std::max(widest, text_width(label, kTickSize));
  const double each = width / static_cast<double>(axis.labels.size());
  return widest + 8 <= each || each < kTickSize - 0.5 ? 0 : widest;
}

std::vector<Tick> axis_ticks(const Axis& axis, const Scale& scale, double length, bool across) {
  if (!axis.labels.empty()) return label_ticks(axis.labels, length / static_cast<double>(axis.labels.size()), across);
  std::vector<Tick> list = ticks(scale, std::clamp(static_cast<int>(length / (across ? 56 : 36)), 2, 12));
  if (axis.whole) std::erase_if(list, [](const Tick& tick) { return std::abs(tick.at - std::round(tick.at)) > 1e-6; });
  // What is left of 0, 0.5, 1.0 should not look as if there had been more.
  if (axis.whole && std::abs(scale.to - scale.from) < 1e6)
    for (Tick& tick : list) tick.text = tick.text.substr(0, tick.text.find('.'));
  return list;
}

}  // namespace

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view css) {
  out += "<line" + attribute("class", css) + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + "/>\n";
}

void Canvas::rectangle(const Box& box, std::string_view css, std::string_view extra) {
  out += "<rect" + attribute("class", css) + attribute("x", box.x) + attribute("y", box.y) +
         attribute("width", box.width) + attribute("height", box.height) + std::string(extra) + "/>\n";
}

void Canvas::text(double x, double y, std::string_view text, std::string_view anchor, std::string_view css,
                  std::string_view extra) {
  if (text.empty()) return;
  out += "<text" + attribute("x", x) + attribute("y", y);
  if (anchor != "start") out += attribute("text-anchor", anchor);
  if (!css.empty()) out += attribute("class", css);
  out += std::string(extra) + ">" + xml_text(text) + "</text>\n";
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string text = " ";
  text += name;
  text += "=\"";
  text += xml_text(value);
  text += '"';
  return text;
}

std::string attribute(std::string_view name, double place) { return attribute(name, svg_place(place)); }

std::string numbers_attribute(std::string_view name, std::span<const double> values) {
  std::string list;
  for (const double value : values) list += (list.empty() ? "" : " ") + svg_number(value);
  return attribute(name, list);
}

Box draw_title(Canvas& canvas, const std::string& title, const Box& box) {
  Box left = box;
  for (const std::string& line : wrap_text(title, box.width, kTextSize + 1)) {
    canvas.text(box.x, left.y + kTextSize, line, "start", "oc-title");
    left.y += kLine + 2;
    left.height -= kLine + 2;
  }
  return left;
}

Frame draw_frame(Canvas& canvas, const Box& box, const Axis& x_axis, const Axis& y_axis, Scale x, Scale y, bool grid,
                 bool square) {
  const bool downwards = y.from > y.to;
  if (downwards) std::swap(y.from, y.to);
  Frame frame{.plot = box, .x = x, .y = y};
  Box& plot = frame.plot;
  plot.y += 6;
  double y_labels = 0;
  for (const std::string& label : y_axis.labels) y_labels = std::max(y_labels, text_width(label, kTickSize));
  const double room = box.width - y_labels - 18 - (y_axis.title.empty() ? 0 : kLine);
  const double upright = upright_room(x_axis, square ? std::min(room, box.height) : room);
  const double below = std::max(kTickSize, upright) + 8 + (x_axis.title.empty() ? 0 : kLine);
  plot.height = std::max(20.0, box.bottom() - below - plot.y);
  const std::vector<Tick> y_ticks = axis_ticks(y_axis, y, plot.height, false);
  double widest = 0;
  for (const Tick& tick : y_ticks) widest = std::max(widest, text_width(tick.text, kTickSize));
  const double beside = widest + 8 + (y_axis.title.empty() ? 0 : kLine);
  plot.x += beside;
  plot.width = std::max(20.0, box.width - beside - 10);  // the last tick's text stands out
  if (square) plot.width = plot.height = std::min(plot.width, plot.height);
  frame.x.a = plot.x, frame.x.b = plot.right();
  frame.y.a = plot.bottom(), frame.y.b = plot.y;
  if (downwards) std::swap(frame.y.a, frame.y.b);

  for (const Tick& tick : y_ticks) {
    const double at = frame.y(tick.at);
    if (grid) canvas.line(plot.x, at, plot.right(), at, "oc-grid");
    canvas.text(plot.x - 6, at + 4, tick.text, "end", "oc-tick");
  }
  // Upright labels take a line of text each, as those at the side do.
  for (const Tick& tick : axis_ticks(x_axis, x, plot.width, upright == 0)) {
    const double at = frame.x(tick.at);
    if (grid && x_axis.labels.empty()) canvas.line(at, plot.y, at, plot.bottom(), "oc-grid");
    canvas.line(at, plot.bottom(), at, plot.bottom() + 4, "oc-axis");
    const double foot = plot.bottom() + 7;
    if (upright > 0)
      canvas.text(at + 4, foot, tick.text, "end", "oc-tick",
                  attribute("transform", "rotate(-90 " + svg_place(at + 4) + " " + svg_place(foot) + ")"));
    else
      canvas.text(at, plot.bottom() + kTickSize + 6, tick.text, "middle", "oc-tick");
  }
  canvas.line(plot.x, plot.bottom(), plot.right(), plot.bottom(), "oc-axis");
  canvas.line(plot.x, plot.y, plot.x, plot.bottom(), "oc-axis");
  canvas.text(plot.x + plot.width / 2, plot.bottom() + std::max(kTickSize, upright) + kLine + 7, x_axis.title,
              "middle");
  const double side = plot.x - beside + kTextSize - 2, middle = plot.y + plot.height / 2;
  canvas.text(side, middle, y_axis.title, "middle", "",
              attribute("transform", "rotate(-90 " + svg_place(side) + " " + svg_place(middle) + ")"));
  return frame;
}

}  // namespace ordinal::draw
