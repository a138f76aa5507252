// chart.cpp: lines, steps, dots and bars on two axes.
#include <algorithm>
#include <cmath>

#include "draw/palette.h"
#include "draw/parts.h"

namespace ordinal::draw {
namespace {

constexpr size_t kMostDots = 100;      // more are small and all alike
constexpr size_t kBetweenMarkers = 6;  // points of a line

bool has_bars(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& s) { return s.drawn == Drawn::bars; });
}

// The least distance of neighbouring bars, which is the room that a place has.
double bar_room(const Chart& chart) {
  double room = 0;
  for (const Series& series : chart.series)
    if (series.drawn == Drawn::bars)
      for (size_t i = 1; i < series.x.size(); ++i) {
        const double apart = std::abs(series.x[i] - series.x[i - 1]);
        if (apart > 0 && (room == 0 || apart < room)) room = apart;
      }
  return room == 0 ? 1 : room;
}

Scale x_scale(const Chart& chart) {
  const bool bars = has_bars(chart);
  Range range(chart.x.logarithmic && !bars);
  const double half = bars ? bar_room(chart) / 2 : 0;
  for (const Series& series : chart.series)
    for (const double x : series.x) range.add(x - half), range.add(x + half);
  for (const MarkerLine& marker : chart.markers)
    if (!marker.horizontal) range.add(marker.at);
  if (!chart.x.labels.empty()) range.add(-0.5), range.add(static_cast<double>(chart.x.labels.size()) - 0.5);
  const auto [from, to] = range.ends();
  return {
      .from = chart.x.from.value_or(from), .to = chart.x.to.value_or(to), .logarithmic = chart.x.logarithmic && !bars};
}

Scale y_scale(const Chart& chart) {
  Range range(chart.y.logarithmic);
  for (const Series& series : chart.series) {
    for (const double y : series.y) range.add(y);
    for (const double y : series.low) range.add(y);
    for (const double y : series.high) range.add(y);
  }
  for (const MarkerLine& marker : chart.markers)
    if (marker.horizontal) range.add(marker.at);
  if (has_bars(chart)) range.add(0);
  auto [from, to] = range.ends();
  if (chart.y.logarithmic)
    from /= 1.15, to *= 1.15;
  else
    widen_to_ticks(from, to, 5);
  return {.from = chart.y.from.value_or(from), .to = chart.y.to.value_or(to), .logarithmic = chart.y.logarithmic};
}

// The names of series, in rows; returns what of the box is left.
Box draw_legend(Canvas& canvas, const Chart& chart, const std::vector<int>& colours, const Box& box) {
  Box left = box;
  double x = box.x;
  bool any = false;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.name.empty()) continue;
    const double width = 22 + text_width(series.name, kTextSize) + 12;
    if (any && x + width > box.right()) {
      x = box.x;
      left.y += kLine;
    }
    any = true;
    const double middle = left.y + kLine / 2;
    canvas.out += "<g" + attribute("class", colour_class(colours[i])) + ">";
    if (series.drawn == Drawn::line || series.drawn == Drawn::steps)
      canvas.line(x, middle, x + 16, middle, series.dashed ? "oc-line oc-dash" : "oc-line");
    else if (series.drawn == Drawn::bars)
      canvas.rectangle({x + 3, middle - 5, 10, 10}, "oc-fill");
    else
      canvas.out +=
          "<path class=\"oc-fill\"" + attribute("d", marker_path(marker_of(colours[i]), x + 8, middle, 4)) + "/>";
    canvas.out += "</g>";
    canvas.text(x + 22, middle + 4, series.name, "start");
    x += width;
  }
  if (any) left.y += kLine + 4;
  left.height -= left.y - box.y;
  return left;
}

// A path through the points that both axes can show; a gap starts a new piece.
std::string path_of(const Frame& frame, std::span<const double> x, std::span<const double> y, bool steps) {
  std::string path;
  bool pen_down = false;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!frame.x.shows(x[i]) || !frame.y.shows(y[i])) {
      pen_down = false;
      continue;
    }
    const std::string across = svg_place(frame.x(x[i])), down = svg_place(frame.y(y[i]));
    if (!pen_down)
      path += "M" + across + " " + down;
    else
      path += (steps ? "H" + across + "V" : "L" + across + " ") + down;
    // A point between two gaps is a line to itself, which round caps make visible.
    const bool alone = !pen_down && (i + 1 == x.size() || i + 1 >= y.size() || !frame.y.shows(y[i + 1]));
    if (alone) path += "h0";
    pen_down = true;
  }
  return path;
}

void draw_band(Canvas& canvas, const Frame& frame, const Series& series) {
  std::vector<double> x, y;
  const size_t count = std::min({series.x.size(), series.low.size(), series.high.size()});
  const auto add = [&](size_t i, double value) {
    if (frame.x.shows(series.x[i]) && frame.y.shows(series.low[i]) && frame.y.shows(series.high[i]))
      x.push_back(series.x[i]), y.push_back(value);
  };
  for (size_t i = 0; i < count; ++i) add(i, series.low[i]);
  for (size_t i = count; i-- > 0;) add(i, series.high[i]);
  if (!x.empty())
    canvas.out += "<path" + attribute("class", "oc-band") + attribute("d", path_of(frame, x, y, false) + "Z") + "/>\n";
}

void draw_dots(Canvas& canvas, const Frame& frame, const Series& series, int look) {
  const bool many = series.x.size() > kMostDots;
  frame.for_points(series, [&](size_t, double x, double y) {
    if (marker_of(look) == Marker::disc || many)
      canvas.out += "<circle" + attribute("class", "oc-fill") + attribute("cx", x) + attribute("cy", y) +
                    attribute("r", many ? 1.5 : 3.0) + "/>\n";
    else
      canvas.out += "<path class=\"oc-fill\"" + attribute("d", marker_path(marker_of(look), x, y, 3.4)) + "/>\n";
  });
}

// Now and then along a line of few points, each look beginning elsewhere.
void draw_markers_on(Canvas& canvas, const Frame& frame, const Series& series, int look) {
  if (series.x.size() < kBetweenMarkers || series.x.size() > kMostDots) return;
  frame.for_points(series, [&](size_t i, double x, double y) {
    if (i % kBetweenMarkers == static_cast<size_t>(look) % kBetweenMarkers)
      canvas.out += "<path class=\"oc-fill\"" + attribute("d", marker_path(marker_of(look), x, y, 3)) + "/>\n";
  });
}

// Stated ends may leave out a part of a band: a word says so where it happens.
void note_cut_bands(Canvas& canvas, const Frame& frame, const Chart& chart) {
  bool above = false, below = false;
  for (const Series& series : chart.series) {
    for (const double high : series.high) above = above || high > frame.y.to;
    for (const double low : series.low) below = below || low < frame.y.from;
  }
  // On the side that the labels of lines across leave free.
  const bool at_right = std::ranges::none_of(chart.markers, [&](const MarkerLine& marker) {
    return !marker.horizontal && frame.x.shows(marker.at) && frame.x(marker.at) > frame.plot.x + frame.plot.width / 2;
  });
  const double x = at_right ? frame.plot.right() - 6 : frame.plot.x + 6;
  const char* anchor = at_right ? "end" : "start";
  const double top = frame.plot.y + kTickSize + (chart.markers.empty() ? 0 : kTickSize + 4);  // below their labels
  if (above && chart.y.to) canvas.text(x, top, "↑ bands go on", anchor, "oc-tick oc-note");
  if (below && chart.y.from) canvas.text(x, frame.plot.bottom() - 5, "↓ bands go on", anchor, "oc-tick oc-note");
}

void draw_bars(Canvas& canvas, const Frame& frame, const Series& series, double room, size_t place, size_t places) {
  const double width = 0.8 * room / static_cast<double>(places);
  frame.for_points(series, [&](size_t i, double, double top) {
    const double left = series.x[i] - 0.4 * room + width * static_cast<double>(place);
    const double a = frame.x(left), b = frame.x(left + width);
    const double base =
        std::clamp(frame.y.shows(0) ? frame.y(0) : frame.plot.bottom(), frame.plot.y, frame.plot.bottom());
    canvas.rectangle({a, std::min(top, base), std::max(0.3, b - a), std::abs(base - top)}, "oc-fill",
                     attribute("data-x", svg_number(series.x[i])) + attribute("data-value", svg_number(series.y[i])));
  });
}

// Beside their points: on the right, at the end on the left; around the middle of a square, away from it.
void draw_labels(Canvas& canvas, const Frame& frame, const Series& series, bool around) {
  const Box& plot = frame.plot;
  frame.for_points(series, [&](size_t i, double x, double y) {
    if (i >= series.labels.size()) return;
    const double across = x - (plot.x + plot.width / 2), down = y - (plot.y + plot.height / 2);
    const double away = std::hypot(across, down);
    const bool far_right = x + 8 + text_width(series.labels[i], kTickSize) > plot.right() + 10;
    if (around && away > 1)
      canvas.text(x + 14 * across / away, y + 14 * down / away + 4, series.labels[i], "middle", "oc-tick");
    else
      canvas.text(x + (far_right ? -6 : 6), y - 5, series.labels[i], far_right ? "end" : "start", "oc-tick");
  });
}

// Labels of lines across stand at the top, on the side that has room; neighbours' labels below each other.
void draw_markers(Canvas& canvas, const Frame& frame, const Chart& chart) {
  const Box& plot = frame.plot;
  std::vector<Box> taken;
  for (const MarkerLine& marker : chart.markers) {
    const Scale& scale = marker.horizontal ? frame.y : frame.x;
    if (!scale.shows(marker.at)) continue;
    const double at = scale(marker.at), width = text_width(marker.label, kTickSize);
    canvas.out += "<g" + attribute("class", "oc-marker") + attribute("data-at", svg_number(marker.at)) +
                  attribute("data-name", marker.label) + ">";
    Box text;
    if (marker.horizontal) {
      canvas.line(plot.x, at, plot.right(), at, "oc-mark");
      const double above = at - 5 - kTickSize;
      text = {plot.x + 6, above < plot.y ? at + 3 : above, width, kTickSize};
    } else {
      canvas.line(at, plot.y, at, plot.bottom(), "oc-mark");
      const bool crossed = std::ranges::any_of(chart.markers, [&](const MarkerLine& other) {
        return !other.horizontal && other.at > marker.at && scale(other.at) < at + 6 + width;
      });
      const bool to_the_left = at - 6 - width > plot.x && (crossed || at + 6 + width > plot.right());
      text = {to_the_left ? at - 6 - width : at + 6, plot.y + 2, width, kTickSize};
    }
    const auto hits = [&](const Box& other) {
      return text.x < other.right() && other.x < text.right() && text.y < other.bottom() && other.y < text.bottom();
    };
    while (std::ranges::any_of(taken, hits)) text.y += kTickSize + 3;
    taken.push_back(text);
    canvas.text(text.x, text.bottom(), marker.label, "start", "oc-tick");
    canvas.out += "</g>\n";
  }
}

}  // namespace

std::vector<int> looks_of(const Chart& chart) {
  std::vector<std::string> schemes;
  for (const Series& series : chart.series)
    if (!series.scheme.empty() && std::ranges::find(schemes, series.scheme) == schemes.end())
      schemes.push_back(series.scheme);
  const std::vector<int> of_schemes = looks_of(schemes);
  std::vector<int> looks;
  int next = 0;
  for (const Series& series : chart.series)
    if (series.scheme.empty())
      looks.push_back(series.colour >= 0 ? series.colour : next++);
    else
      looks.push_back(of_schemes[static_cast<size_t>(std::ranges::find(schemes, series.scheme) - schemes.begin())]);
  return looks;
}

void draw_chart(Canvas& canvas, const Chart& chart, const Box& box) {
  const std::vector<int> colours = looks_of(chart);
  canvas.out += "<g" + attribute("class", "oc-chart") + attribute("data-key", chart.key) + ">\n";
  const Box below_title = draw_title(canvas, chart.title, box);
  const bool at_ends = names_stand_at_ends(chart, below_title);
  const double room = at_ends ? name_room(chart, below_title.width) : 0;
  Box inner = chart.legend && !at_ends ? draw_legend(canvas, chart, colours, below_title) : below_title;
  inner.width -= room;
  const Frame frame = draw_frame(canvas, inner, chart.x, chart.y, x_scale(chart), y_scale(chart), true, chart.square);

  // Stated ends may cut lines off: a picture inside the picture does, without an id for a clip path.
  const bool cut = chart.x.from || chart.x.to || chart.y.from || chart.y.to;
  const Box& plot = frame.plot;
  if (cut)
    canvas.out += "<svg" + attribute("x", plot.x) + attribute("y", plot.y) + attribute("width", plot.width) +
                  attribute("height", plot.height) +
                  attribute("viewBox", svg_place(plot.x) + " " + svg_place(plot.y) + " " + svg_place(plot.width) + " " +
                                           svg_place(plot.height)) +
                  ">\n";
  const size_t places =
      static_cast<size_t>(std::ranges::count_if(chart.series, [](const Series& s) { return s.drawn == Drawn::bars; }));
  size_t place = 0;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    canvas.out += "<g" + attribute("class", "oc-series " + colour_class(colours[i])) +
                  attribute("data-name", series.name) + numbers_attribute("data-x", series.x) +
                  numbers_attribute("data-y", series.y) + ">\n";
    draw_band(canvas, frame, series);
    if (series.drawn == Drawn::bars)
      draw_bars(canvas, frame, series, bar_room(chart), place++, places);
    else if (series.drawn == Drawn::dots)
      draw_dots(canvas, frame, series, colours[i]);
    else
      canvas.out += "<path" + attribute("class", series.dashed ? "oc-line oc-dash" : "oc-line") +
                    attribute("d", path_of(frame, series.x, series.y, series.drawn == Drawn::steps)) + "/>\n";
    if (at_ends && series.drawn == Drawn::line && !series.name.empty())
      draw_markers_on(canvas, frame, series, colours[i]);
    canvas.out += "</g>\n";
  }
  if (cut) canvas.out += "</svg>\n";
  for (const Series& series : chart.series) draw_labels(canvas, frame, series, chart.square);
  draw_markers(canvas, frame, chart);
  note_cut_bands(canvas, frame, chart);
  if (at_ends) draw_names(canvas, frame, chart, colours, room);
  canvas.out += "</g>\n";
}

}  // namespace ordinal::draw
