// components.cpp: see components.h. Block power iteration: a few directions more than are wanted are multiplied by
// X^T X and made orthogonal again until they stay, which suits tables whose variance lies in few directions.
#include "study/pictures/components.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random_numbers.h"

namespace ordinal {
namespace {

constexpr int kRounds = 80;
constexpr int64_t kSpare = 6;

Grid centred(const Grid& table) {
  Grid x = table;
  for (int64_t c = 0; c < x.cols; ++c) {
    double mean = 0;
    for (int64_t r = 0; r < x.rows; ++r) mean += x[r][c];
    mean /= static_cast<double>(x.rows);
    for (int64_t r = 0; r < x.rows; ++r) x[r][c] -= mean;
  }
  return x;
}

// Gram and Schmidt, twice over for rounding's sake; a direction with nothing of its own becomes 0.
void make_orthonormal(Grid& directions) {
  for (int64_t i = 0; i < directions.rows; ++i) {
    const std::span<double> row = directions[i];
    const double before = std::sqrt(product(row, row));
    for (int round = 0; round < 2; ++round)
      for (int64_t j = 0; j < i; ++j) {
        const double along = product(row, directions[j]);
        for (size_t c = 0; c < row.size(); ++c) row[c] -= along * directions[j][c];
      }
    const double length = std::sqrt(product(row, row));
    for (double& value : row) value = length > before * 1e-12 ? value / length : 0;
  }
}

// [directions, rows] places of the rows along each direction.
Grid project(const Grid& x, const Grid& directions) {
  Grid places(directions.rows, x.rows);
  for (int64_t i = 0; i < directions.rows; ++i)
    for (int64_t r = 0; r < x.rows; ++r) places[i][r] = product(directions[i], x[r]);
  return places;
}

}  // namespace

Components principal_components(const Grid& table, int64_t count) {
  const Grid x = centred(table);
  const double total = product(x.values, x.values);
  count = std::min({count, x.rows, x.cols});
  Grid directions(std::min({count + kSpare, x.rows, x.cols}), x.cols);
  RandomNumbers random(1);
  for (double& value : directions.values) value = random.normal();
  for (int round = 0; round < kRounds; ++round) {
    make_orthonormal(directions);
    const Grid places = project(x, directions);
    for (int64_t i = 0; i < directions.rows; ++i) {
      std::ranges::fill(directions[i], 0.0);
      for (int64_t r = 0; r < x.rows; ++r)
        for (size_t c = 0; c < directions[i].size(); ++c) directions[i][c] += places[i][r] * x[r][c];
    }
  }
  make_orthonormal(directions);
  Grid places = project(x, directions);

  std::vector<int64_t> order(directions.rows);
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto square = [&](int64_t i) { return product(places[i], places[i]); };
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return square(a) > square(b); });
  Components result;
  result.scores = Grid(x.rows, count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = order[i];
    const auto direction = directions[from];
    const double greatest = *std::ranges::max_element(direction, {}, [](double value) { return std::abs(value); });
    for (int64_t r = 0; r < x.rows; ++r) result.scores[r][i] = places[from][r] * (greatest < 0 ? -1 : 1);
    result.singular_values.push_back(std::sqrt(square(from)));
    result.shares.push_back(total > 0 ? square(from) / total : 0);
  }
  return result;
}

}  // namespace ordinal
