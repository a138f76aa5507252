// palette.cpp: see palette.h.
#include "draw/palette.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "draw/scale.h"

namespace ordinal::draw {
namespace {

// Found by a search for the greatest least distance (CIEDE2000) under the matrices of Machado, Oliveira and Fernandes
// 2009, with hues held near their names and a contrast of 3 to the paper: 12.8 on light, 13.8 on dark.
constexpr std::array<Colour, 8> kColours = {{
    {"blue", "#286bda", "#67a7f4", Marker::disc},
    {"rust", "#901d00", "#fcaf6a", Marker::square},
    {"green", "#116a48", "#1c8060", Marker::triangle},
    {"purple", "#712678", "#974fb0", Marker::diamond},
    {"olive", "#9d8d10", "#8e8614", Marker::plus},
    {"pink", "#ee5c7f", "#f95a88", Marker::wedge},
    {"cyan", "#009cbd", "#00e5f3", Marker::cross},
    {"grey", "#504c57", "#adb0b2", Marker::ring},
}};
constexpr int kCount = static_cast<int>(kColours.size());

// A scheme's own look; kin of another has its colour and another marker.
constexpr std::array<std::pair<std::string_view, int>, 17> kOwn = {{
    {"rope", 0},
    {"alibi", 1},
    {"t5_bias", 2},
    {"sinusoidal", 3},
    {"learned", 4},
    {"shaw", 5},
    {"fire", 6},
    {"none", 7},
    {"xpos", 8},
    {"kerple", 9},
    {"relative_bias", 10},
    {"normalized", 11},
    {"hierarchical", 12},
    {"xl", 13},
    {"cope", 14},
    {"sandwich", 17},
    {"index", 19},
}};

std::string_view scheme_name(std::string_view spec) { return spec.substr(0, spec.find_first_of(":;")); }

int own_look(std::string_view spec) {
  const auto* found = std::ranges::find(kOwn, scheme_name(spec), &std::pair<std::string_view, int>::first);
  return found == kOwn.end() ? kCount - 1 : found->second;
}

// The corners of a marker of radius 1, in the order of Marker; round ones have none.
constexpr double kArm = 0.36, kSlant = 0.51, kFar = 0.85, kNear = kFar - kSlant;
const std::array<std::vector<std::pair<double, double>>, 8> kCorners = {{
    {},
    {{-0.88, -0.88}, {0.88, -0.88}, {0.88, 0.88}, {-0.88, 0.88}},
    {{0, -1.15}, {1.1, 0.8}, {-1.1, 0.8}},
    {{0, -1.3}, {1.05, 0}, {0, 1.3}, {-1.05, 0}},
    {{-kArm, -1.15},
     {kArm, -1.15},
     {kArm, -kArm},
     {1.15, -kArm},
     {1.15, kArm},
     {kArm, kArm},
     {kArm, 1.15},
     {-kArm, 1.15},
     {-kArm, kArm},
     {-1.15, kArm},
     {-1.15, -kArm},
     {-kArm, -kArm}},
    {{0, 1.15}, {1.1, -0.8}, {-1.1, -0.8}},
    {{-kFar, -kNear},
     {-kNear, -kFar},
     {0, -kSlant},
     {kNear, -kFar},
     {kFar, -kNear},
     {kSlant, 0},
     {kFar, kNear},
     {kNear, kFar},
     {0, kSlant},
     {-kNear, kFar},
     {-kFar, kNear},
     {-kSlant, 0}},
    {},
}};

std::string place(double x, double y) { return svg_place(x) + " " + svg_place(y); }

std::string circle(double x, double y, double radius, bool clockwise) {
  const std::string arc = "a" + place(radius, radius) + (clockwise ? " 0 1 1 " : " 0 1 0 ");
  return "M" + place(x - radius, y) + arc + svg_place(2 * radius) + " 0" + arc + svg_place(-2 * radius) + " 0Z";
}

}  // namespace

std::span<const Colour> colours() { return kColours; }

std::string colour_class(int look) { return "oc-" + std::to_string(std::max(0, look) % kCount); }

Marker marker_of(int look) {
  look = std::max(0, look);
  return kColours[static_cast<size_t>((look + look / kCount) % kCount)].marker;
}

std::vector<int> looks_of(std::span<const std::string> specs) {
  std::vector<int> looks(specs.size(), -1), taken;
  const auto has_colour = [&](int colour) {
    return std::ranges::any_of(taken, [&](int look) { return look % kCount == colour; });
  };
  const auto take = [&](size_t i, int look) {
    looks[i] = look;
    taken.push_back(look);
  };
  // Own colours first, and plain schemes before their variants, so that none takes that of a scheme behind it.
  for (const bool plain : {true, false})
    for (size_t i = 0; i < specs.size(); ++i)
      if (const int own = own_look(specs[i]);
          plain == (specs[i] == scheme_name(specs[i])) && !has_colour(own % kCount) && looks[i] < 0)
        take(i, own);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (looks[i] >= 0) continue;
    int look = 0;  // a colour that is free; when none is, a pair of colour and marker that is
    while (std::ranges::find(taken, look) != taken.end() || (look < kCount && has_colour(look))) ++look;
    take(i, look);
  }
  return looks;
}

std::string marker_path(Marker marker, double x, double y, double r) {
  std::string path;
  for (const auto& [dx, dy] : kCorners[static_cast<size_t>(marker)])
    path += (path.empty() ? "M" : "L") + place(x + dx * r, y + dy * r);
  if (!path.empty()) return path + "Z";
  return marker == Marker::ring ? circle(x, y, 1.05 * r, true) + circle(x, y, 0.55 * r, false) : circle(x, y, r, true);
}

std::string marker_svg(int look) {
  return "<svg class=\"marker " + colour_class(look) + "\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\"><path d=\"" +
         marker_path(marker_of(look), 0, 0, 4.2) + "\"/></svg>";
}

}  // namespace ordinal::draw
