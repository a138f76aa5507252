// compared_html_parts.h: what the files that write the page of a comparison share: text, numbers, schemes, figures.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/svg.h"
#include "results/compared.h"

namespace ordinal::report::page {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Text and bytes of tokens as HTML, for places between tags and inside double quotes.
std::string html(std::string_view text);
std::string token_html(std::string_view piece);

// The name of a file without the folders of whoever made the page; of the texts, one after the other.
std::string base_name(const std::string& path);
std::string text_names(const Compared& result);

// "–" for what is missing or not finite. A difference has its sign written.
std::string number(std::optional<double> value, int digits);
std::string difference(std::optional<double> value, int digits);
std::string percent(std::optional<double> share, int digits);
std::string perplexity(double value);
std::string count(int64_t number, std::string_view one, std::string_view many);  // "1 token", "1,024 tokens"

// With at most so many digits after the point, for a heat map that writes the number into its cell.
double rounded(double value, int digits);

// The place among `schemes`, which is also the `colour` of what is drawn of it until figure() gives it its look; of
// another: -1.
int scheme_index(const Compared& result, std::string_view position);
std::string short_name(std::string_view position);  // plain text for a chart, long ones cut in the middle
std::string spec(std::string_view position);        // may break after commas
// With its marker, in its colour: the same on the whole page.
std::string scheme_name(const Compared& result, std::string_view position);
// The first two cells of a row in a table of schemes: its name, and its standing beside it.
std::string scheme_head(const Compared& result, std::string_view position, const std::string& badge);
std::string badge(Standing standing);
std::string row_badge(const ComparedRow& row);

// What there are rows for, lengths from the least to the greatest, protocols in the order of their coming.
std::vector<int64_t> lengths_of(const Compared& result);
std::vector<std::string> protocols_of(const Compared& result);
const ComparedRow* find_row(const Compared& result, std::string_view position, int64_t length,
                            std::string_view protocol);  // nullptr when there is none
std::string protocol_title(std::string_view protocol);

// A part of the page that scrolls sideways by itself, also with the keyboard.
std::string scroll_box(std::string_view label, const std::string& inside);
std::string details(const std::string& summary, const std::string& inside);
std::string paragraph(std::string_view css, const std::string& inside);

// Charts as a <figure>, each panel a picture of its own that the page can put where there is room.
struct Drawing {
  std::string key = {};  // data-chart of the figure, the beginning of its ids
  std::string label = {};
  std::vector<Panel> panels = {};
  std::string caption = {};                     // HTML
  double width = 380, height = 280;             // of a panel
  int columns = 2;                              // where there is room; of a wide drawing only on paper
  bool wide = false;                            // panels keep their size in a box that scrolls, instead of shrinking
  bool narrow_only = false, wide_only = false;  // on a phone alone, on all else alone
};
std::string figure(const Compared& result, Drawing drawing);

// The parts of the page, in its order.
std::string style();
std::string standings(const Compared& result);
std::string summary_tables(const Compared& result);
std::string loss_by_length(const Compared& result);
std::string differences(const Compared& result);
std::string loss_by_position(const Compared& result);
std::string difference_by_position(const Compared& result);
std::string ranked_tables(const Compared& result);
std::string meanings(const Compared& result);  // of the standings that occur
std::string length_title(const Compared& result, int64_t length);
std::string agreement(const Compared& result);
std::string order_sensitivity(const Compared& result);
std::string attention_distance(const Compared& result);
std::string attention_maps(const Compared& result);
std::string recall(const Compared& result);
std::string samples(const Compared& result);
std::string continuations(const Compared& result);
std::string costs(const Compared& result);
std::string settings(const Compared& result);

}  // namespace ordinal::report::page
