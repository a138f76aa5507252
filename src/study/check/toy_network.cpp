// toy_network.cpp: see toy_network.h.
#include "study/check/toy_network.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random_numbers.h"

namespace ordinal {
namespace {

constexpr size_t kWidth = kToyWidth, kHidden = 32;

// y [n] = W [n, k] x, rows of W of a size that keeps y about as large as x.
struct ToyMatrix {
  size_t n, k;
  std::vector<double> weights;

  ToyMatrix(size_t rows, size_t cols, RandomNumbers& random) : n(rows), k(cols), weights(random.normals(rows * cols)) {
    for (double& weight : weights) weight /= std::sqrt(static_cast<double>(cols));
  }
  std::vector<double> operator()(const std::vector<double>& x) const {
    std::vector<double> y(n, 0.0);
    for (size_t r = 0; r < n; ++r)
      for (size_t c = 0; c < k; ++c) y[r] += weights[r * k + c] * x[c];
    return y;
  }
};

std::vector<double> unit_sized(const std::vector<double>& x) {
  const double size = std::sqrt(dot(x, x) / static_cast<double>(x.size()));
  std::vector<double> y = x;
  for (double& value : y) value /= size;
  return y;
}

void add_to(std::vector<double>& x, const std::vector<double>& y, double factor = 1) {
  for (size_t c = 0; c < x.size(); ++c) x[c] += factor * y[c];
}

// The places 0 .. count - 1, the first `moved` of them in another order.
std::vector<size_t> shuffled(size_t count, size_t moved) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::reverse(order.begin(), order.begin() + static_cast<ptrdiff_t>(moved));
  std::swap(order[0], order[moved / 2]);
  return order;
}

DoubleRows reordered(const DoubleRows& rows, const std::vector<size_t>& order) {
  DoubleRows out;
  for (const size_t place : order) out.push_back(rows[place]);
  return out;
}

double largest_difference(const DoubleRows& a, const DoubleRows& b) {
  double most = 0;
  for (size_t r = 0; r < a.size(); ++r) {
    const double difference = ordinal::largest_difference(a[r], b[r]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

std::string where(const ToyNetwork& network) {
  return ", toy of " + std::to_string(network.n_layers) + (network.n_layers == 1 ? " layer" : " layers") +
         ", in double";
}

}  // namespace

DoubleRows toy_rows(int64_t count) {
  RandomNumbers random(5);
  DoubleRows rows;
  for (int64_t r = 0; r < count; ++r) rows.push_back(random.normals(kWidth));
  return rows;
}

ToyResult run_toy(const ToyNetwork& network, const DoubleRows& rows, int64_t first_position) {
  RandomNumbers random(6);
  ToyResult result{.rows = rows, .outputs = {}, .weights = {}};
  DoubleRows& x = result.rows;
  for (int64_t layer = 0; layer < network.n_layers; ++layer) {
    const ToyMatrix w_q(kWidth, kWidth, random), w_k(kWidth, kWidth, random), w_v(kWidth, kWidth, random),
        w_o(kWidth, kWidth, random), w_up(kHidden, kWidth, random), w_down(kWidth, kHidden, random);
    DoubleRows q, k, v;
    for (size_t r = 0; r < x.size(); ++r) {
      const std::vector<double> h = unit_sized(x[r]);
      const int64_t position = first_position + static_cast<int64_t>(r);
      q.push_back(network.turn ? network.turn(w_q(h), position) : w_q(h));
      k.push_back(network.turn ? network.turn(w_k(h), position) : w_k(h));
      v.push_back(w_v(h));
    }
    DoubleRows& weights = result.weights.emplace_back();
    for (size_t r = 0; r < x.size(); ++r) {
      const size_t seen = network.causal ? r + 1 : x.size();
      std::vector<double> scores;
      for (size_t j = 0; j < seen; ++j) scores.push_back(dot(q[r], k[j]) / std::sqrt(static_cast<double>(kWidth)));
      weights.push_back(softmax_of(std::move(scores)));
      std::vector<double> mix(kWidth, 0.0);
      for (size_t j = 0; j < seen; ++j) add_to(mix, v[j], weights.back()[j]);
      add_to(x[r], w_o(mix));
    }
    for (std::vector<double>& row : x) {
      std::vector<double> hidden = w_up(unit_sized(row));
      for (double& value : hidden) value = std::tanh(value);
      add_to(row, w_down(hidden));
    }
    result.outputs.push_back(x);
  }
  return result;
}

Check check_toy_shift(const ToyNetwork& network, const std::string& scheme) {
  const DoubleRows rows = toy_rows(12);
  const ToyResult here = run_toy(network, rows), there = run_toy(network, rows, 100);
  double largest = 0;
  for (const auto& row : here.rows)
    for (const double value : row) largest = std::max(largest, std::abs(value));
  return check_near({"C4", "positions moved by 100: change" + where(network), scheme},
                    largest_difference(here.rows, there.rows) / largest, 0, 1e-14);
}

Check check_toy_permuted(const ToyNetwork& network) {
  const DoubleRows rows = toy_rows(12);
  const std::vector<size_t> order = shuffled(rows.size(), rows.size());
  const DoubleRows straight = run_toy(network, rows).rows, permuted = run_toy(network, reordered(rows, order)).rows;
  // The engine always masks, so this one is the toy's alone.
  return check_near({"C5", "no mask (not in the engine): permuted in, permuted out" + where(network), "none"},
                    largest_difference(reordered(straight, order), permuted), 0, 1e-14);
}

Check check_toy_prefix(const ToyNetwork& network) {
  const DoubleRows rows = toy_rows(12);
  const std::vector<size_t> order = shuffled(rows.size(), rows.size() - 1);
  const double change = ordinal::largest_difference(run_toy(network, rows).rows.back(),
                                                    run_toy(network, reordered(rows, order)).rows.back());
  const CheckLabel label{"C6", "prefix permuted: change of the last row" + where(network), "none"};
  return network.n_layers == 1 ? check_near(label, change, 0, 1e-14) : check_above(label, change, 0.1);
}

Checks check_toy_counting(const ToyNetwork& network) {
  const DoubleRows rows(24, toy_rows(1).front());
  const ToyResult result = run_toy(network, rows);
  double weight_error = 0, count_error = 0, output_error = 0;
  for (const DoubleRows& layer : result.weights)
    for (size_t r = 0; r < layer.size(); ++r)
      for (const double weight : layer[r])
        weight_error = std::max(weight_error, std::abs(weight - 1 / static_cast<double>(r + 1)));
  for (size_t r = 0; r < rows.size(); ++r)
    count_error = std::max(count_error, std::abs(1 / result.weights.front()[r].front() - static_cast<double>(r + 1)));
  for (const DoubleRows& layer : result.outputs)
    for (const auto& row : layer)
      output_error = std::max(output_error, ordinal::largest_difference(row, layer.front()));
  return {
      check_near({"C7", "a token repeated: token t gives 1/t to each" + where(network), "none"}, weight_error, 0,
                 1e-12),
      check_near({"C7", "t read off the weight on the first token" + where(network), "none"}, count_error, 0, 1e-12),
      check_near({"C7", "a token repeated: rows alike at every layer" + where(network), "none"}, output_error, 0,
                 1e-12)};
}

}  // namespace ordinal
