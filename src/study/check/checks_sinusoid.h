// checks_sinusoid.h: C1, C2, C9 to C11 and C13: what the sines and cosines of positions promise.
//
// Each check takes rows from anywhere: the formula in double, or the engine's own hook. So the same lines test both,
// and a test can hand over wrong rows.
#pragma once

#include <functional>
#include <memory>

#include "ordinal/position.h"
#include "study/check/check.h"

namespace ordinal {

// What a position adds to the embedding.
struct PositionRows {
  std::string scheme;
  bool in_double = false;  // the formula in double; otherwise the engine in float
  int64_t d_model = 0;
  std::function<std::vector<double>(int64_t position)> at;
};

// The sinusoid of Vaswani et al. 2017, section 3.5, and its known variants, as the spec `sinusoidal` says them.
struct Sinusoid {
  int64_t d_model = 512;
  bool concat = false;
  double base = 10000;
  bool t2t = false;
  double scale = 1;
  int64_t first = 0;

  double frequency(int64_t pair) const;
  // Places of the sine and the cosine of a pair in a row.
  size_t sine(int64_t pair) const { return static_cast<size_t>(concat ? pair : 2 * pair); }
  size_t cosine(int64_t pair) const { return static_cast<size_t>(concat ? d_model / 2 + pair : 2 * pair + 1); }
  std::vector<double> row(int64_t position) const;
  // Whether published numbers for the paper's form hold.
  bool as_published() const { return base == 10000 && !t2t && scale == 1 && first == 0; }
};
Sinusoid sinusoid_of(const SchemeFacts& facts, int64_t d_model);

PositionRows formula_rows(const Sinusoid& sinusoid, const std::string& scheme);
PositionRows engine_rows(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name, int64_t d_model);

// C1: a step of k positions is one rotation of every pair, wherever it starts.
Check check_rotation(const PositionRows& rows, const Sinusoid& sinusoid);
// C2: the product of two rows depends on their distance only, and is what the formula says.
Checks check_dot_products(const PositionRows& rows, const Sinusoid& sinusoid);
// C11: the similarity of rows does not fall steadily with their distance.
Checks check_similarity(const PositionRows& rows, const Sinusoid& sinusoid);
// C13: entries within [-scale, scale], rows of one length, no two of `count` rows alike. Without a sinusoid (a learned
// table) the numbers are only shown.
Checks check_bounded(const PositionRows& rows, int64_t count, const Sinusoid* sinusoid);
// C9: positions are nearly at right angles to random tokens, for 512 positions at d = 768 and so many tokens.
// `as_published`: 5000 of them and the paper's sinusoid, of which more is known.
Checks check_orthogonality(const PositionRows& rows, int64_t n_tokens, bool as_published);
// C10: for random tokens no e[i] + p[a] = e[j] + p[b], since the closest tokens are farther apart than any positions.
Checks check_no_collision(const PositionRows& rows, const Sinusoid& sinusoid, int64_t n_tokens);

// The largest distance between two of the rows, and the smallest; rows are all as long.
struct Distances {
  double smallest = 0, largest = 0;
};
Distances distances_between(const std::vector<std::vector<float>>& rows);

}  // namespace ordinal
