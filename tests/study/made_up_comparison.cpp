// made_up_comparison.cpp: see made_up_comparison.h.
#include "made_up_comparison.h"

#include <cmath>

namespace test {

using namespace ordinal;

Compared made_up_comparison(const std::vector<MadeUpScheme>& schemes, double half, double recent) {
  Compared result;
  result.native = result.reference = schemes.front().position;
  result.trained_length = result.matrix_length = 256;
  result.lengths = {256, 1024};
  result.unigram_nll = 6.5;
  result.unigram_slack = 0.2;
  const auto estimate = [half](double mean) {
    const double wide = mean == 0 ? 0 : half;
    return Estimate{.mean = mean, .std_error = wide / 2, .low = mean - wide, .high = mean + wide, .clusters = 10};
  };
  for (const MadeUpScheme& made : schemes) {
    ComparedScheme& scheme = result.schemes.emplace_back();
    scheme.position = made.position;
    scheme.question = made.question;
    scheme.standing = made.standing;
    if (is_trained(made.standing) && made.standing != Standing::exact)
      result.trained_positions.push_back(made.position);
    if (made.standing == Standing::refused) scheme.reason = "it lacks a tensor";
  }
  for (const int64_t length : result.lengths) {
    const bool past = length > result.trained_length;
    PairedLosses paired{.length = length, .protocol = std::string(kWhole), .positions = {}, .differences = {}};
    std::vector<double> losses;
    const MadeUpScheme& own = schemes.front();
    const double base = past ? own.past : own.inside;
    for (const MadeUpScheme& made : schemes) {
      ComparedRow& row = result.rows.emplace_back();
      row.position = made.position;
      row.length = length, row.protocol = kWhole;
      row.nll = past ? made.past : made.inside;
      row.ppl = std::exp(row.nll);
      row.standing = past ? Standing::extrapolating : made.standing;
      if (made.standing == Standing::refused || std::isnan(row.nll)) {
        row.standing = Standing::refused, row.refused = "position 256 is past the end";
        continue;
      }
      paired.positions.push_back(made.position);
      losses.push_back(row.nll);
      if (past) row.to_inside = estimate(row.nll - recent), row.to_trained = estimate(row.nll - made.inside);
      if (&made == &own || (std::isnan(base) && !past)) continue;
      row.against = own.position, row.against_protocol = std::isnan(base) ? kRecent : kWhole;
      const Estimate delta = estimate(row.nll - (std::isnan(base) ? recent : base));
      row.delta_nll = delta.mean, row.delta_low = delta.low, row.delta_high = delta.high;
    }
    for (const double p : losses) {
      paired.differences.emplace_back();
      for (const double q : losses) paired.differences.back().push_back(estimate(p - q));
    }
    result.paired.push_back(std::move(paired));
  }
  return result;
}

}  // namespace test
