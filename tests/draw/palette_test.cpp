// palette_test.cpp: the colours of schemes can be told apart by everybody, and each scheme has the same everywhere.
//
// Distances are CIEDE2000 (Sharma, Wu, Dalal 2005) between colours as they are seen with deuteranopia and protanopia:
// Machado, Oliveira, Fernandes 2009, matrices of severity 1, on linear sRGB.
#include "draw/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "support.h"

using namespace ordinal::draw;

namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtanopia = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kToXyz = {
    {{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}};

// Twice the 5 from which on two colours are said to be of two kinds and not shades of one.
constexpr double kLeast = 10;
// Of lines and signs with what is behind them: WCAG 2.2, 1.4.11.
constexpr double kContrast = 3;

Triple product(const Matrix& m, const Triple& v) {
  Triple out{};
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 3; ++c) out[r] += m[r][c] * v[c];
  return out;
}

Triple linear(std::string_view hex) {
  REQUIRE(hex.size() == 7);
  Triple out{};
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

Triple lab_of(const Triple& rgb) {
  static constexpr Triple kWhite = {0.95047, 1, 1.08883};
  const Triple xyz = product(kToXyz, rgb);
  Triple f{};
  for (size_t i = 0; i < 3; ++i) {
    const double t = std::max(0.0, xyz[i]) / kWhite[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

double ciede2000(const Triple& one, const Triple& two) {
  const auto radians = [](double degrees) { return degrees * std::numbers::pi / 180; };
  const auto seventh = [](double c) { return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7))); };
  const double mean = (std::hypot(one[1], one[2]) + std::hypot(two[1], two[2])) / 2, g = 0.5 * (1 - seventh(mean));
  const double a1 = (1 + g) * one[1], a2 = (1 + g) * two[1];
  const double c1 = std::hypot(a1, one[2]), c2 = std::hypot(a2, two[2]);
  const auto hue = [&](double a, double b) {
    const double h = a == 0 && b == 0 ? 0 : std::atan2(b, a) * 180 / std::numbers::pi;
    return h < 0 ? h + 360 : h;
  };
  const double h1 = hue(a1, one[2]), h2 = hue(a2, two[2]);
  double dh = c1 * c2 == 0 ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  double h = h1 + h2;
  if (c1 * c2 != 0) h = std::abs(h1 - h2) <= 180 ? h / 2 : h < 360 ? (h + 360) / 2 : (h - 360) / 2;
  const double l = (one[0] + two[0]) / 2, c = (c1 + c2) / 2;
  const double t = 1 - 0.17 * std::cos(radians(h - 30)) + 0.24 * std::cos(radians(2 * h)) +
                   0.32 * std::cos(radians(3 * h + 6)) - 0.2 * std::cos(radians(4 * h - 63));
  const double sl = 1 + 0.015 * (l - 50) * (l - 50) / std::sqrt(20 + (l - 50) * (l - 50));
  const double sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  const double rt = -std::sin(radians(60 * std::exp(-std::pow((h - 275) / 25, 2)))) * 2 * seventh(c);
  const double dl = (two[0] - one[0]) / sl, dc = (c2 - c1) / sc;
  const double dhue = 2 * std::sqrt(c1 * c2) * std::sin(radians(dh / 2)) / sh;
  return std::sqrt(dl * dl + dc * dc + dhue * dhue + rt * dc * dhue);
}

// The least distance between two of the colours as one eye sees them.
double least_distance(const std::vector<std::string>& hex, const Matrix& eye) {
  std::vector<Triple> seen;
  for (const std::string& colour : hex) {
    Triple rgb = product(eye, linear(colour));
    for (double& channel : rgb) channel = std::clamp(channel, 0.0, 1.0);
    seen.push_back(lab_of(rgb));
  }
  double least = 1e9;
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j) least = std::min(least, ciede2000(seen[i], seen[j]));
  return least;
}

bool can_be_told_apart(const std::vector<std::string>& hex) {
  for (const Matrix& eye : {kNormal, kProtanopia, kDeuteranopia})
    if (least_distance(hex, eye) < kLeast) return false;
  return true;
}

double contrast(std::string_view one, std::string_view two) {
  const double a = product(kToXyz, linear(one))[1], b = product(kToXyz, linear(two))[1];
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

std::vector<std::string> shades(std::string_view Colour::*shade) {
  std::vector<std::string> list;
  for (const Colour& colour : colours()) list.emplace_back(colour.*shade);
  return list;
}

}  // namespace

TEST_CASE("palette: the distance of colours is what its authors computed") {
  const auto close = [](const Triple& a, const Triple& b, double expected) {
    CHECK(ciede2000(a, b) == doctest::Approx(expected).epsilon(1e-4));
    CHECK(ciede2000(b, a) == doctest::Approx(expected).epsilon(1e-4));
  };
  // Of the 34 pairs that Sharma, Wu and Dalal published.
  close({50, 2.6772, -79.7751}, {50, 0, -82.7485}, 2.0425);
  close({50, 0, 0}, {50, -1, 2}, 2.3669);
  close({50, 2.5, 0}, {50, 0, -2.5}, 4.3065);
  close({50, 2.5, 0}, {73, 25, -18}, 27.1492);
  close({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}, 1.2644);
  close({2.0776, 0.0795, -1.135}, {0.9033, -0.0636, -0.5514}, 0.9082);
}

TEST_CASE("palette: eight colours can be told apart with deuteranopia and protanopia, in light and in dark") {
  for (const auto& list : {shades(&Colour::on_light), shades(&Colour::on_dark)}) {
    CAPTURE(list.front());
    CHECK(list.size() == 8);
    CHECK(least_distance(list, kNormal) >= kLeast);
    CHECK(least_distance(list, kProtanopia) >= kLeast);
    CHECK(least_distance(list, kDeuteranopia) >= kLeast);
  }
  for (const Colour& colour : colours()) {
    CAPTURE(colour.name);
    for (const char* paper : {"#ffffff", "#fdfdfc"}) CHECK(contrast(colour.on_light, paper) >= kContrast);
    for (const char* paper : {"#14171c", "#1c2027"}) CHECK(contrast(colour.on_dark, paper) >= kContrast);
  }
}

TEST_CASE("palette: what is usual elsewhere, or was here before, would not pass") {
  // The ten that many programs begin with; red and green of one lightness; this program's own until 2026-12.
  CHECK(!can_be_told_apart({"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"}));
  CHECK(!can_be_told_apart({"#b03030", "#4d7a1f"}));
  CHECK(!can_be_told_apart({"#0b62c4", "#c9480a", "#0f7d58", "#8637bd", "#946400", "#c01f68", "#2b7f93", "#666b73"}));
  std::vector<std::string> twice = shades(&Colour::on_light);
  twice[3] = twice[0];
  CHECK(!can_be_told_apart(twice));
  CHECK(can_be_told_apart(shades(&Colour::on_light)));
}

TEST_CASE("palette: every colour has a marker of its own, around its place") {
  std::set<std::string> outlines;
  std::set<Marker> markers;
  for (const Colour& colour : colours()) {
    markers.insert(colour.marker);
    outlines.insert(marker_path(colour.marker, 0, 0, 4));
    CHECK(marker_path(colour.marker, 100, 50, 4).starts_with("M"));
  }
  CHECK(markers.size() == 8);
  CHECK(outlines.size() == 8);
  CHECK(marker_svg(3).find("class=\"marker oc-3\"") != std::string::npos);
}

TEST_CASE("palette: the lab and the study's chart have these colours too") {
  const std::string lab = test::read_file(test::repository("src/serve/lab/lab.css"));
  const std::string study = test::read_file(test::repository("models/study/perplexity.svg"));
  CHECK(test::read_file(test::repository("src/serve/lab/lab.js"))
            .find("['rope', 'alibi', 't5_bias', 'sinusoidal', 'learned', 'shaw', 'fire', 'none']") !=
        std::string::npos);
  for (size_t i = 0; i < colours().size(); ++i) {
    CAPTURE(i);
    const std::string name = "--s" + std::to_string(i) + ": ";
    CHECK(lab.find(name + std::string(colours()[i].on_light)) != std::string::npos);
    CHECK(lab.find(name + std::string(colours()[i].on_dark)) != std::string::npos);
    const std::string css = ".c" + std::to_string(i) + "{color:";
    CHECK(study.find(css + std::string(colours()[i].on_light)) != std::string::npos);
    CHECK(study.find(css + std::string(colours()[i].on_dark)) != std::string::npos);
  }
}

TEST_CASE("palette: a scheme has one look wherever it stands, and no two of a comparison have the same") {
  const auto look = [](const std::string& spec) { return looks_of(std::vector<std::string>{spec})[0]; };
  CHECK(looks_of(std::vector<std::string>{"alibi", "rope"}) == std::vector<int>{look("alibi"), look("rope")});
  CHECK(look("alibi:max_bias=4") == look("alibi"));
  CHECK(look("rope;with=dca") == look("rope"));
  CHECK(look("xpos") % 8 == look("rope") % 8);
  CHECK(marker_of(look("xpos")) != marker_of(look("rope")));
  std::set<int> own;
  for (const char* spec : {"rope", "alibi", "t5_bias", "sinusoidal", "learned", "shaw", "none"}) own.insert(look(spec));
  CHECK(own.size() == 7);

  // A variant in front does not take the colour of a scheme behind it.
  const std::vector<std::string> variants = {"rope", "rope:scaling=yarn,factor=4", "alibi",
                                             "rope:scaling=ntk,factor=4"};
  const std::vector<int> looks = looks_of(variants);
  CHECK(looks[0] == look("rope"));
  CHECK(looks[2] == look("alibi"));
  std::set<int> colours_used;
  for (const int one : looks) colours_used.insert(one % 8);
  CHECK(colours_used.size() == 4);

  CHECK(looks_of(std::vector<std::string>{"rope;with=dca", "rope"})[1] == look("rope"));

  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("rope;layers=" + std::to_string(i) + ":none");
  const std::vector<int> all = looks_of(many);
  CHECK(std::set<int>(all.begin(), all.end()).size() == 40);
  std::set<std::pair<int, Marker>> pairs;
  for (const int one : all) pairs.insert({one % 8, marker_of(one)});
  CHECK(pairs.size() == 40);
  CHECK(looks_of(std::vector<std::string>{}).empty());
}
