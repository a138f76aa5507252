// rankings.cpp: see rankings.h.
#include "study/compare/rankings.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "base/words.h"

namespace ordinal {
namespace {

std::string nats(double value) {
  const std::string text = fixed(value, 3);
  return text == "-0.000" ? "0.000" : text;
}

Estimate negative(const Estimate& e) {
  return {.mean = -e.mean, .std_error = e.std_error, .low = -e.high, .high = -e.low, .clusters = e.clusters};
}

}  // namespace

Estimate Ranking::between(size_t i, size_t j) const {
  if (paired != nullptr)
    if (const Estimate* known = paired->between(rows[i]->position, rows[j]->position)) return *known;
  return {.mean = rows[i]->nll - rows[j]->nll};
}

size_t Ranking::leaders() const {
  size_t count = 1;
  while (count < rows.size() && !between(count, 0).is_above_zero()) ++count;
  return std::min(count, rows.size());
}

size_t Ranking::trailers() const {
  size_t count = 1;
  while (count < rows.size() && !between(rows.size() - 1 - count, rows.size() - 1).is_below_zero()) ++count;
  return std::min(count, rows.size());
}

Ranking ranked(const Compared& result, int64_t length, const std::vector<const ComparedRow*>& rows) {
  Ranking made{.rows = {}, .paired = paired_at(result, length, kWhole)};
  const auto same = [&](const ComparedRow* a, const ComparedRow* b) {
    const Estimate* difference = made.paired == nullptr ? nullptr : made.paired->between(a->position, b->position);
    return difference != nullptr && difference->is_nothing();
  };
  for (const ComparedRow* row : rows)
    if (std::ranges::none_of(made.rows, [&](const ComparedRow* other) { return same(row, other); }))
      made.rows.push_back(row);
  std::ranges::stable_sort(made.rows, {}, &ComparedRow::nll);
  return made;
}

const ComparedRow* whole_row(const Compared& result, std::string_view position, int64_t length) {
  for (const ComparedRow& row : result.rows)
    if (row.position == position && row.length == length && row.protocol == kWhole && row.refused.empty()) return &row;
  return nullptr;
}

const PairedLosses* paired_at(const Compared& result, int64_t length, std::string_view protocol) {
  for (const PairedLosses& paired : result.paired)
    if (paired.length == length && paired.protocol == protocol) return &paired;
  return nullptr;
}

const ComparedScheme& scheme_of(const Compared& result, std::string_view position) {
  return *std::ranges::find(result.schemes, position, &ComparedScheme::position);
}

Estimate delta_of(const ComparedRow& row) {
  Estimate e{.mean = row.delta_nll.value_or(0)};
  if (row.delta_low && row.delta_high) e.low = *row.delta_low, e.high = *row.delta_high;
  return e;
}

std::string amount(const Estimate& e) {
  const Estimate up = e.mean < 0 ? negative(e) : e;
  if (!up.has_interval()) return nats(up.mean) + " nats a token";
  return nats(up.mean) + " nats [" + nats(up.low) + ", " + nats(up.high) + "] a token";
}

std::string verb_and_amount(const Estimate& e, std::string_view more, std::string_view less, std::string_view neither) {
  if (e.is_above_zero()) return std::string(more) + " " + amount(e);
  if (e.is_below_zero()) return std::string(less) + " " + amount(e);
  if (!e.has_interval()) return std::string(neither) + " (" + nats(e.mean) + " nats a token, too few windows for more)";
  return std::string(neither) + " (" + nats(e.mean) + " nats [" + nats(e.low) + ", " + nats(e.high) + "] a token)";
}

std::string tokens_text(int64_t length) { return grouped(length) + (length == 1 ? " token" : " tokens"); }

std::string times_text(const Compared& result, int64_t length) {
  const double times = static_cast<double>(length) / static_cast<double>(result.trained_length);
  std::string text = fixed(times, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " times the trained length";
}

std::string names_text(const std::vector<const ComparedRow*>& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i)
    text += (i == 0 ? "" : i + 1 == rows.size() ? " and " : ", ") + rows[i]->position;
  return text;
}

std::string baseline_name(const Compared& result, const ComparedRow& row) {
  if (row.against_protocol != kRecent) return row.against;
  return row.against + " on the last " + tokens_text(result.trained_length);
}

Finding finding(std::string kind, const ComparedRow& row, std::string against, const Estimate& delta,
                std::string text) {
  Finding made{.kind = std::move(kind),
               .position = row.position,
               .against = std::move(against),
               .length = row.length,
               .protocol = row.protocol,
               .delta = delta.mean,
               .text = std::move(text)};
  if (delta.has_interval()) made.low = delta.low, made.high = delta.high;
  return made;
}

}  // namespace ordinal
