// compared_html_parts.cpp: see compared_html_parts.h.
#include "report/compared_html_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "draw/palette.h"
#include "draw/scale.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

constexpr const char* kMissing = "–";

std::string signed_text(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

// Colours and markers of all schemes, in their order.
std::vector<int> looks_of(const Compared& result) {
  std::vector<std::string> specs;
  for (const ComparedScheme& scheme : result.schemes) specs.push_back(scheme.position);
  return draw::looks_of(specs);
}

void give_look(int& colour, const std::vector<int>& looks) {
  if (colour >= 0 && colour < static_cast<int>(looks.size())) colour = looks[static_cast<size_t>(colour)];
}

}  // namespace

std::string html(std::string_view text) { return draw::xml_text(text); }
std::string token_html(std::string_view piece) { return draw::xml_text(escaped(piece)); }

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string text_names(const Compared& result) {
  if (result.texts.empty()) return base_name(result.text);
  return joined(result.texts, ", ", [](const ComparedText& text) { return base_name(text.name); });
}

std::string number(std::optional<double> value, int digits) {
  if (!value || !std::isfinite(*value)) return kMissing;
  if (std::abs(*value) >= 1e7) return draw::svg_number(*value);
  const std::string text = fixed(*value, digits);
  return signed_text(text.find_first_not_of("-0.") == std::string::npos ? fixed(0, digits) : text);
}

std::string difference(std::optional<double> value, int digits) {
  const std::string text = number(value, digits);
  return value && *value > 0 && text != kMissing && text.find_first_not_of("0.") != std::string::npos ? "+" + text
                                                                                                      : text;
}

std::string percent(std::optional<double> share, int digits) {
  const std::string text = number(share ? std::optional(*share * 100) : share, digits);
  return text == kMissing ? text : text + " %";
}

std::string perplexity(double value) {
  if (std::isfinite(value) && value >= 1000 && value < 1e7) return grouped(std::llround(value));
  return number(value, 2);
}

std::string count(int64_t number, std::string_view one, std::string_view many) {
  return grouped(number) + " " + std::string(number == 1 ? one : many);
}

double rounded(double value, int digits) {
  const double power = std::pow(10, digits);
  return std::round(value * power) / power;
}

int scheme_index(const Compared& result, std::string_view position) {
  const auto found = std::ranges::find(result.schemes, position, &ComparedScheme::position);
  return found == result.schemes.end() ? -1 : static_cast<int>(found - result.schemes.begin());
}

std::string short_name(std::string_view position) {
  constexpr size_t kMost = 26, kTail = 14;
  const std::string text = escaped(position);
  if (text.size() <= kMost) return text;
  size_t head = kMost - kTail - 1, tail = text.size() - kTail;
  while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xc0) == 0x80) --head;
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xc0) == 0x80) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

std::string spec(std::string_view position) {
  std::string text;
  for (size_t at = 0; at < position.size();) {
    const size_t end = std::min(position.find_first_of(",:", at), position.size() - 1) + 1;
    text += html(position.substr(at, end - at)) + (end < position.size() ? "<wbr>" : "");
    at = end;
  }
  return "<span class=\"spec\">" + text + "</span>";
}

std::string scheme_head(const Compared& result, std::string_view position, const std::string& badge) {
  return "<th scope=\"row\">" + scheme_name(result, position) + "</th><td class=\"left\">" + badge + "</td>";
}

std::string scheme_name(const Compared& result, std::string_view position) {
  const int index = scheme_index(result, position);
  const std::string name = spec(position);
  if (index < 0) return name;
  return "<span class=\"scheme\">" + draw::marker_svg(looks_of(result)[static_cast<size_t>(index)]) + name + "</span>";
}

std::string badge(Standing standing) {
  const std::string text(standing_name(standing));
  return "<span class=\"badge " + text + "\">" + text + "</span>";
}

std::string row_badge(const ComparedRow& row) { return badge(row.standing); }

std::vector<int64_t> lengths_of(const Compared& result) {
  std::set<int64_t> lengths(result.lengths.begin(), result.lengths.end());
  for (const ComparedRow& row : result.rows) lengths.insert(row.length);
  return {lengths.begin(), lengths.end()};
}

std::vector<std::string> protocols_of(const Compared& result) {
  std::vector<std::string> protocols;
  for (const ComparedRow& row : result.rows)
    if (row.protocol != kRecent && std::ranges::find(protocols, row.protocol) == protocols.end())
      protocols.push_back(row.protocol);
  return protocols;
}

const ComparedRow* find_row(const Compared& result, std::string_view position, int64_t length,
                            std::string_view protocol) {
  for (const ComparedRow& row : result.rows)
    if (row.position == position && row.length == length && row.protocol == protocol) return &row;
  return nullptr;
}

std::string protocol_title(std::string_view protocol) {
  if (protocol == "whole") return "Windows side by side";
  if (protocol == "sliding") return "Sliding windows";
  return std::string(protocol);
}

std::string scroll_box(std::string_view label, const std::string& inside) {
  return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + html(label) + "\">\n" + inside +
         "</div>\n";
}

std::string details(const std::string& summary, const std::string& inside) {
  return "<details>\n<summary>" + summary + "</summary>\n" + inside + "</details>\n";
}

std::string paragraph(std::string_view css, const std::string& inside) {
  return "<p class=\"" + std::string(css) + "\">" + inside + "</p>\n";
}

std::string figure(const Compared& result, Drawing drawing) {
  const std::vector<int> looks = looks_of(result);
  std::string panels;
  for (size_t i = 0; i < drawing.panels.size(); ++i) {
    Panel& panel = drawing.panels[i];
    std::string title;
    if (auto* chart = std::get_if<Chart>(&panel)) {
      for (Series& series : chart->series) give_look(series.colour, looks);
      title = chart->title;
    }
    if (auto* forest = std::get_if<Forest>(&panel))
      for (Forest::Row& row : forest->rows) give_look(row.colour, looks);
    if (const auto* map = std::get_if<HeatMap>(&panel)) title = map->title;
    const Figure one{.id = drawing.key + "-" + std::to_string(i + 1),
                     .description = drawing.label + (title.empty() ? "" : ": " + title),
                     .panels = {panel},
                     .width = drawing.width,
                     .panel_height = drawing.height};
    panels += "<div class=\"panel\">" + draw::to_svg(one, draw::SvgPlace::page) + "</div>\n";
  }
  // The kit leaves a margin of 16 around a figure; here the page has margins enough.
  const std::string width = " style=\"--width:" + draw::svg_place(drawing.width) +
                            "px;--inset:" + draw::svg_place(100 * 16 / drawing.width) + "%\"";
  const std::string grid =
      "<div class=\"panels columns-" + std::to_string(drawing.columns) + "\"" + width + ">\n" + panels + "</div>\n";
  const std::string css = std::string("drawing") + (drawing.wide ? " wide" : "") +
                          (drawing.narrow_only ? " narrow-only" : "") + (drawing.wide_only ? " wide-only" : "");
  return "<figure class=\"" + css + "\" data-chart=\"" + html(drawing.key) + "\">\n" +
         (drawing.wide ? scroll_box(drawing.label, grid) : grid) +
         (drawing.caption.empty() ? "" : "<figcaption>" + drawing.caption + "</figcaption>\n") + "</figure>\n";
}

}  // namespace ordinal::report::page
