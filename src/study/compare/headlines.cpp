// headlines.cpp: the findings of a comparison in a few sentences. Each is said only where the numbers bear it out.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "study/compare/compare.h"

namespace ordinal {
namespace {

std::string number(double value) { return fixed(value, 2); }

const ComparedRow* row_at(const Compared& result, const std::string& position, int64_t length) {
  for (const ComparedRow& row : result.rows)
    if (row.position == position && row.length == length && row.protocol == "whole" && row.refused.empty()) return &row;
  return nullptr;
}

// Rows at a length of schemes these weights were trained for, or of the others; best first.
std::vector<const ComparedRow*> ranking(const Compared& result, int64_t length, bool trained) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedScheme& scheme : result.schemes)
    if (const ComparedRow* row = row_at(result, scheme.position, length); row && row->trained == trained)
      rows.push_back(row);
  std::ranges::sort(rows, {}, &ComparedRow::nll);
  return rows;
}

}  // namespace

std::vector<std::string> headlines_of(const Compared& result) {
  std::vector<std::string> lines;
  const int64_t inside = result.matrix_length, longest = result.lengths.back();
  const std::vector<const ComparedRow*> known = ranking(result, inside, true), swapped = ranking(result, inside, false);
  if (known.size() > 1) {
    const ComparedRow &best = *known.front(), &worst = *known.back();
    lines.push_back("Trained under all " + std::to_string(known.size()) + " at once, these weights read best with " +
                    best.position + ": perplexity " + number(best.ppl) + " at " + std::to_string(inside) +
                    " tokens; last is " + worst.position + " with " + number(worst.ppl) + ".");
  } else if (known.size() == 1) {
    lines.push_back("Under " + known.front()->position +
                    ", which they were trained with, these weights reach perplexity " + number(known.front()->ppl) +
                    " at " + std::to_string(inside) + " tokens.");
  }
  if (!swapped.empty() && !known.empty()) {
    const double added = swapped.front()->nll - known.front()->nll;
    lines.push_back("Of the schemes they never saw, " + swapped.front()->position + " is the nearest, " +
                    number(added) +
                    " nats a token worse: the weights lean on their own positions, which says nothing "
                    "about the scheme.");
  }
  if (longest > result.trained_length) {
    // What became of each between the trained length and the longest.
    const ComparedRow *steady = nullptr, *fallen = nullptr;
    double least = 0, most = 0;
    std::string ended;
    for (const ComparedScheme& scheme : result.schemes) {
      if (scheme.standing == Standing::untrained || scheme.standing == Standing::refused) continue;
      const ComparedRow *before = row_at(result, scheme.position, inside),
                        *after = row_at(result, scheme.position, longest);
      if (before && !after) ended += (ended.empty() ? "" : ", ") + scheme.position;
      if (!before || !after) continue;
      const double change = after->nll - before->nll;
      if (!steady || change < least) steady = after, least = change;
      if (!fallen || change > most) fallen = after, most = change;
    }
    const std::string where = "At " + std::to_string(longest) + " tokens, " +
                              fixed(static_cast<double>(longest) / static_cast<double>(result.trained_length), 1) +
                              " times the trained length, ";
    const auto change_of = [](double change) -> std::string {
      if (std::abs(change) < 0.005) return "keeps its loss";
      return (change < 0 ? "gains " : "loses ") + number(std::abs(change)) + " nats a token";
    };
    if (steady && fallen && steady != fallen)
      lines.push_back(where + steady->position + " " + change_of(least) + " and " + fallen->position + " " +
                      change_of(most) + (ended.empty() ? "." : "; " + ended + " cannot go there at all."));
    else if (steady)
      lines.push_back(where + steady->position + " " + change_of(least) + ".");
    else if (!ended.empty())
      lines.push_back(where + ended + " cannot go at all.");
  }
  const ComparedScheme *most = nullptr, *least = nullptr;
  const auto effect = [](const ComparedScheme& s) { return *s.shuffled - *s.in_order; };
  for (const ComparedScheme& scheme : result.schemes) {
    if (!scheme.in_order || !scheme.shuffled || scheme.standing == Standing::untrained) continue;
    if (!most || effect(scheme) > effect(*most)) most = &scheme;
    if (!least || effect(scheme) < effect(*least)) least = &scheme;
  }
  if (most)
    lines.push_back("Shuffling the words before costs " + most->position + " " + number(effect(*most)) +
                    " nats a token" +
                    (least == most ? "." : ", " + least->position + " " + number(effect(*least)) + "."));
  return lines;
}

}  // namespace ordinal
