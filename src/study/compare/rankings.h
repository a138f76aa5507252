// rankings.h: what the sentences of a comparison rest on: which rows there are, their order, and how amounts read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/compared.h"

namespace ordinal {

// Rows that ran, best first. Of schemes that are the same to the bit, the first alone: they are one.
struct Ranking {
  std::vector<const ComparedRow*> rows;
  const PairedLosses* paired = nullptr;

  // Difference of row i from row j, on the same tokens; nothing known: no interval.
  Estimate between(size_t i, size_t j) const;
  // How many from the best on, and from the last back, cannot be told apart from it.
  size_t leaders() const;
  size_t trailers() const;
};

const ComparedRow* whole_row(const Compared& result, std::string_view position, int64_t length);  // that ran
const PairedLosses* paired_at(const Compared& result, int64_t length, std::string_view protocol);
const ComparedScheme& scheme_of(const Compared& result, std::string_view position);
Estimate delta_of(const ComparedRow& row);

// "0.121 nats [0.082, 0.160] a token", the sign left to the words around it. Without an interval, the amount alone.
std::string amount(const Estimate& e);
// "costs 0.121 nats [...] a token", "saves ...", or "cannot be told apart here (0.003 nats [-0.011, 0.017] a token)".
std::string verb_and_amount(const Estimate& e, std::string_view more, std::string_view less, std::string_view neither);
std::string tokens_text(int64_t length);                                    // "1,024 tokens"
std::string times_text(const Compared& result, int64_t length);             // "4 times the trained length"
std::string names_text(const std::vector<const ComparedRow*>& rows);        // "a, b and c"
std::string baseline_name(const Compared& result, const ComparedRow& row);  // what the row's difference is from

Finding finding(std::string kind, const ComparedRow& row, std::string against, const Estimate& delta, std::string text);

// Behind its declaration, since every caller has a filter of its own.
Ranking ranked(const Compared& result, int64_t length, const std::vector<const ComparedRow*>& rows);
template <class Wanted>
Ranking ranking(const Compared& result, int64_t length, const Wanted& wanted) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : result.rows)
    if (row.length == length && row.protocol == kWhole && row.refused.empty() && wanted(row)) rows.push_back(&row);
  return ranked(result, length, rows);
}

// The parts of findings_of() that have a file of their own, headlines_past.cpp.
void add_past_findings(const Compared& result, std::vector<Finding>& findings);
void add_order_findings(const Compared& result, std::vector<Finding>& findings);

}  // namespace ordinal
