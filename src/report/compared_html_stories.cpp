// compared_html_stories.cpp: the texts that each scheme goes on with, every token tinted by its surprisal.
#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

// Running text: line ends end lines, other bytes that are no text are written out.
std::string prose(std::string_view bytes) {
  std::string out;
  while (true) {
    const size_t end = bytes.find('\n');
    out += token_html(bytes.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += "<span class=\"line-end\">↵</span>\n";
    bytes.remove_prefix(end + 1);
  }
}

// Six tints, a nat and a half each: none below 1.5, the strongest from 9 on.
constexpr int kTints = 6;
constexpr double kTintStep = 1.5;

std::string tinted(const std::string& piece, double surprisal) {
  const int tint =
      std::isfinite(surprisal) ? static_cast<int>(std::clamp(surprisal / kTintStep, 0.0, 1.0 * kTints)) : 0;
  if (tint == 0) return prose(piece);
  return "<span class=\"tint-" + std::to_string(tint) + "\" title=\"" + number(surprisal, 1) + " nats\">" +
         prose(piece) + "</span>";
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

// In words too, for who does not see the tints: how surprising the text is, and the most surprising tokens of it.
std::string surprise_in_words(const DrawnText& text, size_t inside) {
  const std::span<const double> all = text.surprisal;
  std::string words;
  if (inside > 0) words = number(mean_of(all.first(inside)), 2) + " nats a token inside the trained length";
  if (inside < all.size()) words += (words.empty() ? "" : ", ") + number(mean_of(all.subspan(inside)), 2) + " past it";
  std::vector<size_t> order;
  for (size_t i = 0; i < std::min(all.size(), text.pieces.size()); ++i)
    if (std::isfinite(all[i])) order.push_back(i);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return all[a] > all[b]; });
  order.resize(std::min<size_t>(order.size(), 3));
  if (!order.empty())
    words += "; most surprising: " + joined(order, ", ", [&](size_t i) {
               return "<q>" + prose(text.pieces[i]) + "</q>&nbsp;" + number(all[i], 1);
             });
  return words + ".";
}

std::string sample(const Compared& result, const ComparedScheme& scheme) {
  const DrawnText& text = scheme.sample;
  const auto inside = static_cast<size_t>(
      std::clamp<int64_t>(result.trained_length - result.sample_begins, 0, std::ssize(text.surprisal)));
  std::string story = "<span class=\"prompt\">" + prose(joined(result.sample_before, "")) + "</span>";
  for (size_t i = 0; i < text.pieces.size(); ++i) {
    if (i == inside && i > 0)
      story += "<span class=\"edge\"><span class=\"unseen\"> [</span>" + grouped(result.trained_length) +
               "<span class=\"unseen\"> tokens: the trained length ends] </span></span>";
    // Empty lines one after the other would take the page.
    const bool empty_line = text.pieces[i] == "\n" && i > 1 && text.pieces[i - 1] == "\n" && text.pieces[i - 2] == "\n";
    if (empty_line)
      story += "<span class=\"line-end\">↵</span>";
    else
      story += tinted(text.pieces[i], i < text.surprisal.size() ? text.surprisal[i] : kNan);
  }
  size_t longest = 0;
  for (const ComparedScheme& other : result.schemes) longest = std::max(longest, other.sample.pieces.size());
  if (text.pieces.size() < longest) story += "<span class=\"edge\">the scheme ends</span>";
  return "<article class=\"continuation\">\n<h3>" + scheme_name(result, scheme.position) + " " +
         badge(scheme.standing) + "</h3>\n<p class=\"story tints\">" + story + "</p>\n<p class=\"note\">" +
         surprise_in_words(text, inside) + "</p>\n</article>\n";
}

std::string continuation(const Compared& result, const ComparedScheme& scheme) {
  const std::span<const std::string> pieces = scheme.continuation;
  const bool native = scheme.position == result.native;
  const bool differs = scheme.differs_at >= 0 && scheme.differs_at < std::ssize(pieces);
  const size_t shared = native ? 0 : differs ? scheme.differs_at : pieces.size();
  std::string text = "<span class=\"prompt\">" + prose(result.prompt) + "</span>";
  if (shared > 0) text += "<span class=\"shared\">" + prose(joined(pieces.first(shared), "")) + "</span>";
  const bool marked = differs && !native;
  if (marked) text += "<mark>" + prose(pieces[shared]) + "</mark>";
  text += prose(joined(pieces.subspan(shared + marked), ""));
  const std::string note = native    ? "native"
                           : differs ? "token " + grouped(scheme.differs_at + 1) + " of " +
                                           grouped(std::ssize(pieces)) + " is the first that differs"
                                     : "the same as native to the end";
  return "<article class=\"continuation\">\n<h3>" + scheme_name(result, scheme.position) + " " +
         badge(scheme.standing) + " <span class=\"note\">" + note + "</span></h3>\n<p class=\"story\">" + text +
         "</p>\n</article>\n";
}

}  // namespace

std::string samples(const Compared& result) {
  constexpr size_t kOpen = 7;
  std::string first, rest;
  size_t shown = 0;
  for (const ComparedScheme& scheme : result.schemes)
    if (!scheme.sample.pieces.empty()) (shown++ < kOpen ? first : rest) += sample(result, scheme);
  if (first.empty()) return paragraph("nothing", "Nothing was drawn: the text is too short, or no scheme ran.");
  std::string key = "<span class=\"tints\">";
  for (int tint = 1; tint <= kTints; ++tint)
    key += "<span class=\"tint-" + std::to_string(tint) + "\">&nbsp;" + number(kTintStep * tint, 1) +
           (tint == kTints ? " nats or more" : "") + "&nbsp;</span>";
  return "<p>The text up to token " + grouped(result.sample_begins) +
         ", then what each scheme draws from its own predictions at temperature " +
         number(result.sample_temperature, 1) +
         ", with the same seed. The stronger the tint, the more a token surprised the "
         "weights under that scheme: " +
         key + "</span>. A text that only repeats itself surprises nobody.</p>\n" + first +
         (rest.empty() ? "" : details(count(static_cast<int64_t>(shown - kOpen), "more scheme", "more schemes"), rest));
}

std::string continuations(const Compared& result) {
  std::string out;
  for (const ComparedScheme& scheme : result.schemes)
    if (!scheme.continuation.empty()) out += continuation(result, scheme);
  if (out.empty()) return paragraph("nothing", "There is no continuation: no prompt was given, or no scheme ran.");
  return "<p>The likeliest token at every step. What is shared with the native continuation is pale; the first token "
         "that differs is marked.</p>\n" +
         out;
}

}  // namespace ordinal::report::page
