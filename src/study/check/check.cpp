// check.cpp: see check.h.
#include "study/check/check.h"

#include <algorithm>
#include <numbers>
#include <utility>

#include "position/scheme.h"

namespace ordinal {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

Check check_near(CheckLabel label, double measured, double expected, double tolerance) {
  return {.label = std::move(label),
          .measured = measured,
          .low = expected - tolerance,
          .high = expected + tolerance,
          .expected = number_text(expected),
          .tolerance = tolerance};
}

Check check_above(CheckLabel label, double measured, double bound) {
  return {.label = std::move(label),
          .measured = measured,
          .low = std::nextafter(bound, kInfinity),
          .expected = "> " + number_text(bound)};
}

Check check_below(CheckLabel label, double measured, double bound) {
  return {.label = std::move(label),
          .measured = measured,
          .high = std::nextafter(bound, -kInfinity),
          .expected = "< " + number_text(bound)};
}

Check check_between(CheckLabel label, double measured, double low, double high) {
  return {.label = std::move(label),
          .measured = measured,
          .low = low,
          .high = high,
          .expected = number_text(low) + " to " + number_text(high)};
}

Check check_shown(CheckLabel label, double measured) { return {.label = std::move(label), .measured = measured}; }

std::vector<double> softmax_of(std::vector<double> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
  return scores;
}

}  // namespace ordinal
