// svg_test.cpp: pictures are well-formed, hold the numbers they show, and survive numbers that are hard to show.
#include "draw/svg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "draw/scale.h"
#include "support.h"
#include "svg_text.h"

using namespace ordinal;
using namespace ordinal::draw;
using test::elements_with;
using test::parse_svg;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Figure with(Panel panel) { return {.id = "f", .title = "T", .description = "D", .panels = {std::move(panel)}}; }

std::vector<std::string> texts(double from, double to, int count, bool logarithmic = false) {
  std::vector<std::string> list;
  for (const Tick& tick : ticks({.from = from, .to = to, .logarithmic = logarithmic}, count)) list.push_back(tick.text);
  return list;
}

// Every coordinate is a number inside the picture, give or take the room of a line.
void check_inside(const std::vector<test::Element>& all) {
  const std::vector<double> view = all.front().numbers("viewBox");
  REQUIRE(view.size() == 4);
  for (const test::Element& element : all)
    for (const char* name : {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy"}) {
      if (!element.attributes.contains(name)) continue;
      const double value = element.numbers(name).at(0);
      CAPTURE(element.name);
      CHECK(value >= -1);
      CHECK(value <= std::max(view[2], view[3]) + 1);
    }
}

}  // namespace

TEST_CASE("svg: ticks stand at multiples of 1, 2 and 5") {
  using Texts = std::vector<std::string>;
  CHECK(texts(0, 1, 5) == Texts{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(texts(0, 99, 5) == Texts{"0", "20", "40", "60", "80"});
  CHECK(texts(-1, 1, 4) == Texts{"−1.0", "−0.5", "0", "0.5", "1.0"});
  CHECK(texts(3, 3.0004, 4) == Texts{"3.0000", "3.0001", "3.0002", "3.0003", "3.0004"});
  CHECK(texts(0, 2048, 4) == Texts{"0", "1000", "2000"});
  CHECK(texts(1, 1000, 4, true) == Texts{"1", "10", "100", "1000"});
  CHECK(texts(1e-6, 1e-2, 5, true) == Texts{"10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001", "0.01"});
  CHECK(texts(1, 10, 6, true) == Texts{"1", "2", "5", "10"});
  CHECK(texts(2, 7, 5, true) == Texts{"2", "3", "4", "5", "6", "7"});
}

TEST_CASE("svg: ticks never run away, however odd the ends") {
  for (const auto& [from, to] : {std::pair{0.0, 1e300}, {-1e-300, 1e-300}, {1e9, 1e9 + 1}, {5e-324, 1.0}})
    for (const int count : {0, 1, 5, 12}) CHECK(ticks({.from = from, .to = to}, count).size() < 30);
}

TEST_CASE("svg: a chart holds its numbers, its names and its marker") {
  Chart chart{.title = "c <&> \"q\"", .x = {.title = "position (tokens)"}, .y = {.title = "loss (nats)"}};
  chart.series = {{.name = "a", .x = {0, 1, 2}, .y = {1, 0.5, -0.25}, .low = {0.9, 0.4, -0.3}, .high = {1.1, 0.6, 0}},
                  {.name = "b & c", .x = {0, 1, 2}, .y = {3, kNan, kInfinity}, .dashed = true}};
  chart.markers = {{.at = 1.5, .label = "trained length"}, {.at = 2, .label = "flat", .horizontal = true}};
  const auto all = parse_svg(to_svg(with(chart)));
  CHECK(all[0].name == "svg");
  CHECK(all[0].has("role", "img"));
  CHECK(all[1].text == "T");
  CHECK(all[2].text == "D");
  CHECK(elements_with(all, "data-name", "a").at(0).numbers("data-y") == std::vector<double>{1, 0.5, -0.25});
  const auto b = elements_with(all, "data-name", "b &amp; c").at(0).numbers("data-y");
  CHECK(b[0] == 3);
  CHECK(std::isnan(b[1]));
  CHECK(std::isnan(b[2]));
  CHECK(elements_with(all, "data-name", "trained length").at(0).numbers("data-at") == std::vector<double>{1.5});
  CHECK(elements_with(all, "class", "oc-mark").size() == 2);
  CHECK(elements_with(all, "class", "oc-band").size() == 1);
  check_inside(all);
}

TEST_CASE("svg: names stand at the ends of lines, none on another, all inside, also where lines end together") {
  const std::vector<std::string> names = {
      "rope", "alibi", "t5_bias", "rope:scaling=yarn,factor=4,original_length=2048", "none", "sinusoidal", "learned"};
  Chart chart{.x = {.title = "x"}, .y = {.title = "y"}};
  for (size_t i = 0; i < names.size(); ++i)
    chart.series.push_back({.name = names[i],
                            .x = {0, 1, 2},
                            .y = {1.0 * static_cast<double>(i), 2, 3 + 1e-4 * static_cast<double>(i)},
                            .colour = static_cast<int>(i)});
  const auto all = parse_svg(to_svg(with(chart)));
  check_inside(all);
  std::vector<double> y;
  double right = 0;
  for (const test::Element& element : all)
    if (element.name == "text" && element.has("class", "oc-tick") && !element.attributes.contains("text-anchor")) {
      y.push_back(element.numbers("y")[0]);
      right = std::max(right, element.numbers("x")[0] + text_width(element.text, 11));
    }
  CHECK(y.size() == 8);  // the long one takes two lines
  std::ranges::sort(y);
  for (size_t i = 1; i < y.size(); ++i) CHECK(y[i] - y[i - 1] > 11);
  CHECK(right <= all[0].numbers("viewBox")[2]);
  CHECK(elements_with(all, "class", "oc-lead").size() == 7);
  // So many that they have no room: a legend.
  for (int i = 0; i < 30; ++i) chart.series.push_back({.name = "line " + std::to_string(i), .x = {0, 1}, .y = {0, 1}});
  CHECK(elements_with(parse_svg(to_svg(with(chart))), "class", "oc-lead").empty());
}

TEST_CASE("svg: a forest plot has every mean with its interval, and what is far off as a number at the edge") {
  const auto cell = [](double mean, double half) {
    return Estimate{.mean = mean, .low = mean - half, .high = mean + half};
  };
  const Forest forest{.title = "F",
                      .x_title = "nats",
                      .columns = {"64", "128"},
                      .rows = {{.name = "near", .colour = 1, .cells = {cell(0.01, 0.005), cell(-0.02, 0.01)}},
                               {.name = "far", .colour = 2, .cells = {cell(0.015, 0.005), cell(2.5, 0.1)}},
                               {.name = "short", .colour = 3, .cells = {{.mean = 0.02}, {.mean = kNan}}}}};
  const auto all = parse_svg(to_svg(with(forest)));
  check_inside(all);
  std::vector<test::Element> cells;
  for (const test::Element& element : all)
    if (element.attributes.contains("data-mean")) cells.push_back(element);
  REQUIRE(cells.size() == 5);  // none where there is no number
  CHECK(cells[1].numbers("data-mean")[0] == -0.02);
  CHECK(cells[1].numbers("data-low")[0] == doctest::Approx(-0.03));
  CHECK(std::isnan(cells[4].numbers("data-low")[0]));
  const auto said = [&](const std::string& text) {
    return std::ranges::any_of(all, [&](const test::Element& element) { return element.text == text; });
  };
  CHECK(said("+2.50"));
  for (const char* text : {"64", "128", "near", "far", "short", "nats", "0"}) CHECK_MESSAGE(said(text), text);
  for (const std::vector<Forest::Row>& rows : {std::vector<Forest::Row>{}, {{.name = "zero", .cells = {{.mean = 0}}}}})
    check_inside(parse_svg(to_svg(with(Forest{.columns = {"1"}, .rows = rows}))));
}

TEST_CASE("svg: labels stand upright where they have room only so") {
  HeatMap map{.rows = 1, .cols = 30, .values = std::vector<double>(30, 1.0)};
  for (int i = 0; i < 30; ++i) map.x.labels.push_back("·token" + std::to_string(i));
  const auto upright = [&] {
    int count = 0;
    for (const test::Element& element : parse_svg(to_svg(with(map))))
      count += element.attributes.contains("transform") && element.text.starts_with("·token") ? 1 : 0;
    return count;
  };
  CHECK(upright() == 30);
  map.cols = 4, map.values.resize(4), map.x.labels.resize(4);
  CHECK(upright() == 0);
}

TEST_CASE("svg: bars stand on zero, also those below it") {
  const Chart chart{.series = {{.x = {0, 1, 2}, .y = {0.5, -0.25, 0}, .drawn = Drawn::bars}}};
  const auto all = parse_svg(to_svg(with(chart)));
  std::vector<test::Element> bars;
  for (const test::Element& element : all)
    if (element.attributes.contains("data-value")) bars.push_back(element);
  REQUIRE(bars.size() == 3);
  CHECK(bars[0].numbers("data-value")[0] == 0.5);
  CHECK(bars[0].numbers("y")[0] + bars[0].numbers("height")[0] == doctest::Approx(bars[1].numbers("y")[0]));
  CHECK(bars[0].numbers("height")[0] == doctest::Approx(2 * bars[1].numbers("height")[0]).epsilon(0.001));
  CHECK(bars[2].numbers("height")[0] == 0);
  check_inside(all);
}

TEST_CASE("svg: a heat map holds its rows and colours cells by sign and size") {
  HeatMap map{.rows = 2, .cols = 4, .values = {0, 1, -1, kNan, 0.5, 0.5, 0.5, 0}};
  map.first_x = 10, map.step_x = 2, map.row_key = "dim", map.value_title = "value";
  const auto all = parse_svg(to_svg(with(map)));
  const auto rows = elements_with(all, "class", "oc-row");
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].has("data-dim", "1"));
  CHECK(rows[1].numbers("data-values") == std::vector<double>{0.5, 0.5, 0.5, 0});
  CHECK(std::isnan(rows[0].numbers("data-values")[3]));
  CHECK(elements_with(all, "d", "M1 0h1").at(0).has("class", "oc-cell oc-plus"));
  CHECK(elements_with(all, "d", "M2 0h1").at(0).has("class", "oc-cell oc-minus"));
  CHECK(elements_with(all, "d", "M0 1h3").at(0).has("stroke-opacity", "0.5"));
  check_inside(all);
}

TEST_CASE("svg: ticks of cells stand at cells, not between them") {
  HeatMap map{.rows = 3, .cols = 2, .values = std::vector<double>(6, 1.0)};
  std::vector<std::string> texts_found;
  for (const test::Element& element : parse_svg(to_svg(with(map))))
    if (element.has("class", "oc-tick")) texts_found.push_back(element.text);
  CHECK(texts_found == std::vector<std::string>{"0", "1", "2", "0", "1"});
}

TEST_CASE("svg: extremes leave a picture without NaN") {
  std::vector<Panel> panels;
  for (const auto& y : std::vector<std::vector<double>>{
           {}, {0}, {5}, {-5}, {kNan}, {7, 7, 7}, {1e300, -1e300}, {kInfinity, -kInfinity}, {1e-320, 2e-320}})
    for (const bool logarithmic : {false, true})
      for (const Drawn drawn : {Drawn::line, Drawn::steps, Drawn::dots, Drawn::bars}) {
        Series series{.name = "s", .x = {}, .y = y, .drawn = drawn};
        for (size_t i = 0; i < y.size(); ++i) series.x.push_back(static_cast<double>(i));
        panels.emplace_back(
            Chart{.x = {.logarithmic = logarithmic}, .y = {.logarithmic = logarithmic}, .series = {series}});
      }
  panels.emplace_back(Chart{});
  panels.emplace_back(HeatMap{});
  panels.emplace_back(HeatMap{.rows = 1, .cols = 1, .values = {3}, .value_title = "v"});
  panels.emplace_back(HeatMap{.rows = 1, .cols = 2, .values = {kNan, kNan}, .value_title = "v", .with_text = true});
  panels.emplace_back(HeatMap{.rows = 2, .cols = 1, .values = {-2, -2}, .value_title = "v"});
  panels.emplace_back(HeatMap{.rows = 5, .cols = 5, .values = {1}});  // too few numbers: an empty frame
  for (const Panel& panel : panels) {
    const std::string svg = to_svg(with(panel));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    check_inside(parse_svg(svg));
  }
}

TEST_CASE("svg: two figures in one page share no id, and leave background and ink to the page") {
  Figure a = with(Chart{}), b = with(HeatMap{});
  b.id = "g";
  const auto all = parse_svg("<p>" + to_svg(a, SvgPlace::page) + to_svg(b, SvgPlace::page) + "</p>");
  std::set<std::string> ids;
  for (const test::Element& element : all) {
    if (element.attributes.contains("id")) CHECK(ids.insert(element.attributes.at("id")).second);
    CHECK(!element.has("class", "oc-paper"));
    CHECK(!element.has("class", "oc oc-file"));
  }
  CHECK(ids.size() == 4);
  CHECK(to_svg(a).find("oc-paper\" width") != std::string::npos);
}

TEST_CASE("svg: both light and dark have colours of their own") {
  const std::string svg = to_svg(with(Chart{}));
  const size_t dark = svg.find("@media(prefers-color-scheme:dark)");
  REQUIRE(dark != std::string::npos);
  for (const char* css : {".oc-0{", ".oc-7{", ".oc-file{", ".oc-paper{", ".oc-plus{", ".oc-minus{", ".oc-one{"}) {
    CHECK(svg.find(css) < dark);
    CHECK(svg.find(css, dark) != std::string::npos);
  }
}

TEST_CASE("svg: text that XML forbids is replaced, not passed on") {
  CHECK(xml_text("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
  CHECK(xml_text(std::string("\x01\xff\0z\n", 5)) == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz ");
}
