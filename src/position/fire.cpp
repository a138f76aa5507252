// fire: each score gains what a small trained network makes of the distance as a share of how far the query can look.
// Li et al., "Functional Interpolation for Relative Positions Improves Long Context Transformers", 2023, section 3
// (arXiv:2310.04418).
//
//   score(i, j) += (W2 relu(W1 x + b1) + b2)[h]                                n = i - j; not scaled
//   x = ln(|c n| + 1) / (ln(|c max(i, T)| + 1) + eps)                           i: the query's position from 0
//   W1, b1: blk.N.attn_fire_1.weight [F, 1], .bias [F]; W2, b2: attn_fire_2.weight [H, F], .bias [H]
//   c, T: attn_fire_scale.weight [2]; each of the five may be without "blk.N.", for all layers (FIRE-S)
// A function of x is made of straight pieces, one more than F: each is kept as a slope and an offset per head, and
// since x grows from key to key, going back, the piece is found by walking on. Depends on i, so not on distances alone.
// Spec     fire[:eps=1e-6]
// Acts on  scores. Has no last position.
#include <algorithm>
#include <cmath>
#include <limits>

#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr int64_t kMostLogarithms = int64_t{1} << 20;  // numbers kept in all: 8 MB

struct FireLayer {
  double c = 0, threshold = 0;          // T
  std::vector<double> ends;             // [F]: where each piece but the last ends, ascending
  std::vector<double> slopes, offsets;  // [H, F + 1]
  std::vector<double> logarithms;       // ln(|c n| + 1) by distance

  double logarithm(int64_t n) const {
    if (n < static_cast<int64_t>(logarithms.size())) return logarithms[static_cast<size_t>(n)];
    return std::log(std::abs(c * static_cast<double>(n)) + 1);
  }
};

class Fire final : public PositionScheme {
 public:
  Fire(std::vector<FireLayer> layers, double eps) : layers_(std::move(layers)), eps_(eps) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const FireLayer& layer = layers_[static_cast<size_t>(site.layer)];
    const double reach = std::max(static_cast<double>(site.query_position), layer.threshold);
    const double whole = std::log(std::abs(layer.c * reach) + 1) + eps_;
    const size_t pieces = layer.ends.size() + 1, first = static_cast<size_t>(site.head) * pieces;
    for (size_t j = scores.size(), piece = 0; j-- > 0;) {
      const double x = layer.logarithm(distance_back(site, j)) / whole;
      while (piece + 1 < pieces && x > layer.ends[piece]) ++piece;
      scores[j] += static_cast<float>(layer.slopes[first + piece] * x + layer.offsets[first + piece]);
    }
  }

 private:
  const std::vector<FireLayer> layers_;  // [n_layers]
  const double eps_;
};

// The pieces of W2 relu(W1 x + b1) + b2 for x from 0 on.
void find_pieces(FireLayer& layer, const SchemeTable& w1, const SchemeTable& b1, const SchemeTable& w2,
                 const SchemeTable& b2) {
  const size_t hidden = b1.values.size(), heads = b2.values.size();
  const auto at = [](const SchemeTable& table, size_t i) { return static_cast<double>(table.values[i]); };
  for (size_t u = 0; u < hidden; ++u) {
    const bool bends = at(w1, u) != 0;
    layer.ends.push_back(bends ? -at(b1, u) / at(w1, u) : std::numeric_limits<double>::infinity());
  }
  std::ranges::sort(layer.ends);
  for (size_t h = 0; h < heads; ++h)
    for (size_t piece = 0; piece <= hidden; ++piece) {
      // A point within the piece, or beside it where it is a point itself, tells which units are at work there.
      const double low = piece == 0 ? -std::numeric_limits<double>::infinity() : layer.ends[piece - 1];
      const double high = piece == hidden ? std::numeric_limits<double>::infinity() : layer.ends[piece];
      const double inside = std::isinf(low)    ? (std::isinf(high) ? 0 : high - 1)
                            : std::isinf(high) ? low + 1
                                               : (low + high) / 2;
      double slope = 0, offset = at(b2, h);
      for (size_t u = 0; u < hidden; ++u) {
        if (!(at(w1, u) * inside + at(b1, u) > 0)) continue;
        slope += at(w2, h * hidden + u) * at(w1, u);
        offset += at(w2, h * hidden + u) * at(b1, u);
      }
      layer.slopes.push_back(slope);
      layer.offsets.push_back(offset);
    }
}

}  // namespace

SchemePtr make_fire(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const double eps = params.positive("eps", 1e-6);
  const TableSize hidden = any_size(32);
  const auto scale_made_up = [](int64_t, int64_t column, double) { return column == 0 ? 0.1 : 16; };
  const auto loaded = tables.read({{"blk.N.attn_fire_1.weight", {hidden, 1}, random_of(1)},
                                   {"blk.N.attn_fire_1.bias", {hidden}, random_of(0.5)},
                                   {"blk.N.attn_fire_2.weight", {shape.n_heads, hidden}, random_of(0.5)},
                                   {"blk.N.attn_fire_2.bias", {shape.n_heads}, random_of(0.5)},
                                   {"blk.N.attn_fire_scale.weight", {2}, scale_made_up}});
  const int64_t kept = std::min(shape.length, kMostLogarithms / std::max<int64_t>(1, shape.n_layers));
  std::vector<FireLayer> layers;
  for (size_t i = 0; i < loaded[0].size(); ++i) {
    const int64_t units = loaded[0][i].shape[0];
    for (const auto& [table, dimension] : {std::pair{&loaded[1][i], 0}, {&loaded[2][i], 1}})
      if (table->shape[static_cast<size_t>(dimension)] != units)
        throw Error("the two halves of fire's network do not fit",
                    std::to_string(units) + " hidden units, as in " + loaded[0][i].name,
                    table->name + " with " + std::to_string(table->shape[static_cast<size_t>(dimension)]));
    FireLayer layer;
    layer.c = static_cast<double>(loaded[4][i].values[0]);
    layer.threshold = std::abs(static_cast<double>(loaded[4][i].values[1]));
    if (!std::isfinite(layer.c) || !std::isfinite(layer.threshold))
      throw Error("fire's scale is no number", "c and T, two finite numbers", loaded[4][i].name);
    find_pieces(layer, loaded[0][i], loaded[1][i], loaded[2][i], loaded[3][i]);
    for (int64_t n = 0; n < kept; ++n)
      layer.logarithms.push_back(std::log(std::abs(layer.c * static_cast<double>(n)) + 1));
    layers.push_back(std::move(layer));
  }
  return std::make_unique<Fire>(std::move(layers), eps);
}

}  // namespace ordinal
