// names.cpp: the names of lines, at their ends, kept apart; where there is no room for that, a legend above.
#include <algorithm>
#include <cmath>

#include "draw/palette.h"
#include "draw/parts.h"

namespace ordinal::draw {
namespace {

constexpr double kNameLine = 12.5, kNameGap = 3, kBeside = 8, kMarkerRoom = 14;

bool is_line(const Series& series) { return series.drawn == Drawn::line || series.drawn == Drawn::steps; }

// A name beside the end of its line, and where it goes so as not to lie on another.
struct EndName {
  std::vector<std::string> lines;
  double end_x = 0, end_y = 0, y = 0;  // of the line; the middle of the name
  int look = 0;
  double height() const { return kNameLine * static_cast<double>(lines.size()); }
};

std::vector<EndName> names_of(const Frame& frame, const Chart& chart, std::span<const int> looks, double width) {
  std::vector<std::pair<std::string, EndName>> found;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.name.empty()) continue;
    EndName end{.lines = lines_of_name(series.name, width), .look = looks[i]};
    bool any = false;
    frame.for_points(series, [&](size_t, double x, double y) { end.end_x = x, end.end_y = y, any = true; });
    if (!any) continue;
    // A line in two pieces, solid and dashed, has one name.
    const auto same = std::ranges::find(found, series.name, &std::pair<std::string, EndName>::first);
    if (same == found.end())
      found.emplace_back(series.name, std::move(end));
    else if (same->second.end_x < end.end_x)
      same->second = std::move(end);
  }
  std::vector<EndName> names;
  for (auto& [name, end] : found) {
    end.end_y = std::clamp(end.end_y, frame.plot.y, frame.plot.bottom());
    names.push_back(std::move(end));
  }
  return names;
}

// From the top down each below the one before; then, from the bottom up, back inside.
void keep_apart(std::vector<EndName>& names, const Box& plot) {
  std::ranges::stable_sort(names, {}, &EndName::end_y);
  double free = plot.y - 4;
  for (EndName& name : names) {
    name.y = std::max(name.end_y, free + name.height() / 2);
    free = name.y + name.height() / 2 + kNameGap;
  }
  double limit = plot.bottom() + 8;
  for (size_t i = names.size(); i-- > 0;) {
    names[i].y = std::min(names[i].y, limit - names[i].height() / 2);
    limit = names[i].y - names[i].height() / 2 - kNameGap;
  }
}

}  // namespace

std::vector<std::string> lines_of_name(const std::string& name, double width) {
  const auto fits = [&](const std::string& text) { return text_width(text, kTickSize) <= width; };
  if (fits(name)) return {name};
  size_t cut = 0;
  for (size_t i = 1; i < name.size(); ++i)
    if (std::string_view(":;, ").find(name[i - 1]) != std::string_view::npos && fits(name.substr(0, i))) cut = i;
  std::vector<std::string> lines;
  if (cut > 0) lines.push_back(name.substr(0, cut));
  std::string rest = name.substr(cut);
  if (!fits(rest)) {
    while (!rest.empty() && !fits(rest + "…")) {
      do rest.pop_back();
      while (!rest.empty() && (static_cast<unsigned char>(rest.back()) & 0xc0) == 0x80);
      if (!rest.empty() && static_cast<unsigned char>(rest.back()) >= 0xc0) rest.pop_back();
    }
    rest += "…";
  }
  lines.push_back(rest);
  return lines;
}

bool names_stand_at_ends(const Chart& chart, const Box& box) {
  if (!chart.legend) return false;
  double height = 0;
  size_t names = 0;
  const double width = name_room(chart, box.width) - kBeside - kMarkerRoom;
  std::vector<std::string> seen;
  for (const Series& series : chart.series) {
    if (series.name.empty()) continue;
    if (!is_line(series)) return false;
    if (std::ranges::find(seen, series.name) != seen.end()) continue;
    seen.push_back(series.name);
    height += kNameLine * static_cast<double>(lines_of_name(series.name, width).size()) + kNameGap;
    ++names;
  }
  return names > 0 && height < box.height - 40;
}

double name_room(const Chart& chart, double width) {
  double widest = 0;
  for (const Series& series : chart.series) widest = std::max(widest, text_width(series.name, kTickSize));
  return std::min(widest, 0.3 * width) + kBeside + kMarkerRoom;
}

void draw_names(Canvas& canvas, const Frame& frame, const Chart& chart, std::span<const int> looks, double room) {
  std::vector<EndName> names = names_of(frame, chart, looks, room - kBeside - kMarkerRoom);
  keep_apart(names, frame.plot);
  const double side = frame.plot.right() + kBeside;
  for (const EndName& name : names) {
    canvas.out += "<g" + attribute("class", "oc-name " + colour_class(name.look)) + ">";
    canvas.out += "<path class=\"oc-lead\"" +
                  attribute("d", "M" + svg_place(name.end_x + 2) + " " + svg_place(name.end_y) + "L" + svg_place(side) +
                                     " " + svg_place(name.y)) +
                  "/><path class=\"oc-fill\"" +
                  attribute("d", marker_path(marker_of(name.look), side + 5, name.y, 3.6)) + "/></g>\n";
    double y = name.y - name.height() / 2 + kTickSize - 1;
    for (const std::string& line : name.lines) {
      canvas.text(side + kMarkerRoom, y, line, "start", "oc-tick");
      y += kNameLine;
    }
  }
}

}  // namespace ordinal::draw
