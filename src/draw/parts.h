// parts.h: what svg.cpp shares with the files that draw one kind of panel: a canvas, boxes, and the frame of axes.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/scale.h"
#include "draw/svg.h"

namespace ordinal::draw {

inline constexpr double kTextSize = 12, kTickSize = 11, kLine = 16;  // of all text but titles; of ticks; line height

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// SVG text in the making. `extra`: further attributes.
class Canvas {
 public:
  std::string out;

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rectangle(const Box& box, std::string_view css, std::string_view extra = "");
  // anchor: start, middle, end.
  void text(double x, double y, std::string_view text, std::string_view anchor, std::string_view css = "",
            std::string_view extra = "");
};

// " name=\"value\"", the value a text, a place in the picture, or a list of numbers.
std::string attribute(std::string_view name, std::string_view value);
std::string attribute(std::string_view name, double place);
std::string numbers_attribute(std::string_view name, std::span<const double> values);

// The title of a panel; returns what of the box is left below it.
Box draw_title(Canvas& canvas, const std::string& title, const Box& box);

// A rectangle with two axes around it. The scales come with their ends in numbers and leave with those in the picture.
struct Frame {
  Box plot;
  Scale x, y;

  // Calls take(i, x, y) with the places of the points that both axes can show.
  template <class Take>
  void for_points(const Series& series, Take&& take) const {
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
      if (x.shows(series.x[i]) && y.shows(series.y[i])) take(i, x(series.x[i]), y(series.y[i]));
  }
};
Frame draw_frame(Canvas& canvas, const Box& box, const Axis& x_axis, const Axis& y_axis, Scale x, Scale y, bool grid,
                 bool square);

// The look of every series: colours and markers, palette.h.
std::vector<int> looks_of(const Chart& chart);

// At most two lines, parted behind a sign of the spec or a blank; what is still too long ends in dots.
std::vector<std::string> lines_of_name(const std::string& name, double width);

// Names at the ends of lines, none on another: draw_frame() leaves what is behind name_room() to them.
bool names_stand_at_ends(const Chart& chart, const Box& box);
double name_room(const Chart& chart, double width);
void draw_names(Canvas& canvas, const Frame& frame, const Chart& chart, std::span<const int> looks, double room);

void draw_chart(Canvas& canvas, const Chart& chart, const Box& box);
void draw_forest(Canvas& canvas, const Forest& forest, const Box& box);
void draw_heat_map(Canvas& canvas, const HeatMap& map, const Box& box);

}  // namespace ordinal::draw
