// checks_sinusoid.cpp: see checks_sinusoid.h.
#include "study/check/checks_sinusoid.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/random_numbers.h"

namespace ordinal {
namespace {

constexpr int64_t kPositions = 512;  // rows that statistics are taken over
constexpr size_t kLanes = 32;        // products computed side by side, a number the compiler can unroll

CheckLabel label_of(const PositionRows& rows, const std::string& id, const std::string& what) {
  return {id, what + (rows.in_double ? ", in double" : ", engine"), rows.scheme};
}

std::vector<std::vector<double>> first_rows(const PositionRows& rows, int64_t count) {
  std::vector<std::vector<double>> all;
  for (int64_t p = 0; p < count; ++p) all.push_back(rows.at(p));
  return all;
}

std::vector<std::vector<float>> as_floats(const std::vector<std::vector<double>>& rows) {
  std::vector<std::vector<float>> all;
  for (const auto& row : rows) {
    std::vector<float>& out = all.emplace_back();
    for (const double value : row) out.push_back(static_cast<float>(value));
  }
  return all;
}

// Vectors of numbers from N(0, 1).
std::vector<std::vector<float>> random_tokens(int64_t count, int64_t d_model) {
  RandomNumbers random(9);
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(random.normals(static_cast<size_t>(d_model)));
  return as_floats(rows);
}

// Calls take(i, j, a[i]·b[j]), 32 of b at a time. With `upper` only pairs j > i are called for, a and b being the same.
template <class Take>
void for_products(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b, bool upper,
                  Take&& take) {
  const size_t width = a.front().size();
  std::vector<float> panel(width * kLanes);
  for (size_t first = 0; first < b.size(); first += kLanes) {
    const size_t count = std::min(kLanes, b.size() - first);
    for (size_t c = 0; c < width; ++c)
      for (size_t lane = 0; lane < kLanes; ++lane) panel[c * kLanes + lane] = lane < count ? b[first + lane][c] : 0.0f;
    const size_t end = upper ? std::min(a.size(), first + count) : a.size();
    for (size_t i = 0; i < end; ++i) {
      std::array<float, kLanes> sums{};
      const float* x = a[i].data();
      for (size_t c = 0; c < width; ++c)
        for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[c] * panel[c * kLanes + lane];
      for (size_t lane = 0; lane < count; ++lane)
        if (!upper || first + lane > i) take(i, first + lane, static_cast<double>(sums[lane]));
    }
  }
}

double squared_length(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t c = 0; c < a.size(); ++c) {
    const double difference = static_cast<double>(a[c]) - static_cast<double>(b[c]);
    sum += difference * difference;
  }
  return sum;
}

// Similarities to row 0 of the rows 0 .. count - 1, row 0's to itself being 1.
std::vector<double> similarities(const PositionRows& rows, int64_t count) {
  const std::vector<double> origin = rows.at(0);
  const double whole = dot(origin, origin);
  std::vector<double> all;
  for (int64_t k = 0; k < count; ++k) all.push_back(dot(origin, rows.at(k)) / whole);
  return all;
}

// Of all pairs of distances 1 .. n, the percentage of which the farther is the more alike.
double percent_in_wrong_order(const std::vector<double>& similarity) {
  int64_t wrong = 0, pairs = 0;
  for (size_t near = 1; near < similarity.size(); ++near)
    for (size_t far = near + 1; far < similarity.size(); ++far) {
      wrong += similarity[far] > similarity[near];
      ++pairs;
    }
  return 100.0 * static_cast<double>(wrong) / static_cast<double>(pairs);
}

}  // namespace

double Sinusoid::frequency(int64_t pair) const {
  const int64_t pairs = d_model / 2;
  const double exponent = t2t ? static_cast<double>(pair) / static_cast<double>(pairs - 1)
                              : static_cast<double>(2 * pair) / static_cast<double>(d_model);
  return std::exp(-std::log(base) * exponent);
}

std::vector<double> Sinusoid::row(int64_t position) const {
  std::vector<double> values(static_cast<size_t>(d_model));
  const int64_t pairs = d_model / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(position + first) * frequency(i);
    values[sine(i)] = scale * std::sin(angle);
    values[cosine(i)] = scale * std::cos(angle);
  }
  return values;
}

Sinusoid sinusoid_of(const SchemeFacts& facts, int64_t d_model) {
  return {.d_model = d_model,
          .concat = facts.param("layout") == "concat",
          .base = std::stod(facts.param("base")),
          .t2t = facts.param("spacing") == "t2t",
          .scale = std::stod(facts.param("scale")),
          .first = std::stoll(facts.param("first"))};
}

PositionRows formula_rows(const Sinusoid& sinusoid, const std::string& scheme) {
  return {.scheme = scheme, .in_double = true, .d_model = sinusoid.d_model, .at = [sinusoid](int64_t p) {
            return sinusoid.row(p);
          }};
}

PositionRows engine_rows(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name,
                         int64_t d_model) {
  return {.scheme = name, .in_double = false, .d_model = d_model, .at = [scheme, d_model](int64_t p) {
            std::vector<float> row(static_cast<size_t>(d_model), 0.0f);
            scheme->add_to_embedding({&p, 1}, {row.data(), 1, d_model, d_model});
            return std::vector<double>(row.begin(), row.end());
          }};
}

Check check_rotation(const PositionRows& rows, const Sinusoid& sinusoid) {
  constexpr int64_t kCount = 1000, kStep = 37;
  const std::vector<std::vector<double>> all = first_rows(rows, kCount + kStep);
  double error = 0;
  for (int64_t i = 0; i < sinusoid.d_model / 2; ++i) {
    const double angle = static_cast<double>(kStep) * sinusoid.frequency(i);
    const double turn_cos = std::cos(angle), turn_sin = std::sin(angle);
    for (int64_t p = 0; p < kCount; ++p) {
      const std::vector<double>&from = all[static_cast<size_t>(p)], &to = all[static_cast<size_t>(p + kStep)];
      const double s = from[sinusoid.sine(i)], c = from[sinusoid.cosine(i)];
      error = std::max({error, std::abs(to[sinusoid.sine(i)] - (turn_cos * s + turn_sin * c)),
                        std::abs(to[sinusoid.cosine(i)] - (turn_cos * c - turn_sin * s))});
    }
  }
  // An angle of n radians is known to n times the precision of a double.
  const double bound = (rows.in_double ? 1e-12 : 1e-6) * std::abs(sinusoid.scale) *
                       std::max(1.0, static_cast<double>(sinusoid.first) / 1000);
  return check_near(label_of(rows, "C1", "37 positions on are one rotation, p < 1000: error"), error, 0, bound);
}

Checks check_dot_products(const PositionRows& rows, const Sinusoid& sinusoid) {
  const double near = dot(rows.at(2), rows.at(5)), far = dot(rows.at(10), rows.at(13));
  double formula = 0;
  for (int64_t i = 0; i < sinusoid.d_model / 2; ++i)
    formula += sinusoid.scale * sinusoid.scale * std::cos(3 * sinusoid.frequency(i));
  if (sinusoid.as_published() && sinusoid.d_model == 512) formula = 211.749443427693;
  if (sinusoid.as_published() && sinusoid.d_model == 312) formula = 128.644829778948;
  const std::string width = " at d=" + std::to_string(rows.d_model);
  const double bound = std::max(1.0, static_cast<double>(sinusoid.first) / 1000);
  return {check_near(label_of(rows, "C2", "PE(2)·PE(5), PE(10)·PE(13)" + width + ": relative difference"),
                     std::abs(near - far) / std::abs(near), 0, (rows.in_double ? 1e-13 : 1e-6) * bound),
          check_near(label_of(rows, "C2", "PE(2)·PE(5)" + width), near, formula,
                     rows.in_double ? 1e-9 * bound * sinusoid.scale * sinusoid.scale : 1e-6 * std::abs(formula))};
}

Checks check_similarity(const PositionRows& rows, const Sinusoid& sinusoid) {
  const std::string width = " at d=" + std::to_string(rows.d_model);
  const bool published = sinusoid.as_published() && (rows.d_model == 512 || rows.d_model == 64);
  const std::vector<double> all = similarities(rows, published ? 4096 : 10001);
  double rise = 0, negative = 0;  // 0: none seen
  for (size_t k = all.size(); k-- > 1;) {
    if (all[k] > all[k - 1]) rise = static_cast<double>(k);
    if (all[k] < 0) negative = static_cast<double>(k);
  }
  const CheckLabel first_rise = label_of(rows, "C11", "first distance more alike than the one before" + width);
  if (!published) return {check_between(first_rise, rise, 2, 10000)};

  const bool wide = rows.d_model == 512;
  Checks checks = {check_near(first_rise, rise, wide ? 44 : 6, 0)};
  const double percent = percent_in_wrong_order({all.begin(), all.begin() + 1025});
  checks.push_back(check_near(label_of(rows, "C11", "% of distances to 1024 in the wrong order" + width), percent,
                              wide ? 8.34 : 24.5, wide ? 0.005 : 0.05));
  if (!wide) return checks;
  checks.push_back(check_near(label_of(rows, "C11", "first negative similarity" + width), negative, 3284, 0));
  const std::vector<double> measured = {all[1], all[10], all[43], all[44], all[100], all[500], all[1000], all[1016]};
  const std::vector<double> expected = {.973055070, .678866113, .526401,    .526447,
                                        .437305503, .262629202, .175670331, .225736302};
  std::vector<double> errors;
  // 43 and 44 are published to six digits.
  for (size_t i = 0; i < measured.size(); ++i)
    errors.push_back(std::abs(measured[i] - expected[i]) * (i == 2 || i == 3 ? 1e-3 : 1));
  checks.push_back(check_near(label_of(rows, "C11", "similarity at eight distances, 1 to 1016: error"),
                              *std::max_element(errors.begin(), errors.end()), 0, rows.in_double ? 1e-9 : 1e-6));
  return checks;
}

Checks check_bounded(const PositionRows& rows, int64_t count, const Sinusoid* sinusoid) {
  const std::vector<std::vector<double>> all = first_rows(rows, count);
  double most = 0, length_error = 0;
  for (const std::vector<double>& row : all) {
    for (const double value : row)
      if (!(std::abs(value) <= most)) most = std::abs(value);
    const double length = 2 * dot(row, row) / static_cast<double>(rows.d_model);
    if (!(std::abs(length - 1) <= length_error)) length_error = std::abs(length - 1);
  }
  const double smallest = distances_between(as_floats(all)).smallest;
  const std::string of = " of " + std::to_string(count) + " rows at d=" + std::to_string(rows.d_model);
  const CheckLabel bounded = label_of(rows, "C13", "largest entry" + of);
  const CheckLabel unique = label_of(rows, "C13", "smallest distance between two" + of);
  if (sinusoid == nullptr) return {check_shown(bounded, most), check_shown(unique, smallest)};

  // A float's sine may be rounded up to the scale's own float.
  const double exact = std::abs(sinusoid->scale);
  const double bound = rows.in_double ? exact : std::max(exact, static_cast<double>(static_cast<float>(exact)));
  Checks checks = {check_between(bounded, most, 0, bound)};
  if (sinusoid->as_published() && rows.d_model == 768)
    checks.push_back(check_near(unique, smallest, 4.523234811, 1e-6));
  else
    checks.push_back(check_above(unique, smallest, 0));
  if (sinusoid->scale == 1)
    checks.push_back(check_near(label_of(rows, "C13", "squared length over d/2: error" + of), length_error, 0,
                                rows.in_double ? 1e-12 : 1e-6));
  return checks;
}

Checks check_orthogonality(const PositionRows& rows, int64_t n_tokens, bool as_published) {
  const std::vector<std::vector<float>> positions = as_floats(first_rows(rows, kPositions));
  const std::vector<std::vector<float>> tokens = random_tokens(n_tokens, rows.d_model);
  std::vector<double> position_lengths, token_lengths;
  for (const auto& row : positions) position_lengths.push_back(std::sqrt(squared_length(row)));
  for (const auto& row : tokens) token_lengths.push_back(std::sqrt(squared_length(row)));
  std::vector<float> cosines;  // their absolute values
  double squares = 0, sum = 0;
  for_products(tokens, positions, false, [&](size_t i, size_t j, double product) {
    const double cosine = std::abs(product / (token_lengths[i] * position_lengths[j]));
    squares += cosine * cosine;
    sum += cosine;
    cosines.push_back(static_cast<float>(cosine));
  });
  const auto n = static_cast<double>(cosines.size());
  const auto percentile = cosines.begin() + static_cast<ptrdiff_t>(0.99 * n);
  std::nth_element(cosines.begin(), percentile, cosines.end());
  const std::string of = " of cos(token, position), N(0,1) at d=768";
  const bool published = as_published && n_tokens >= 5000;  // a maximum depends on how many there are
  return {check_between(label_of(rows, "C9", "deviation" + of), std::sqrt(squares / n), .0357, .0364),
          check_between(label_of(rows, "C9", "mean absolute value" + of), sum / n, .0285, .0290),
          check_between(label_of(rows, "C9", "99th percentile" + of), static_cast<double>(*percentile), .092, .094),
          check_between(label_of(rows, "C9", "maximum" + of),
                        static_cast<double>(*std::max_element(percentile, cosines.end())), published ? .167 : .13,
                        published ? .179 : .21)};
}

Checks check_no_collision(const PositionRows& rows, const Sinusoid& sinusoid, int64_t n_tokens) {
  const Distances words = distances_between(random_tokens(n_tokens, rows.d_model));
  const Distances places = distances_between(as_floats(first_rows(rows, kPositions)));
  const CheckLabel farthest = label_of(rows, "C10", "farthest two of 512 positions, d=768");
  const CheckLabel ratio = label_of(rows, "C10", "farthest positions / closest words: no collision");
  const double apart = places.largest / words.smallest;
  return {check_between(label_of(rows, "C10", "closest of " + std::to_string(n_tokens) + " words N(0,1), d=768"),
                        words.smallest, 33.6, n_tokens >= 5000 ? 34.1 : 36.5),
          sinusoid.as_published() ? check_near(farthest, places.largest, 24.102211, 1e-5)
                                  : check_shown(farthest, places.largest),
          std::abs(sinusoid.scale) == 1 ? check_below(ratio, apart, 1) : check_shown(ratio, apart),
          // The same words at GPT-2's size.
          check_shown(label_of(rows, "C10", "closest words N(0,0.02²), d=768"), 0.02 * words.smallest)};
}

Distances distances_between(const std::vector<std::vector<float>>& rows) {
  std::vector<double> squares;
  for (const auto& row : rows) squares.push_back(squared_length(row));
  Distances found{.smallest = std::numeric_limits<double>::infinity(), .largest = 0};
  std::pair<size_t, size_t> closest, farthest;
  for_products(rows, rows, true, [&](size_t i, size_t j, double product) {
    const double square = squares[i] + squares[j] - 2 * product;
    if (square < found.smallest) found.smallest = square, closest = {i, j};
    if (square > found.largest) found.largest = square, farthest = {i, j};
  });
  // The sums above lose what two large squares have in common: once more for the pairs that they led to.
  found.smallest = std::sqrt(squared_distance(rows[closest.first], rows[closest.second]));
  found.largest = std::sqrt(squared_distance(rows[farthest.first], rows[farthest.second]));
  return found;
}

}  // namespace ordinal
