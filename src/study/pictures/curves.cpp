// curves.cpp: see curves.h.
#include "study/pictures/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

#include "base/random_numbers.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

Rows one_row(std::vector<float>& row) {
  const auto width = static_cast<int64_t>(row.size());
  return {row.data(), 1, width, width};
}

std::vector<int64_t> first_positions(int64_t count) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return positions;
}

// A query of one head at a position, as attention would see it: through transform_query_key, cut out of its row.
std::vector<float> query_at(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer, int64_t head,
                            int64_t position, const std::vector<float>& content) {
  std::vector<float> q(shape.n_heads * shape.head_dim);
  std::vector<float> k(shape.n_kv_heads * shape.head_dim);
  const auto place = q.begin() + head * shape.head_dim;
  std::copy(content.begin(), content.end(), place);
  scheme.transform_query_key(layer, {&position, 1}, one_row(q), one_row(k));
  return {place, place + shape.head_dim};
}

float scale_of(const AttentionShape& shape) { return 1.0f / std::sqrt(static_cast<float>(shape.head_dim)); }

// What the scheme adds to scores of 0, for the keys at positions 0 .. query_position.
std::vector<float> added_scores(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer, int64_t head,
                                int64_t query_position, const std::vector<float>& content) {
  const std::vector<float> q = query_at(scheme, shape, layer, head, query_position, content);
  const std::vector<int64_t> keys = first_positions(query_position + 1);
  std::vector<float> scores(keys.size());
  scheme.add_to_scores(
      {.layer = layer, .head = head, .query_position = query_position, .key_positions = keys, .scale = scale_of(shape)},
      q, scores);
  return scores;
}

std::vector<float> no_content(const AttentionShape& shape) { return std::vector<float>(shape.head_dim); }

}  // namespace

double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void require_positions(const PositionScheme& scheme, int64_t positions) {
  if (positions <= scheme.max_positions()) return;
  throw Error(scheme.spec() + " ends before the picture does",
              "at most " + std::to_string(scheme.max_positions()) + " positions: " + scheme.limit_note().reason,
              std::to_string(positions), "--positions " + std::to_string(scheme.max_positions()));
}

Grid embedding_rows(const PositionScheme& scheme, int64_t d_model, int64_t positions) {
  require_positions(scheme, positions);
  Grid rows(positions, d_model);
  for (int64_t p = 0; p < positions; ++p) {
    std::vector<float> x(d_model);
    scheme.add_to_embedding({&p, 1}, one_row(x));
    std::ranges::copy(x, rows[p].begin());
  }
  return rows;
}

std::vector<double> similarity_by_distance(const Grid& rows) {
  std::vector<double> lengths, curve;
  for (int64_t p = 0; p < rows.rows; ++p) lengths.push_back(std::sqrt(product(rows[p], rows[p])));
  for (int64_t k = 0; k < rows.rows; ++k) {
    double sum = 0;
    int64_t pairs = 0;
    for (int64_t p = 0; p + k < rows.rows; ++p) {
      const double lengths_product = lengths[p] * lengths[p + k];
      if (lengths_product == 0) continue;
      sum += product(rows[p], rows[p + k]) / lengths_product;
      ++pairs;
    }
    curve.push_back(pairs == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(pairs));
  }
  return curve;
}

std::vector<double> score_by_distance_of_ones(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                              int64_t distances) {
  require_positions(scheme, distances);
  const std::vector<float> ones(shape.head_dim, 1.0f);
  const std::vector<float> key = query_at(scheme, shape, layer, 0, 0, ones);  // keys of ones turn as queries do
  std::vector<double> curve;
  for (int64_t k = 0; k < distances; ++k) {
    const std::vector<float> query = query_at(scheme, shape, layer, 0, k, ones);
    curve.push_back(std::inner_product(query.begin(), query.end(), key.begin(), 0.0) /
                    static_cast<double>(shape.head_dim));
  }
  return curve;
}

std::vector<int64_t> rises(std::span<const double> curve) {
  std::vector<int64_t> list;
  for (size_t k = 1; k < curve.size(); ++k)
    if (curve[k] > curve[k - 1]) list.push_back(static_cast<int64_t>(k));
  return list;
}

std::vector<double> cosines_with_words(const Grid& rows, int64_t words, uint64_t seed) {
  std::vector<double> lengths, cosines, word(static_cast<size_t>(rows.cols));
  for (int64_t p = 0; p < rows.rows; ++p) lengths.push_back(std::sqrt(product(rows[p], rows[p])));
  RandomNumbers random(seed);
  for (int64_t w = 0; w < words; ++w) {
    for (double& channel : word) channel = random.normal();
    const double length = std::sqrt(product(word, word));
    for (int64_t p = 0; p < rows.rows; ++p) cosines.push_back(product(word, rows[p]) / (length * lengths[p]));
  }
  return cosines;
}

std::vector<TurningPair> turning_pairs(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer) {
  require_positions(scheme, 2);
  std::vector<TurningPair> pairs;
  std::vector<bool> known(shape.head_dim, false);
  for (int64_t c = 0; c < shape.head_dim; ++c) {
    if (known[c]) continue;
    // A unit vector along channel c, one position on: what it gained elsewhere is its partner's.
    std::vector<float> unit = no_content(shape);
    unit[c] = 1;
    const std::vector<float> turned = query_at(scheme, shape, layer, 0, 1, unit);
    for (int64_t other = 0; other < shape.head_dim; ++other) {
      const double sine = static_cast<double>(turned[other]);
      if (other == c || sine == 0) continue;
      const double cosine = static_cast<double>(turned[c]);
      pairs.push_back(
          {.first = c, .second = other, .frequency = std::atan2(sine, cosine), .magnitude = std::hypot(sine, cosine)});
      known[other] = true;
    }
  }
  return pairs;
}

std::vector<double> bias_by_distance(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                     int64_t head, int64_t distances) {
  require_positions(scheme, distances);
  const std::vector<float> scores = added_scores(scheme, shape, layer, head, distances - 1, no_content(shape));
  return {scores.rbegin(), scores.rend()};
}

Grid weights_of_equal_scores(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer, int64_t head,
                             int64_t positions) {
  require_positions(scheme, positions);
  Grid weights(positions, positions);
  for (int64_t i = 0; i < positions; ++i) {
    const std::vector<float> scores = added_scores(scheme, shape, layer, head, i, no_content(shape));
    const double most = static_cast<double>(*std::ranges::max_element(scores));
    double sum = 0;
    for (size_t j = 0; j < scores.size(); ++j) sum += weights[i][j] = std::exp(static_cast<double>(scores[j]) - most);
    for (size_t j = 0; j < scores.size(); ++j) weights[i][j] /= sum;
  }
  return weights;
}

std::vector<double> vector_norms_by_distance(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                             int64_t head, int64_t distances) {
  require_positions(scheme, distances);
  // A score is linear in its query: unit queries, less the score of a query of zeros, give the vector's numbers.
  const std::vector<float> at_zero = added_scores(scheme, shape, layer, head, distances - 1, no_content(shape));
  std::vector<double> squares(at_zero.size());
  for (int64_t c = 0; c < shape.head_dim; ++c) {
    std::vector<float> unit = no_content(shape);
    unit[c] = 1;
    const std::vector<float> scores = added_scores(scheme, shape, layer, head, distances - 1, unit);
    for (size_t j = 0; j < scores.size(); ++j) {
      const double number =
          (static_cast<double>(scores[j]) - static_cast<double>(at_zero[j])) / static_cast<double>(scale_of(shape));
      squares[scores.size() - 1 - j] += number * number;
    }
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

std::vector<double> table_row_by_distance(std::string_view spec, AttentionShape shape, int64_t rows,
                                          int64_t distances) {
  shape.n_layers = shape.n_heads = shape.n_kv_heads = 1;
  shape.length = std::max(shape.length, distances);
  std::vector<float> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const TensorView table{.name = "attn_rel_b.weight",
                         .dtype = Dtype::f32,
                         .layout = Layout::rows,
                         .shape = {rows, 1},
                         .data = reinterpret_cast<const std::byte*>(numbers.data()),
                         .bytes = rows * static_cast<int64_t>(sizeof(float))};
  const auto scheme =
      make_position_scheme(spec, shape, [&](std::string_view name) { return name == table.name ? &table : nullptr; });
  return bias_by_distance(*scheme, shape, 0, 0, distances);
}

}  // namespace ordinal
