// compared_text.cpp: see compared_text.h.
#include "report/compared_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/text.h"

namespace ordinal::report {
namespace {

constexpr std::array<std::string_view, 5> kMeanings = {
    "the weights were trained under this scheme alone", "the weights were trained under this scheme among others",
    "the same bits as a scheme the weights were trained under, inside the trained length",
    "positions the weights never saw: how they lean on their own, no verdict on the scheme",
    "not run, for the reason given"};

// Escape codes for a standing: what was trained is plain, what was not is dim, what did not run is red.
std::string painted(const std::string& text, Standing standing, bool colour) {
  if (!colour) return text;
  const char* code = standing == Standing::refused     ? "\x1b[31m"
                     : standing == Standing::untrained ? "\x1b[2m"
                                                       : "\x1b[32m";
  return code + text + "\x1b[0m";
}

std::string signed_fixed(double value, int digits) { return (value < 0 ? "" : "+") + fixed(value, digits); }

std::string or_dash(const std::optional<double>& value, int digits) { return value ? fixed(*value, digits) : "-"; }

const ComparedScheme& scheme_of(const Compared& result, const std::string& position) {
  return *std::ranges::find(result.schemes, position, &ComparedScheme::position);
}

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

std::string loss_table(const Compared& result, bool colour) {
  std::vector<std::vector<std::string>> cells = {{"length", "windows", "position", "weights", "nats/token", "+-", "ppl",
                                                  "bits/byte", "vs native, 95 %", "KL", "same best", "ms/token"}};
  std::vector<Standing> standings;
  for (const ComparedRow& row : result.rows) {
    const Standing standing = row.refused.empty() ? scheme_of(result, row.position).standing : Standing::refused;
    standings.push_back(standing);
    std::vector<std::string> line = {std::to_string(row.length), row.protocol, row.position,
                                     std::string(standing_name(standing))};
    if (!row.refused.empty()) {
      line.insert(line.end(), {"-", "-", "-", "-", row.refused, "-", "-", "-"});
    } else {
      const std::string delta = row.delta_nll
                                    ? signed_fixed(*row.delta_nll, 3) + " [" + signed_fixed(*row.delta_low, 3) + ", " +
                                          signed_fixed(*row.delta_high, 3) + "]"
                                    : "-";
      const std::string same = row.top1_agreement ? fixed(100 * *row.top1_agreement, 1) + " %" : "-";
      line.insert(line.end(),
                  {fixed(row.nll, 4), fixed(row.std_error, 4), fixed(row.ppl, 2), fixed(row.bits_per_byte, 4), delta,
                   or_dash(row.kl, 4), same, fixed(row.ms_per_token, 3)});
    }
    cells.push_back(std::move(line));
  }
  return painted_table(cells, "rlllrrrrlrrr", standings, colour);
}

std::string scheme_table(const Compared& result, bool colour) {
  std::vector<std::vector<std::string>> cells = {
      {"position", "weights", "in order", "shuffled", "looks back", "cache", "tables", "why"}};
  std::vector<Standing> standings;
  for (const ComparedScheme& scheme : result.schemes) {
    standings.push_back(scheme.standing);
    double distance = 0;
    size_t heads = 0;
    for (const std::vector<double>& layer : scheme.attention_distance)
      for (const double head : layer) distance += head, ++heads;
    cells.push_back(
        {scheme.position, std::string(standing_name(scheme.standing)), or_dash(scheme.in_order, 3),
         or_dash(scheme.shuffled, 3), heads > 0 ? fixed(distance / static_cast<double>(heads), 1) + " tokens" : "-",
         scheme.cache_bytes > 0 ? byte_size(scheme.cache_bytes) : "-", byte_size(scheme.table_bytes), scheme.reason});
  }
  return painted_table(cells, "llrrrrrl", standings, colour);
}

std::string recall_table(const Compared& result) {
  std::vector<std::string> head = {"position"};
  std::map<std::pair<std::string, int64_t>, size_t> columns;
  for (const RecallRow& row : result.recall)
    if (columns.emplace(std::pair(row.task, row.length), head.size()).second)
      head.push_back(row.task + " " + std::to_string(row.length));
  std::vector<std::vector<std::string>> cells = {head};
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused) continue;
    std::vector<std::string> line(head.size(), "-");
    line[0] = scheme.position;
    for (const RecallRow& row : result.recall)
      if (row.position == scheme.position && row.accuracy)
        line[columns.at({row.task, row.length})] = fixed(100 * *row.accuracy, 1) + " %";
    cells.push_back(std::move(line));
  }
  return table(cells, "l" + std::string(head.size() - 1, 'r'));
}

std::string matrix_table(const Compared& result) {
  std::vector<std::vector<std::string>> cells = {{"KL / same best"}};
  for (const std::string& name : result.matrix) cells[0].push_back(name);
  for (size_t p = 0; p < result.matrix.size(); ++p) {
    cells.push_back({result.matrix[p]});
    for (size_t q = 0; q < result.matrix.size(); ++q)
      cells.back().push_back(p == q ? "-"
                                    : fixed(result.kl[p][q], 3) + " / " + fixed(100 * result.top1[p][q], 0) + " %");
  }
  return table(cells, "l" + std::string(result.matrix.size(), 'r'));
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

std::string to_text(const Compared& result, bool colour) {
  std::string text;
  for (const std::string& line : result.headlines) text += (colour ? "\x1b[1m" + line + "\x1b[0m" : line) + "\n";
  text += "\n" + loss_table(result, colour) + "\n" + scheme_table(result, colour);
  if (!result.recall.empty()) text += "\nright best token, where only the context tells:\n" + recall_table(result);
  if (result.matrix.size() > 1)
    text += "\nhow far the column's predictions are from the row's, " + std::to_string(result.matrix_length) +
            " tokens:\n" + matrix_table(result);
  if (!result.prompt.empty()) {
    text += "\n" + escaped(result.prompt) + " ...\n";
    size_t width = 0;
    for (const ComparedScheme& scheme : result.schemes) width = std::max(width, scheme.position.size());
    for (const ComparedScheme& scheme : result.schemes)
      if (!scheme.continuation.empty())
        text += "  " + scheme.position + std::string(width - scheme.position.size() + 2, ' ') +
                continuation_of(scheme, colour) + "\n";
  }
  text += "\n" + result.text + ": " + grouped(result.text_tokens) + " tokens; trained length " +
          std::to_string(result.trained_length) + "; predicting by the text's own frequencies costs " +
          fixed(result.unigram_nll, 3) + " nats a token\n";
  for (size_t i = 0; i < kStandingNames.size(); ++i)
    if (std::ranges::any_of(result.schemes,
                            [&](const ComparedScheme& s) { return s.standing == static_cast<Standing>(i); }))
      text += std::string(kStandingNames[i]) + ": " + std::string(kMeanings[i]) + "\n";
  return text;
}

std::string to_csv(const Compared& result) {
  std::string text =
      "position,standing,length,protocol,tokens,nll,stderr,ppl,bits_per_byte,delta_nll_vs_native,delta_low,delta_high,"
      "kl_vs_native,top1_agreement,ms_per_token,refused\n";
  for (const ComparedRow& row : result.rows) {
    const bool ran = row.refused.empty();
    const auto number = [&](double value) { return ran ? field(std::optional(value)) : std::string(); };
    text += field(row.position) + "," + std::string(standing_name(scheme_of(result, row.position).standing)) + "," +
            std::to_string(row.length) + "," + row.protocol + "," + std::to_string(row.tokens) + "," + number(row.nll) +
            "," + number(row.std_error) + "," + number(row.ppl) + "," + number(row.bits_per_byte) + "," +
            field(row.delta_nll) + "," + field(row.delta_low) + "," + field(row.delta_high) + "," + field(row.kl) +
            "," + field(row.top1_agreement) + "," + number(row.ms_per_token) + "," + field(row.refused) + "\n";
  }
  return text;
}

}  // namespace ordinal::report
