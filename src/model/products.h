// products.h: weight matrices applied to rows, several matrices in one parallel loop, and norms of rows.
#pragma once

#include <initializer_list>
#include <vector>

#include "kernels/kernels.h"
#include "model/share.h"
#include "ordinal/model.h"
#include "ordinal/tensor.h"

namespace ordinal {

// y [M, n] = x [M, k] · weight + bias; then, where asked for, an activation in place, and `into` joined with the
// result (into = combine(into, y)). Rows of y have room for whole panels.
struct Product {
  const Linear& linear;
  Rows y;
  Extent panels = {0, INT64_MAX};  // of the outputs, what is computed here
  void (*activation)(float* y, int64_t n) = nullptr;
  void (*combine)(float* into, const float* y, int64_t n) = nullptr;
  Rows into = {};

  // Its groups of panels are done right after those of the product before it, which has the same ones: it may read what
  // that one wrote in the same columns.
  bool follows = false;
};

// Rows of x as the block kinds want them; see Kernels::quantize.
struct RoundedRows {
  std::vector<int8_t> bytes, words;
  std::vector<float> scales;
  std::vector<int32_t> sums;

  void reserve(int64_t rows, int64_t cols);  // so that up to so many are rounded without asking for memory
};

// All products of the same rows x in one parallel loop over groups of panels. `rounded` is memory to round x in, used
// when a weight is of a block kind.
void matmul(int n_threads, Rows x, std::initializer_list<Product> products, RoundedRows& rounded);

// Calls body(r) for each of the rows, on several threads where there is enough in them.
constexpr int64_t kWorthRows = 1 << 14;  // numbers
template <class Body>
void for_rows(int n_threads, Rows rows, const Body& body) {
  parallel_for(rows.rows * rows.cols < kWorthRows ? 1 : n_threads, rows.rows, [&](int64_t r, int) { body(r); });
}

// y = norm(x), row by row; x and y may be the same rows. A row is `groups` groups of columns, each normed by itself.
void normalize(int n_threads, NormKind kind, float epsilon, const Norm& norm, Rows x, Rows y, int64_t groups = 1);

// Row `id` of the panels of an embedding table [V, E], times `scale`, to out [E].
void embed(const TensorView& table, TokenId id, float scale, std::span<float> out);

// The same for rows [M, E], each of which the rank looks up that has its panel.
void embed_rows(int n_threads, const ModelShare& share, const TensorView& table, std::span<const TokenId> ids,
                float scale, Rows out, GatherMemory& memory);

}  // namespace ordinal
