// check.h: one line of `ordinal positions check`: a number that was measured, and where it must lie.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ordinal {

struct CheckLabel {
  std::string id;      // C1 .. C15, as in src/study/README.md
  std::string what;    // the property, in a few words
  std::string scheme;  // spec of the scheme it was measured on
};

struct Check {
  CheckLabel label;
  double measured = 0;
  double low = -std::numeric_limits<double>::infinity();  // passes from low to high, both included
  double high = std::numeric_limits<double>::infinity();
  std::string expected;             // low and high as text: "0", "> 0.001", "2 to 3"; "" when it is only shown
  std::optional<double> tolerance;  // how far from a single expected number

  // NaN passes nothing.
  bool passed() const { return measured >= low && measured <= high; }
};

using Checks = std::vector<Check>;

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
