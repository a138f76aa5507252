// units.cpp: see units.h. A unit is a piece of what `ordinal compare` does, by the same code.
#include "study/sweep/units.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "study/compare/compare.h"
#include "study/compare/passes.h"
#include "study/compare/probes.h"
#include "study/compare/standing.h"
#include "study/intervals.h"

namespace ordinal {
namespace {

SweepRow row_of_loss(const ComparedRow& row, const Compared& found) {
  SweepRow made{.position = row.position, .standing = row.standing, .refused = row.refused};
  if (!row.refused.empty()) return made;
  made.tokens = row.tokens;
  made.value = row.nll;
  made.std_error = row.std_error;
  if (row.against == found.reference)
    made.delta = row.delta_nll, made.delta_low = row.delta_low, made.delta_high = row.delta_high;
  return made;
}

// A spec as outline() has it.
std::string name_of(const Model& model, const std::string& spec, const Compared& found) {
  const Stand stand = stand_of(model, spec, std::min(found.lengths.back(), found.trained_length));
  return stand.scheme ? stand.scheme->spec() : spec;
}

// The depths of a pass key count as one.
SweepRow row_of_task(const ComparedScheme& scheme, std::span<const RecallRow> rows, const std::string& refused) {
  SweepRow made{.position = scheme.position, .standing = scheme.standing, .refused = refused};
  if (!refused.empty()) return made;
  double right = 0;
  for (const RecallRow& row : rows) {
    if (row.position != scheme.position || !row.accuracy) continue;
    made.tokens += row.tokens;
    right += *row.accuracy * static_cast<double>(row.tokens);
  }
  if (made.tokens == 0) {
    made.standing = Standing::refused;
    made.refused = "the scheme ends before this length";
    return made;
  }
  const Share share = wilson_interval(std::llround(right), made.tokens);
  made.value = right / static_cast<double>(made.tokens);
  made.low = share.low, made.high = share.high;
  return made;
}

}  // namespace

void run_unit(SweepUnit& unit, const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
              const TokenStream& text, int n_threads, const OnProgress& progress) {
  CompareOptions options;
  options.positions = unit.positions;
  options.reference = unit.is_task ? "native" : unit.reference;
  options.lengths = {unit.length};
  options.seed = unit.seed;
  options.n_threads = n_threads;
  const std::span texts(&text, 1);
  Compared found = outline(*model, texts, options);
  unit.rows.clear();

  // outline() puts the model's own scheme and the reference first; a unit tells of those that it was given.
  std::vector<std::string> names;
  for (const std::string& spec : unit.positions) names.push_back(name_of(*model, spec, found));
  if (!unit.is_task) {
    Earlier earlier;
    const Pass pass{.length = unit.length, .protocol = unit.work == kWhole ? kWhole : kSliding};
    std::erase_if(found.schemes, [&](const ComparedScheme& scheme) {
      return scheme.position != found.reference && std::ranges::find(names, scheme.position) == names.end();
    });
    run_pass({.model = model, .texts = texts, .n_threads = n_threads}, pass, earlier, found, progress);
    for (const std::string& name : names)
      for (const ComparedRow& row : found.rows)
        if (row.position == name) unit.rows.push_back(row_of_loss(row, found));
    return;
  }
  std::erase_if(found.schemes,
                [&](const ComparedScheme& scheme) { return std::ranges::find(names, scheme.position) == names.end(); });
  run_task(model, tokenizer, text, unit.work, unit.length, options, found, progress);
  const std::vector<RecallRow>& rows = unit.work == "passkey" ? found.passkey : found.recall;
  for (const std::string& name : names)
    for (const ComparedScheme& scheme : found.schemes)
      if (scheme.position == name)
        unit.rows.push_back(row_of_task(scheme, rows, scheme.standing == Standing::refused ? scheme.reason : ""));
}

}  // namespace ordinal
