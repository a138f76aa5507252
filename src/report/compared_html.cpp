// compared_html.cpp: see compared_html.h. Puts the parts of the page in their order.
#include "report/compared_html.h"

#include <algorithm>
#include <array>

#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report {
namespace {

struct Section {
  std::string_view id, title;
  std::string inside;
};

// The finding is the title; without one, what was done.
std::string title_of(const Compared& result) {
  if (!result.findings.empty()) return result.findings.front().text;
  static constexpr std::array<const char*, 13> kWords = {"No",    "One",   "Two",  "Three", "Four",   "Five",  "Six",
                                                         "Seven", "Eight", "Nine", "Ten",   "Eleven", "Twelve"};
  const size_t n = result.schemes.size();
  const std::string number = n < kWords.size() ? kWords[n] : std::to_string(n);
  return number + (n == 1 ? " position scheme on its weights" : " position schemes on the same weights");
}

std::string pictures_section(const Compared& result, std::span<const SchemePicture> pictures) {
  if (pictures.empty()) return page::paragraph("nothing", "No pictures were made.");
  std::string out = "<div class=\"panels columns-2 pictures\">\n";
  for (const auto& [position, figure] : pictures)
    out += "<figure class=\"panel\"><h3>" + page::scheme_name(result, position) + "</h3>\n" +
           page::scroll_box("Picture of " + position, draw::to_svg(figure, draw::SvgPlace::page)) + "<figcaption>" +
           page::html(figure.description) + "</figcaption></figure>\n";
  return "<div data-chart=\"pictures\">" + out + "</div></div>\n";
}

std::string header(const Compared& result) {
  std::string out =
      "<header>\n<p class=\"eyebrow\">Ordinal · compare</p>\n<h1>" + page::html(title_of(result)) + "</h1>\n";
  out += "<p class=\"lead\"><span class=\"spec\">" + page::html(page::base_name(result.model)) + "</span> · " +
         grouped(result.parameters) + " parameters · trained at " +
         page::count(result.trained_length, "token", "tokens") + " · scored on <span class=\"spec\">" +
         page::html(page::text_names(result)) + "</span></p>\n";
  return out + "</header>\n";
}

// What else was found; the first is the title.
std::string more_findings(const Compared& result) {
  std::string first, rest;
  for (size_t i = 1; i < result.findings.size(); ++i)
    (result.findings[i].detail ? rest : first) += "<li>" + page::html(result.findings[i].text) + "</li>\n";
  if (first.empty() && rest.empty()) return page::paragraph("nothing", "Nothing else.");
  return (first.empty() ? "" : "<ul class=\"headlines\">\n" + first + "</ul>\n") +
         (rest.empty() ? "" : page::details("Scheme by scheme", "<ul class=\"findings\">\n" + rest + "</ul>\n"));
}

std::string section_html(const Section& section) {
  const std::string id(section.id), title(section.title);
  return "<section id=\"" + id + "\" aria-labelledby=\"" + id + "-title\">\n<h2 id=\"" + id + "-title\">" + title +
         "</h2>\n" + section.inside + "</section>\n";
}

}  // namespace

std::string to_html(const Compared& result, std::span<const SchemePicture> pictures) {
  const std::vector<Section> sections = {
      {"where", "Where in the window", page::difference_by_position(result)},
      {"summary", "Schemes by perplexity", page::summary_tables(result)},
      {"findings", "What else was found", more_findings(result)},
      {"sample", "Past the trained length, in words", page::samples(result)},
      {"length", "Loss by length", page::loss_by_length(result)},
      {"difference", "Difference to the reference", page::differences(result)},
      {"position", "Loss by position", page::loss_by_position(result)},
      {"agreement", "Agreement", page::agreement(result)},
      {"order", "Order", page::order_sensitivity(result)},
      {"distance", "Attention distance", page::attention_distance(result)},
      {"attention", "Attention differences", page::attention_maps(result)},
      {"recall", "Recall", page::recall(result)},
      {"continuation", "Continuation", page::continuations(result)},
      {"cost", "Memory and speed", page::costs(result)},
      {"standing", "The schemes", page::standings(result)},
      {"pictures", "Pictures of the schemes", pictures_section(result, pictures)},
      {"settings", "How it was measured", page::settings(result)},
  };
  // The answer comes first, then the list of contents.
  constexpr size_t kAnswer = 2;
  std::string nav = "<nav aria-label=\"Contents\"><ul>\n", answer, body;
  for (size_t i = 0; i < sections.size(); ++i) {
    (i < kAnswer ? answer : body) += section_html(sections[i]);
    nav += "<li><a href=\"#" + std::string(sections[i].id) + "\">" + std::string(sections[i].title) + "</a></li>\n";
  }
  nav += "</ul></nav>\n";
  // The policy lets the page load nothing, whatever a name in it may say.
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" +
         page::html(title_of(result)) + "</title>\n<style>\n" + draw::svg_style() + "\n" + page::style() +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n" + header(result) +
         "<main id=\"main\" tabindex=\"-1\">\n" + answer + nav + body + "</main>\n<footer><p>Made by ordinal " +
         page::html(result.version) + ".</p></footer>\n</body>\n</html>\n";
}

}  // namespace ordinal::report
