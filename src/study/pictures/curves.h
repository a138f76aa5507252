// curves.h: what a position scheme does, as curves and tables of numbers, found through its hooks alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ordinal/position.h"

namespace ordinal {

struct Grid {
  int64_t rows = 0, cols = 0;
  std::vector<double> values;  // [rows, cols]

  Grid() = default;
  Grid(int64_t n_rows, int64_t n_cols) : rows(n_rows), cols(n_cols), values(static_cast<size_t>(n_rows * n_cols)) {}
  std::span<double> operator[](int64_t row) { return {values.data() + row * cols, static_cast<size_t>(cols)}; }
  std::span<const double> operator[](int64_t row) const {
    return {values.data() + row * cols, static_cast<size_t>(cols)};
  }
};

double product(std::span<const double> a, std::span<const double> b);

// PE [positions, d_model]: what add_to_embedding makes of zeros. Throws Error when the scheme ends before.
Grid embedding_rows(const PositionScheme& scheme, int64_t d_model, int64_t positions);

// S(k), k = 0 .. rows - 1: the cosine of two rows k apart, over all such pairs (a sinusoid's are all the same). NaN
// where no pair has a direction.
std::vector<double> similarity_by_distance(const Grid& rows);

// q·k / head_dim for q and k of ones, k positions apart, after transform_query_key.
std::vector<double> score_by_distance_of_ones(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                              int64_t distances);

// The k of a curve at which it is higher than before.
std::vector<int64_t> rises(std::span<const double> curve);

// Cosines of `words` random vectors (independent normal channels, seeded) with every row.
std::vector<double> cosines_with_words(const Grid& rows, int64_t words, uint64_t seed);

// Two channels of a query head that turn together.
struct TurningPair {
  int64_t first = 0, second = 0;
  double frequency = 0;  // radians per position
  double magnitude = 1;  // of what a vector of length 1 becomes
};
std::vector<TurningPair> turning_pairs(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer);

// What a query without content at the last of `distances` positions sees: the score that the scheme adds, by distance.
std::vector<double> bias_by_distance(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                     int64_t head, int64_t distances);

// The same after softmax over the keys that a causal mask leaves: [positions, positions], 0 above the diagonal.
Grid weights_of_equal_scores(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer, int64_t head,
                             int64_t positions);

// By distance, the length of the vector whose product with a query (and the scale) the scheme adds to its score.
std::vector<double> vector_norms_by_distance(const PositionScheme& scheme, const AttentionShape& shape, int64_t layer,
                                             int64_t head, int64_t distances);

// Which row of its table of biases a scheme reads, by distance: found with a table whose row r holds r.
std::vector<double> table_row_by_distance(std::string_view spec, AttentionShape shape, int64_t rows, int64_t distances);

// Throws Error, saying how many positions the scheme has, unless there are at least `positions`.
void require_positions(const PositionScheme& scheme, int64_t positions);

}  // namespace ordinal
