// compared_html_tables.cpp: the tables and texts on the page of a comparison.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/words.h"
#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }

// The head of every column, and what it stands for in a word.
std::string column(std::string_view name, std::string_view unit = "") {
  return "<th scope=\"col\"" + std::string(name == "standing" || name == "scheme" ? " class=\"left\">" : ">") +
         std::string(name) + (unit.empty() ? "" : " <span class=\"unit\">" + std::string(unit) + "</span>") + "</th>";
}

constexpr int kSummaryColumns = 10;

std::string refused_row(const std::string& head, const std::string& reason, int columns) {
  return "<tr class=\"refused\">" + head + "<td class=\"left reason\" colspan=\"" + std::to_string(columns - 2) +
         "\">" + html(reason) + "</td></tr>\n";
}

std::string summary_row(const Compared& result, const ComparedRow& row) {
  const std::string head = scheme_head(result, row.position, row_badge(row));
  if (!row.refused.empty()) return refused_row(head, row.refused, kSummaryColumns);
  const bool native = row.position == result.reference && row.protocol != kRecent;
  std::string delta = "reference";
  if (!native) {
    delta = difference(row.delta_nll, 3);
    if (row.delta_low && row.delta_high)
      delta += "<span class=\"interval\">" + difference(row.delta_low, 3) + " to " + difference(row.delta_high, 3) +
               "</span>";
  }
  return std::string("<tr") + (native ? " class=\"native\"" : "") + ">" + head + cell(number(row.nll, 3)) +
         cell(number(row.std_error, 3)) + cell(perplexity(row.ppl)) + cell(number(row.bits_per_byte, 3)) +
         "<td class=\"delta\">" + delta + "</td>" + cell(number(row.kl, 3)) + cell(percent(row.top1_agreement, 1)) +
         cell(number(row.ms_per_token, 3)) + "</tr>\n";
}

std::string group(const std::string& title, const std::string& rows) {
  if (rows.empty()) return "";
  return "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"" + std::to_string(kSummaryColumns) +
         "\"><span>" + title + "</span></th></tr>\n" + rows + "</tbody>\n";
}

bool is_refused(const Compared& result, std::string_view position) {
  const int index = scheme_index(result, position);
  return index >= 0 && result.schemes[index].standing == Standing::refused;
}

// A scheme that is refused altogether says so once, at the end.
std::string summary_table(const Compared& result, const std::string& protocol) {
  std::string body;
  for (const int64_t length : lengths_of(result)) {
    std::string rows;
    for (const ComparedScheme& scheme : result.schemes)
      if (const ComparedRow* row = find_row(result, scheme.position, length, protocol);
          row != nullptr && scheme.standing != Standing::refused)
        rows += summary_row(result, *row);
    body += group(length_title(result, length), rows);
  }
  std::string refused;
  for (const ComparedScheme& scheme : result.schemes)
    if (is_refused(result, scheme.position))
      refused +=
          refused_row(scheme_head(result, scheme.position, badge(scheme.standing)), scheme.reason, kSummaryColumns);
  body += group("Refused", refused);
  const std::string title = protocol.empty() ? "All schemes" : protocol_title(protocol);
  return scroll_box(title + ", all numbers",
                    "<table class=\"summary\"><caption><span>" + html(title) + "</span></caption>\n<thead><tr>" +
                        column("scheme") + column("standing") + column("loss", "nats/token") +
                        column("±", "std. error") + column("perplexity") + column("bits/byte") +
                        column("difference", "nats, 95&nbsp;%") + column("KL", "nats") + column("same best") +
                        column("speed", "ms/token") + "</tr></thead>\n" + body + "</table>\n");
}

}  // namespace

std::string standings(const Compared& result) {
  std::string out = "<ol class=\"schemes\">\n";
  for (const ComparedScheme& scheme : result.schemes) {
    out += "<li>" + scheme_name(result, scheme.position) + " " + badge(scheme.standing);
    if (!scheme.kind.empty()) out += " <span class=\"note\">" + html(scheme.kind) + "</span>";
    if (scheme.position == result.native) out += " <span class=\"note\">native</span>";
    if (!scheme.reason.empty()) out += "<p>" + html(scheme.reason) + "</p>";
    for (const std::string& remark : scheme.remarks) out += "<p class=\"remark\">" + html(remark) + "</p>";
    out += "</li>\n";
  }
  return out + "</ol>\n";
}

std::string summary_tables(const Compared& result) {
  std::vector<std::string> protocols = protocols_of(result);
  if (protocols.empty()) protocols.emplace_back();
  std::string out = ranked_tables(result) + meanings(result);
  for (size_t i = 0; i < protocols.size(); ++i)
    out += details(html(protocol_title(protocols[i])) + ", all numbers", summary_table(result, protocols[i]));
  return out;
}

std::string costs(const Compared& result) {
  constexpr double kNoise = 0.15;  // speeds nearer than this are the machine's mood
  const int native = scheme_index(result, result.native);
  const double base = native < 0 ? 0 : result.schemes[native].ms_per_token;
  double fastest = std::numeric_limits<double>::infinity(), slowest = 0;
  std::set<std::pair<int64_t, int64_t>> memory;
  std::string rows;
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused) continue;
    const bool timed = scheme.ms_per_token > 0;
    if (timed) fastest = std::min(fastest, scheme.ms_per_token), slowest = std::max(slowest, scheme.ms_per_token);
    memory.emplace(scheme.cache_bytes, scheme.table_bytes);
    rows += "<tr>" + scheme_head(result, scheme.position, badge(scheme.standing)) +
            cell(timed ? number(scheme.ms_per_token, 3) : "–") +
            cell(timed && base > 0 ? number(scheme.ms_per_token / base, 2) + " ×" : "–") +
            cell(byte_size(scheme.cache_bytes)) +
            cell(scheme.table_bytes > 0 ? byte_size(scheme.table_bytes) : "none") + "</tr>\n";
  }
  if (rows.empty()) return paragraph("nothing", "No scheme ran.");
  const bool same_speed = !(slowest > (1 + kNoise) * fastest);
  const std::string words = same_speed && slowest > 0 ? "Speeds are within " + percent(slowest / fastest - 1, 0) +
                                                            " of each other, which is no difference here. "
                                                      : "";
  if (same_speed && memory.size() == 1)
    return "<p>" + words + "All keep " + byte_size(memory.begin()->first) + " of keys and values.</p>\n";
  return (words.empty() ? "" : "<p>" + words + "</p>\n") +
         scroll_box("Memory and speed", "<table><caption><span>At the trained length of " +
                                            count(result.trained_length, "token", "tokens") +
                                            "</span></caption>\n<thead><tr>" + column("scheme") + column("standing") +
                                            column("speed", "ms/token") + column("to native") +
                                            column("cache", "keys and values") + column("tables", "tensors it reads") +
                                            "</tr></thead>\n<tbody>\n" + rows + "</tbody></table>\n");
}

std::string settings(const Compared& result) {
  const std::string trained = joined(result.trained_positions, ", ", spec);
  const std::string lengths = joined(lengths_of(result), ", ", grouped);
  std::string out = "<dl class=\"settings\">\n";
  const auto add = [&](std::string_view name, const std::string& value) {
    out += "<div><dt>" + std::string(name) + "</dt><dd>" + (value.empty() ? "–" : value) + "</dd></div>\n";
  };
  add("Model", html(base_name(result.model)) + ", " + grouped(result.parameters) + " parameters");
  add("Checksum of the weights", result.checksum.empty() ? "" : "<code>" + html(result.checksum) + "</code>");
  add("Native scheme", spec(result.native));
  add("Reference", spec(result.reference));
  add("Trained under", trained);
  add("Trained length", count(result.trained_length, "token", "tokens"));
  add("Text", html(text_names(result)) + ", " + count(result.text_tokens, "token", "tokens") + ", " +
                  count(result.text_bytes, "byte", "bytes"));
  add("Windows", lengths.empty() ? "" : lengths + " tokens");
  add("Token frequencies", number(result.unigram_nll, 3) + " nats per token");
  add("Prompt", result.prompt.empty() ? "none" : "<span class=\"story\">" + token_html(result.prompt) + "</span>");
  add("Seed", std::to_string(result.seed));
  add("Version", html(result.version));
  add("Date", html(result.date));
  add("Took", number(result.seconds, 1) + " s");
  out += "</dl>\n<h3>The same again</h3>\n<pre><code>" + html(result.command_shown) + "</code></pre>\n";
  const auto define = [](std::string_view name, std::string_view text) {
    return "<div><dt>" + std::string(name) + "</dt><dd>" + std::string(text) + "</dd></div>\n";
  };
  return out + "<h3>How the numbers are made</h3>\n<dl class=\"settings\">\n" +
         define("Windows side by side",
                "The text in windows of the length that do not overlap; every token after "
                "the first of a window is scored.") +
         define("Sliding windows",
                "Each window moves on by half its length and scores the tokens that no window "
                "before it has scored, so that they see at least half a window.") +
         define("±", "Standard error of the mean loss.") +
         define(
             "Difference",
             "Mean of the paired differences of loss on the same tokens. Windows are the sample: what all of them do "
             "at the same place is no noise, what varies between them is; the interval is Student&#x2019;s, "
             "95&nbsp;%. Each stands alone: of twenty, one misses by chance.") +
         define("Bits/byte", "Loss over the bytes of the text: comparable between tokenizers.") +
         define(
             "KL",
             "Mean divergence of the scheme&#x2019;s prediction from the reference&#x2019;s, over the vocabulary, in "
             "nats; 0 for the same.") +
         define("Same best", "Share of tokens where both hold the same token best.") +
         define("Token frequencies",
                "Loss of predicting each token by its frequency in this very text, without any "
                "context.") +
         define("Order",
                "The last quarter of windows of the trained length, with the tokens before them as written "
                "and shuffled by the seed.") +
         define(
             "Samples",
             "The same text before, the same seed, temperature " + number(result.sample_temperature, 1) +
                 "; surprisal is minus the logarithm of a token&#x2019;s probability under the scheme that drew it.") +
         define("Speed",
                "Wall clock over all text scored at the trained length, with everything else that the "
                "machine was doing.") +
         "</dl>\n";
}

}  // namespace ordinal::report::page
