// palette.h: the one table of colours and markers, and which of them a position scheme has wherever it is drawn: pages,
// pictures, the study's charts and the lab.
//
// Colours can be told apart with deuteranopia and protanopia too, on light and on dark paper, and stand out from both
// (tests/draw/palette_test.cpp computes it). A line has a marker beside its colour, for paper without colours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ordinal::draw {

enum class Marker : uint8_t { disc, square, triangle, diamond, plus, wedge, cross, ring };

struct Colour {
  std::string_view name, on_light, on_dark;
  Marker marker;
};
std::span<const Colour> colours();

// A look is a number: its colour is look % 8; past eight the colours come again, with other markers.
std::string colour_class(int look);  // of CSS: "oc-3"
Marker marker_of(int look);

// The look of each scheme, by its spec. A scheme alone has its own. Of several that would share a colour the plain one
// or the first has it, the others the next that is free; past eight schemes no two have colour and marker alike.
std::vector<int> looks_of(std::span<const std::string> specs);

// The outline of a marker around a place, as the d of an SVG path.
std::string marker_path(Marker marker, double x, double y, double radius);

// A marker by itself, to stand in a line of text; of its surroundings' colour.
std::string marker_svg(int look);

}  // namespace ordinal::draw
