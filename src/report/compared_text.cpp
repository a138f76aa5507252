// compared_text.cpp: see compared_text.h.
#include "report/compared_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/text.h"

namespace ordinal::report {
namespace {

constexpr size_t kFewSchemes = 8;  // of which every pair can be shown

constexpr std::array<std::string_view, kStandingNames.size()> kMeanings = {
    "the weights were trained under this scheme alone",
    "the weights were trained under this scheme among others",
    "the same bits as a scheme the weights were trained under",
    "longer than the trained length: no weights have seen these positions, whatever the scheme",
    "positions the weights never saw: how they lean on their own, no verdict on the scheme",
    "not run, for the reason given"};

// Escape codes for a standing: what was trained is green, what was not is dim, what did not run is red.
std::string painted(const std::string& text, Standing standing, bool colour) {
  if (!colour) return text;
  const char* code = standing == Standing::refused ? "\x1b[31m" : is_trained(standing) ? "\x1b[32m" : "\x1b[2m";
  return code + text + "\x1b[0m";
}

std::string signed_fixed(double value, int digits) { return (value < 0 ? "" : "+") + fixed(value, digits); }

// Lines of a table, each painted after it was aligned, so that escape codes do not count as width.
std::string painted_table(const std::vector<std::vector<std::string>>& cells, std::string_view alignment,
                          const std::vector<Standing>& standings, bool colour) {
  const std::string plain = table(cells, alignment);
  if (!colour) return plain;
  std::string text;
  size_t line = 0;
  for (size_t at = 0; at < plain.size(); ++line) {
    const size_t end = std::min(plain.find('\n', at), plain.size());
    const std::string row = plain.substr(at, end - at);
    text += (line == 0 ? row : painted(row, standings[line - 1], true)) + "\n";
    at = end + 1;
  }
  return text;
}

std::string shown_name(const Compared& result, const ComparedRow& row) {
  if (row.protocol != kRecent) return row.position;
  return row.position + " on the last " + grouped(result.trained_length);
}

// Difference and interval, the sign written.
std::string difference_text(const ComparedRow& row) {
  if (!row.delta_nll) return row.against.empty() && row.refused.empty() ? "reference" : "-";
  std::string text = signed_fixed(*row.delta_nll, 3);
  if (row.delta_low) text += " [" + signed_fixed(*row.delta_low, 3) + ", " + signed_fixed(*row.delta_high, 3) + "]";
  return text;
}

// Rows of one length and protocol, best first, what did not run last.
std::vector<const ComparedRow*> rows_of(const Compared& result, int64_t length, bool sliding) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : result.rows)
    if (row.length == length && (row.protocol == kSliding) == sliding) rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [](const ComparedRow* row) { return std::pair(!row->refused.empty(), row->nll); });
  return rows;
}

// One ranked table for each length: scheme, perplexity, difference, and how the weights stand to it there.
std::string ranked_tables(const Compared& result, size_t width, bool colour) {
  std::string text;
  for (const bool sliding : {false, true})
    for (const int64_t length : result.lengths) {
      const std::vector<const ComparedRow*> rows = rows_of(result, length, sliding);
      if (rows.empty()) continue;
      std::vector<std::vector<std::string>> cells = {
          {"scheme", "ppl", "nats against " + result.reference + ", 95 %", "weights"}};
      std::vector<Standing> standings;
      for (const ComparedRow* row : rows) {
        standings.push_back(row->standing);
        cells.push_back({shown_name(result, *row), row->refused.empty() ? fixed(row->ppl, 2) : "-",
                         row->refused.empty() ? difference_text(*row) : row->refused,
                         std::string(standing_name(row->standing))});
        if (row->against_protocol == kRecent)
          cells.front()[2] =
              "nats against " + row->against + " on the last " + grouped(result.trained_length) + ", 95 %";
      }
      const std::string past =
          length > result.trained_length ? ", past the trained length of " + grouped(result.trained_length) : "";
      text += "\n" +
              wrapped(grouped(length) + (length == 1 ? " token" : " tokens") +
                          (sliding ? ", each window moving on by half" : "") + past,
                      width) +
              painted_table(fitted(cells, width), "lrll", standings, colour);
    }
  return text;
}

std::string scheme_table(const Compared& result, size_t width, bool colour) {
  std::vector<std::vector<std::string>> cells = {{"scheme", "shuffled adds", "looks back", "cache", "tables"}};
  std::vector<Standing> standings;
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused) continue;
    standings.push_back(scheme.standing);
    double distance = 0;
    size_t heads = 0;
    for (const std::vector<double>& layer : scheme.attention_distance)
      for (const double head : layer) distance += head, ++heads;
    const std::string added = scheme.order ? signed_fixed(scheme.order->mean, 3) : "-";
    cells.push_back({scheme.position, added,
                     heads > 0 ? fixed(distance / static_cast<double>(heads), 1) + " tokens" : "-",
                     scheme.cache_bytes > 0 ? byte_size(scheme.cache_bytes) : "-", byte_size(scheme.table_bytes)});
  }
  return painted_table(fitted(cells, width), "lrrrr", standings, colour);
}

// A table with the number asked, where something is recalled.
std::string recall_text(const Compared& result, size_t width) {
  double most = 0;
  for (const auto* rows : {&result.recall, &result.passkey})
    for (const RecallRow& row : *rows)
      if (row.accuracy) most = std::max(most, row.low);
  if (result.recall.empty()) return "";
  if (most <= std::max(result.recall_chance, 0.1)) return "";  // a finding says so
  std::vector<std::string> head = {"scheme"};
  std::map<std::pair<std::string, int64_t>, size_t> columns;
  for (const RecallRow& row : result.recall)
    if (columns.emplace(std::pair(row.task, row.length), head.size()).second)
      head.push_back(row.task + " " + std::to_string(row.length) + ", of " + std::to_string(row.tokens));
  std::vector<std::vector<std::string>> cells = {head};
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused) continue;
    std::vector<std::string> line(head.size(), "-");
    line[0] = scheme.position;
    for (const RecallRow& row : result.recall)
      if (row.position == scheme.position && row.accuracy)
        line[columns.at({row.task, row.length})] =
            fixed(100 * *row.accuracy, 1) + " [" + fixed(100 * row.low, 1) + ", " + fixed(100 * row.high, 1) + "] %";
    cells.push_back(std::move(line));
  }
  return "\n" +
         wrapped("right best token, where only the context tells; chance is " + fixed(100 * result.recall_chance, 1) +
                     " %:",
                 width) +
         table_in_parts(cells, "l" + std::string(head.size() - 1, 'r'), width);
}

std::vector<std::vector<std::string>> matrix_cells(const Compared& result) {
  std::vector<std::vector<std::string>> cells = {{"KL / same best"}};
  for (const std::string& name : result.matrix) cells[0].push_back(name);
  for (size_t p = 0; p < result.matrix.size(); ++p) {
    cells.push_back({result.matrix[p]});
    for (size_t q = 0; q < result.matrix.size(); ++q)
      cells.back().push_back(p == q ? "-"
                                    : fixed(result.kl[p][q], 3) + " / " + fixed(100 * result.top1[p][q], 0) + " %");
  }
  return cells;
}

// The continuation, the first token that is not the native scheme's between » and «.
std::string continuation_of(const ComparedScheme& scheme, bool colour) {
  std::string text;
  for (size_t i = 0; i < scheme.continuation.size(); ++i) {
    const std::string piece = escaped(scheme.continuation[i]);
    const bool first_other = static_cast<int64_t>(i) == scheme.differs_at;
    text += first_other ? (colour ? "\x1b[7m" + piece + "\x1b[0m" : "»" + piece + "«") : piece;
  }
  return text;
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string field(std::optional<double> value) { return value && std::isfinite(*value) ? significant(*value, 9) : ""; }

}  // namespace

std::string to_text(const Compared& result, size_t width, bool colour) {
  std::string text;
  size_t more = 0;
  for (const Finding& found : result.findings) {
    if (found.detail)
      ++more;
    else
      text += (colour ? "\x1b[1m" : "") + wrapped(found.text, width) + (colour ? "\x1b[0m" : "");
  }
  if (more > 0)
    text += wrapped(
        std::to_string(more) + (more == 1 ? " more finding" : " more findings") + ", scheme by scheme: --json, --html",
        width);
  text += ranked_tables(result, width, colour) + "\n" + scheme_table(result, width, colour);
  text += recall_text(result, width);
  if (result.matrix.size() > 1 && result.matrix.size() <= kFewSchemes)
    text += "\n" +
            wrapped("how far the column's predictions are from the row's, " + std::to_string(result.matrix_length) +
                        " tokens:",
                    width) +
            table_in_parts(matrix_cells(result), "l" + std::string(result.matrix.size(), 'r'), width);
  if (!result.prompt.empty()) {
    text += "\n" + wrapped(escaped(result.prompt) + " ...", width);
    for (const ComparedScheme& scheme : result.schemes)
      if (!scheme.continuation.empty()) text += "  " + scheme.position + ":  " + continuation_of(scheme, colour) + "\n";
  }
  text += "\n" + wrapped(result.text + ": " + grouped(result.text_tokens) + " tokens; trained length " +
                             grouped(result.trained_length) + "; predicting by the text's own frequencies costs " +
                             fixed(result.unigram_nll, 3) +
                             " nats a token. Windows are the sample of every interval; of twenty intervals one misses.",
                         width);
  for (size_t i = 0; i < kStandingNames.size(); ++i)
    if (std::ranges::any_of(result.rows, [&](const ComparedRow& r) { return r.standing == static_cast<Standing>(i); }))
      text += wrapped(std::string(kStandingNames[i]) + ": " + std::string(kMeanings[i]), width);
  return text;
}

std::string to_csv(const Compared& result) {
  std::string text =
      "position,standing,length,protocol,tokens,nll,stderr,ppl,bits_per_byte,delta_nll_vs_native,delta_low,delta_high,"
      "kl_vs_native,top1_agreement,ms_per_token,refused,against,against_protocol,delta_nll,kl\n";
  for (const ComparedRow& row : result.rows) {
    const bool ran = row.refused.empty(), to_native = row.against == result.native && row.against_protocol != kRecent;
    const std::optional<double> nothing;
    const auto number = [&](double value) { return ran ? field(std::optional(value)) : std::string(); };
    text += field(row.position) + "," + std::string(standing_name(row.standing)) + "," + std::to_string(row.length) +
            "," + row.protocol + "," + std::to_string(row.tokens) + "," + number(row.nll) + "," +
            number(row.std_error) + "," + number(row.ppl) + "," + number(row.bits_per_byte) + "," +
            field(to_native ? row.delta_nll : nothing) + "," + field(row.delta_low) + "," + field(row.delta_high) +
            "," + field(to_native ? row.kl : nothing) + "," + field(row.top1_agreement) + "," +
            number(row.ms_per_token) + "," + field(row.refused) + "," + field(row.against) + "," +
            row.against_protocol + "," + field(row.delta_nll) + "," + field(row.kl) + "\n";
  }
  return text;
}

}  // namespace ordinal::report
