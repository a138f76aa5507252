// check.h: one line of `ordinal positions check`, made from a number and where it must lie.
#pragma once

#include <cmath>
#include <vector>

#include "results/results.h"

namespace ordinal {

Check check_near(CheckLabel label, double measured, double expected, double tolerance);
Check check_above(CheckLabel label, double measured, double bound);  // strictly
Check check_below(CheckLabel label, double measured, double bound);  // strictly
Check check_between(CheckLabel label, double measured, double low, double high);
Check check_shown(CheckLabel label, double measured);  // a number worth seeing, right or wrong for no one

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The largest |a - b|; NaN when there is one.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

// Weights that attention makes of scores.
std::vector<double> softmax_of(std::vector<double> scores);

}  // namespace ordinal
