// compared_html_ranked.cpp: the ranked tables of a comparison, which are cards on a phone, and what the standings in
// them mean.
#include <algorithm>
#include <cmath>

#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

constexpr size_t kShownRows = 10;  // at one length; the others are behind a click

std::string delta_html(const ComparedRow& row) {
  if (!row.delta_nll) return row.protocol == kRecent ? "baseline" : "reference";
  std::string text = difference(row.delta_nll, 3);
  if (row.delta_low && row.delta_high)
    text +=
        "<span class=\"interval\">" + difference(row.delta_low, 3) + " to " + difference(row.delta_high, 3) + "</span>";
  return text;
}

// On a phone a table is drawn as cards, which would take its meaning from it: roles say what it is all the same.
std::string ranked_row(const Compared& result, const ComparedRow& row) {
  const auto cell = [](std::string_view label, std::string_view css, const std::string& inside) {
    return "<td role=\"cell\" class=\"" + std::string(css) + "\" data-label=\"" + std::string(label) + "\">" + inside +
           "</td>";
  };
  const std::string note =
      row.protocol == kRecent ? " <span class=\"note\">on the last " + grouped(result.trained_length) + "</span>" : "";
  return "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">" + scheme_name(result, row.position) + note + "</th>" +
         cell("perplexity", "ppl", perplexity(row.ppl)) + cell("difference", "delta", delta_html(row)) +
         cell("standing", "left", row_badge(row)) + "</tr>\n";
}

std::string ranked_table(const std::string& title, const std::string& rows) {
  const auto head = [](std::string_view name, std::string_view unit, bool left) {
    return "<th role=\"columnheader\" scope=\"col\"" + std::string(left ? " class=\"left\">" : ">") +
           std::string(name) + (unit.empty() ? "" : " <span class=\"unit\">" + std::string(unit) + "</span>") + "</th>";
  };
  return "<table class=\"ranked\" role=\"table\"><caption><span>" + title + "</span></caption>\n" +
         "<thead role=\"rowgroup\"><tr role=\"row\">" + head("scheme", "", true) + head("perplexity", "", false) +
         head("difference", "nats, 95&nbsp;%", false) + head("standing", "", true) +
         "</tr></thead>\n<tbody role=\"rowgroup\">\n" + rows + "</tbody></table>\n";
}

// The best first, and the rest behind a click.
std::string ranked_at(const Compared& result, int64_t length) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : result.rows)
    if (row.length == length && row.protocol != kSliding && row.refused.empty()) rows.push_back(&row);
  if (rows.empty()) return "";
  std::ranges::stable_sort(rows, {}, &ComparedRow::nll);
  std::string first, rest;
  for (size_t i = 0; i < rows.size(); ++i) (i < kShownRows ? first : rest) += ranked_row(result, *rows[i]);
  std::string out = ranked_table(length_title(result, length), first);
  if (!rest.empty())
    out += details(count(static_cast<int64_t>(rows.size() - kShownRows), "more scheme", "more schemes") + " at " +
                       count(length, "token", "tokens"),
                   ranked_table(length_title(result, length) + ", the rest", rest));
  return out;
}

struct Meaning {
  Standing standing;
  std::string text;
};

}  // namespace

std::string length_title(const Compared& result, int64_t length) {
  std::string title = "Windows of " + count(length, "token", "tokens");
  if (length == result.trained_length) title += " <span class=\"unit\">the trained length</span>";
  if (result.trained_length > 0 && length > result.trained_length)
    title += " <span class=\"unit\">past the trained length of " + grouped(result.trained_length) + "</span>";
  return title;
}

// The trained length and the longest are seen at once.
std::string ranked_tables(const Compared& result) {
  std::string shown, others;
  const std::vector<int64_t> lengths = lengths_of(result);
  for (const int64_t length : lengths) {
    const bool first = lengths.size() < 3 || length == result.matrix_length || length == lengths.back();
    (first ? shown : others) += ranked_at(result, length);
  }
  if (shown.empty() && others.empty()) return paragraph("nothing", "No scheme ran.");
  return "<p class=\"note\">Best first; differences in nats per token against " + spec(result.reference) +
         " at the same length, with 95&nbsp;% intervals.</p>\n" + shown +
         (others.empty() ? "" : details("Other lengths", others));
}

std::string meanings(const Compared& result) {
  const std::string length = count(result.trained_length, "token", "tokens");
  const std::vector<Meaning> all = {
      {Standing::trained, "The weights were trained under this scheme alone."},
      {Standing::jointly,
       "The weights were trained under several schemes at once, this one among them. That has a "
       "cost of its own, which every scheme of such weights pays."},
      {Standing::exact,
       "Bit for bit what a trained scheme computes at every position of this length, so the numbers "
       "are that scheme&#x2019;s."},
      {Standing::extrapolating,
       "Longer than the trained length of " + length + ": no weights have seen these positions, whatever the scheme."},
      {Standing::untrained,
       "It runs, but at positions the weights have never met. The numbers measure how much the "
       "weights lean on their own scheme."},
      {Standing::refused,
       "It needs a tensor that the model does not have, is not for this model, or ends before. Nothing is "
       "filled in to make it run."}};
  const auto occurs = [&](Standing standing) {
    return std::ranges::any_of(result.rows, [&](const ComparedRow& row) { return row.standing == standing; }) ||
           std::ranges::any_of(result.schemes, [&](const ComparedScheme& s) { return s.standing == standing; });
  };
  std::string out = "<div class=\"meaning\">\n<dl>\n";
  for (const Meaning& meaning : all)
    if (occurs(meaning.standing))
      out += "<div><dt>" + badge(meaning.standing) + "</dt><dd>" + meaning.text + "</dd></div>\n";
  out += "</dl>\n";
  if (occurs(Standing::untrained))
    out +=
        "<p class=\"warning\"><strong>An untrained swap is no verdict on the scheme.</strong> A scheme that "
        "does badly here may do best on weights that were trained under it. Only trained and jointly trained rows "
        "can be compared with each other.</p>\n";
  return out + "</div>\n";
}

}  // namespace ordinal::report::page
