// check.cpp: see check.h.
#include "study/check.h"

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
          .expected = "> " + number_text(bound),
          .tolerance = {}};
}

Check check_below(CheckLabel label, double measured, double bound) {
  return {.label = std::move(label),
          .measured = measured,
          .high = std::nextafter(bound, -kInfinity),
          .expected = "< " + number_text(bound),
          .tolerance = {}};
}

Check check_between(CheckLabel label, double measured, double low, double high) {
  return {.label = std::move(label),
          .measured = measured,
          .low = low,
          .high = high,
          .expected = number_text(low) + " to " + number_text(high),
          .tolerance = {}};
}

Check check_shown(CheckLabel label, double measured) {
  return {.label = std::move(label), .measured = measured, .expected = "", .tolerance = {}};
}

double CheckRandom::uniform() {
  uint64_t bits = state_ += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

// Box and Muller 1958, one of the pair.
double CheckRandom::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<double> CheckRandom::normals(size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = normal();
  return values;
}

std::vector<double> softmax_of(std::vector<double> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
  return scores;
}

}  // namespace ordinal
