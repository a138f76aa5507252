// svg.cpp: see svg.h. Lays panels out in a grid, below the title and above the notes.
#include "draw/svg.h"

#include <algorithm>

#include "draw/palette.h"
#include "draw/parts.h"

namespace ordinal::draw {
namespace {

constexpr double kMargin = 16, kGap = 18, kTitleSize = 16;

std::string colours_css(std::string_view Colour::*shade, const char* ink, const char* paper, const char* plus,
                        const char* minus, const char* one) {
  std::string css;
  for (size_t i = 0; i < colours().size(); ++i)
    css += ".oc-" + std::to_string(i) + "{color:" + std::string(colours()[i].*shade) + "}";
  return css + ".oc-file{color:" + ink + ";background:" + paper + "}.oc-paper{fill:" + paper +
         "}.oc-plus{stroke:" + plus + "}.oc-minus{stroke:" + minus + "}.oc-one{stroke:" + one + "}";
}

}  // namespace

// The same in every figure, so that a page may hold several. Text takes the colour of what is around the figure.
std::string svg_style() {
  return ".oc{font:12px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}"
         ".oc text{fill:currentColor}.oc .oc-tick{font-size:11px}.oc .oc-title{font-size:13px;font-weight:600}"
         ".oc .oc-head{font-size:16px;font-weight:600}.oc .oc-note{opacity:.8}"
         ".oc-grid{stroke:currentColor;stroke-opacity:.12}.oc-axis{stroke:currentColor;stroke-opacity:.6}"
         ".oc-mark{stroke:currentColor;stroke-dasharray:5 4;stroke-opacity:.75}"
         ".oc-line{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}"
         ".oc-lead{fill:none;stroke:currentColor;stroke-width:.8;stroke-opacity:.55}"
         ".oc-dash{stroke-dasharray:6 4}.oc-fill{fill:currentColor}.oc-band{fill:currentColor;fill-opacity:.18}"
         ".oc-cell{shape-rendering:crispEdges}" +
         colours_css(&Colour::on_light, "#1c2128", "#ffffff", "#c4161c", "#0b52b5", "#0b52b5") +
         "@media(prefers-color-scheme:dark){" +
         colours_css(&Colour::on_dark, "#e3e6ea", "#14171c", "#ff5c56", "#5a9dff", "#6db1ff") + "}";
}

std::string to_svg(const Figure& figure, SvgPlace place) {
  Canvas canvas;
  const double inner = figure.width - 2 * kMargin;
  double y = kMargin;
  for (const std::string& line : wrap_text(figure.title, inner, kTitleSize)) {
    canvas.text(kMargin, y + kTitleSize - 2, line, "start", "oc-head");
    y += kTitleSize + 6;
  }
  if (!figure.title.empty()) y += 6;
  const auto columns = static_cast<size_t>(std::max(1, figure.columns));
  const double width = (inner - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    const Box box{kMargin + static_cast<double>(i % columns) * (width + kGap), y, width, figure.panel_height};
    if (const auto* chart = std::get_if<Chart>(&figure.panels[i])) draw_chart(canvas, *chart, box);
    if (const auto* map = std::get_if<HeatMap>(&figure.panels[i])) draw_heat_map(canvas, *map, box);
    if (const auto* forest = std::get_if<Forest>(&figure.panels[i])) draw_forest(canvas, *forest, box);
    if (i % columns == columns - 1 || i + 1 == figure.panels.size()) y += figure.panel_height + kGap;
  }
  for (const std::string& note : figure.notes)
    for (const std::string& line : wrap_text(note, inner, kTextSize)) {
      canvas.text(kMargin, y + kTextSize - 6, line, "start", "oc-note");
      y += kLine;
    }
  const double height = y + kMargin - (figure.notes.empty() ? kGap : 6);

  const std::string size = svg_place(figure.width) + " " + svg_place(height);
  const bool file = place == SvgPlace::file;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("viewBox", "0 0 " + size) +
                    attribute("class", file ? "oc oc-file" : "oc") + " role=\"img\"" +
                    attribute("aria-labelledby", figure.id + "-title " + figure.id + "-desc") + ">\n";
  svg += "<title" + attribute("id", figure.id + "-title") + ">" + xml_text(figure.title) + "</title>\n";
  svg += "<desc" + attribute("id", figure.id + "-desc") + ">" + xml_text(figure.description) + "</desc>\n";
  if (file) svg += "<style>" + svg_style() + "</style>\n<rect class=\"oc-paper\" width=\"100%\" height=\"100%\"/>\n";
  return svg + canvas.out + "</svg>\n";
}

}  // namespace ordinal::draw
