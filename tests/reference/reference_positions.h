// reference_positions.h: position schemes in double precision, each written from its paper, for the reference forward.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reference {

using Row = std::vector<double>;

// What a scheme does; an empty function does nothing.
struct Scheme {
  std::function<void(int64_t position, Row& x)> embed;    // to a token's embedding, after its scale
  std::function<void(int64_t position, Row& head)> turn;  // to q or k of one head

  // Of reference_schemes.h. A query's factor; the product of a query at i and a key at j of one head, -infinity when it
  // does not see it; what is added to a scaled score; what is added to a row of them, oldest first.
  std::function<double(int64_t layer, int64_t head, int64_t i)> factor = {};
  std::function<double(int64_t i, int64_t j, const Row& q, const Row& k)> meet = {};
  std::function<double(int64_t layer, int64_t head, int64_t i, int64_t j)> bias = {};
  std::function<void(int64_t layer, const Row& q, Row& scores)> add_to_row = {};
};

// A trained table: row `position + offset` is added. Reading past the table throws std::out_of_range.
Scheme learned(const std::vector<Row>& table, int64_t offset = 0);

// Vaswani et al. 2017, section 3.5: sin and cos of p * base^(-2i/d). `concat` puts all sines before all cosines;
// `t2t` spaces the d/2 frequencies from 1 to 1/base, both ends included (tensor2tensor, fairseq).
struct Sinusoid {
  bool concat = false;
  bool t2t = false;
  double base = 10000.0;
  double scale = 1.0;
  int64_t first = 0;
};
Scheme sinusoidal(const Sinusoid& options = {});

// Su et al. 2021 (arXiv:2104.09864), eq. 14 to 16: pair i of the first `rotary_dim` numbers turns by
// p * theta^(-2i/r). Neighbours are a pair as in the paper, or numbers i and i + r/2 as in GPT-NeoX.
// Chen et al. 2023 (arXiv:2306.15595): `factor` divides every position.
struct Rotary {
  bool neighbours = false;
  double theta = 10000.0;
  int64_t rotary_dim = 0;  // 0: the whole head
  double factor = 1.0;
};
Scheme rotary(const Rotary& options = {});

// The scheme that a spec names (none, learned, sinusoidal, rope), over `table` where it needs one. Read here on its
// own: a key or value that is not known throws std::invalid_argument.
Scheme scheme_of(const std::string& spec, const std::vector<Row>& table);

}  // namespace reference
