// svg.h: figures as self-contained SVG text, for a file or for a place inside an HTML page.
//
// Every number that is drawn is also written in data- attributes, so that it can be read back; one that is not finite
// is "null". Colours follow the reader's light or dark setting; text and axes take the colour of their surroundings.
// Classes begin with "oc-" and mean the same in every figure, ids begin with the figure's own, so figures can share a
// page.
#pragma once

#include <cstdint>
#include <string>

#include "results/figure.h"

namespace ordinal::draw {

// A file has a style and a background of its own; in a page they come from the page, which needs svg_style() once.
enum class SvgPlace : uint8_t { file, page };
std::string to_svg(const Figure& figure, SvgPlace place = SvgPlace::file);
std::string svg_style();

}  // namespace ordinal::draw
