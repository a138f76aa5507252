// figure.h: what a picture shows, as plain numbers and words: a grid of panels, charts (lines, steps, dots, bars on two
// axes), heat maps and forest plots. A number that is not finite leaves a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "results/estimate.h"

namespace ordinal {

// From the least to the greatest number drawn, unless `from` and `to` say otherwise. A logarithmic axis leaves out
// numbers that are not above 0. With `labels` the axis has a place for each, at 0, 1, 2 ...; below a chart they stand
// upright where that gives room to all.
struct Axis {
  std::string title = {};  // with its unit
  bool logarithmic = false;
  std::optional<double> from = {}, to = {};
  std::vector<std::string> labels = {};
  bool whole = false;  // ticks at whole numbers alone
};

enum class Drawn : uint8_t { line, steps, dots, bars };

// Bars stand on 0 and share the room between two places when several series have them.
struct Series {
  std::string name = {};  // at the end of its line or in the legend, "" for none
  std::vector<double> x = {}, y = {};
  Drawn drawn = Drawn::line;
  std::vector<double> low = {}, high = {};  // a band around a line, empty or one a point
  bool dashed = false;
  int colour = -1;                       // its look, colour and marker; -1: the next one
  std::string scheme = {};               // in place of a colour: a spec, which has its own wherever it is drawn
  std::vector<std::string> labels = {};  // beside the points, empty or one a point; "" for none
};

// A line across the chart: "trained length" at x, or at y when horizontal.
struct MarkerLine {
  double at = 0;
  std::string label = {};
  bool horizontal = false;
};

struct Chart {
  std::string title = {};
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::vector<MarkerLine> markers = {};
  bool square = false;   // equal room for both axes
  bool legend = true;    // names, at the ends of lines where there is room; false: the page around the chart has them
  std::string key = {};  // data-key of the panel, for a program that looks for it
};

// Rows of cells from red (above 0) over nothing (0) to blue (below), or of one colour when nothing is below 0.
struct HeatMap {
  std::string title = {};
  Axis x = {}, y = {};              // titles, labels
  int64_t rows = 0, cols = 0;       // row 0 is at the top
  std::vector<double> values = {};  // [rows, cols]
  double first_x = 0, step_x = 1;   // what columns and rows stand for
  double first_y = 0, step_y = 1;
  std::string row_key = "row";      // a row is written as data-<row_key>, data-values
  std::string value_title = {};     // of the colour bar, "" for no bar
  std::optional<double> most = {};  // the number with the full colour [default: the largest there is]
  bool square = false;
  bool with_text = false;  // numbers in the cells
  std::string key = {};
};

// Means with their intervals as dots in bars: a row for each name, a column for each question, one axis for all. What
// is far off the others stands at the edge as a number.
struct Forest {
  struct Row {
    std::string name = {};
    int colour = 0;                    // its look
    std::vector<Estimate> cells = {};  // one a column; not finite: nothing there
  };
  std::string title = {};
  std::string x_title = {};
  std::vector<std::string> columns = {};
  std::vector<Row> rows = {};
  std::string key = {};
};

using Panel = std::variant<Chart, HeatMap, Forest>;

struct Figure {
  std::string id = {};  // letters, digits, hyphens; the beginning of its ids in a picture
  std::string title = {}, description = {};
  std::vector<Panel> panels = {};
  int columns = 1;
  double width = 640, panel_height = 320;
  std::vector<std::string> notes = {};  // below the panels
};

// What a position scheme looks like.
struct SchemePicture {
  std::string position;
  Figure figure;
};

}  // namespace ordinal
