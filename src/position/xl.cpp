// xl: besides every key, a query meets a projected sinusoid of its distance; each of the two meetings has a bias of its
// own in place of the query.
// Dai et al., "Transformer-XL", 2019, section 3.3 (arXiv:1901.02860).
//
//   score(i, j) = scale * (q · k + q · W R[n] + u · k + v · W R[n])       n = i - j, at most `clamp`
//   R[n] = sin(n w[0]), sin(n w[1]), ..., cos(n w[0]), ...                w[m] = 10000^(-2m/d), d = d_model
//   W: blk.N.attn_xl_r.weight [H * head_dim, d]; u, v: blk.N.attn_xl_{u,v}.weight [H, head_dim]; or without "blk.N."
// The hooks never see a key: q leaves transform_query_key as q + u, and scores gain scale * ((q + u) + (v - u)) · W
// R[n]. W R[n] is computed for every distance of the session when it is made. Has no last position.
// Spec: xl[:clamp=(none)]. Acts on q and scores.
#include <algorithm>
#include <array>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr int64_t kMostTableBytes = int64_t{1} << 32;

struct Layer {
  std::vector<float> weight;   // [H * head_dim, d_model]
  std::vector<float> u, turn;  // [H * head_dim]: u, and v - u
  std::vector<float> meets;    // [distances, H * head_dim]: W R[n]
};

struct SineCosine {
  double sine, cosine;
};

// The sum of term(0) .. term(count - 1), in four lanes so that one sum does not wait for the other.
template <class Term>
double sum_of(size_t count, Term&& term) {
  double a = 0, b = 0, c = 0, d = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    a += term(i);
    b += term(i + 1);
    c += term(i + 2);
    d += term(i + 3);
  }
  for (; i < count; ++i) a += term(i);
  return (a + b) + (c + d);
}

// One number of W R[n], from a row of W and the sinusoid's (sine, cosine) by m.
template <class Sinusoid>
float project(const Layer& layer, size_t row, size_t half, Sinusoid&& sinusoid) {
  const float* weight = layer.weight.data() + row * 2 * half;
  return static_cast<float>(sum_of(half, [&](size_t m) {
    const auto [sine, cosine] = sinusoid(m);
    return static_cast<double>(weight[m]) * sine + static_cast<double>(weight[half + m]) * cosine;
  }));
}

class Xl final : public PositionScheme {
 public:
  Xl(std::vector<Layer> layers, int64_t d_model, int64_t distances, int64_t clamp)
      : layers_(std::move(layers)), distances_(static_cast<size_t>(distances)), clamp_(clamp) {
    const size_t half = static_cast<size_t>(d_model / 2);
    for (size_t m = 0; m < half; ++m)
      frequencies_.push_back(std::pow(10000.0, -2.0 * static_cast<double>(m) / static_cast<double>(d_model)));
    for (Layer& layer : layers_) layer.meets.resize(distances_ * layer.u.size());
    std::vector<SineCosine> sinusoid(half);
    for (size_t n = 0; n < distances_; ++n) {
      for (size_t m = 0; m < half; ++m) sinusoid[m] = sine_and_cosine(n, m);
      for (Layer& layer : layers_)
        for (size_t row = 0; row < layer.u.size(); ++row)
          layer.meets[n * layer.u.size() + row] = project(layer, row, half, [&](size_t m) { return sinusoid[m]; });
    }
  }

  void transform_query_key(int64_t layer, Positions, Rows q, Rows) const override {
    const std::vector<float>& u = layers_[static_cast<size_t>(layer)].u;
    for (int64_t r = 0; r < q.rows; ++r)
      for (size_t c = 0; c < static_cast<size_t>(q.cols); ++c) q[r][c] += u[c];
  }

  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    const Layer& layer = layers_[static_cast<size_t>(site.layer)];
    std::array<double, 64> query;  // a stretch of q + v
    for (size_t first = 0; first < q.size(); first += query.size()) {
      const size_t count = std::min(query.size(), q.size() - first);
      const size_t row = static_cast<size_t>(site.head) * q.size() + first;
      for (size_t c = 0; c < count; ++c)
        query[c] = static_cast<double>(q[first + c]) + static_cast<double>(layer.turn[row + c]);
      for (size_t j = 0; j < scores.size(); ++j) {
        const size_t n = static_cast<size_t>(std::min(distance_back(site, j), clamp_));
        scores[j] +=
            static_cast<float>(static_cast<double>(site.scale) * meeting(layer, n, row, {query.data(), count}));
      }
    }
  }

 private:
  SineCosine sine_and_cosine(size_t n, size_t m) const {
    const double angle = static_cast<double>(n) * frequencies_[m];
    return {std::sin(angle), std::cos(angle)};
  }

  // query · W R[n], from row `row` of W on.
  double meeting(const Layer& layer, size_t n, size_t row, std::span<const double> query) const {
    if (n < distances_) {
      const float* meets = layer.meets.data() + n * layer.u.size() + row;
      return sum_of(query.size(), [&](size_t c) { return query[c] * static_cast<double>(meets[c]); });
    }
    // A distance beyond the session's length, which never comes up in a session: the same number, slowly.
    return sum_of(query.size(), [&](size_t c) {
      const float meets = project(layer, row + c, frequencies_.size(), [&](size_t m) { return sine_and_cosine(n, m); });
      return query[c] * static_cast<double>(meets);
    });
  }

  std::vector<Layer> layers_;
  const size_t distances_;
  const int64_t clamp_;
  std::vector<double> frequencies_;  // [d_model / 2]
};

}  // namespace

SchemePtr make_xl(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const int64_t clamp = params.whole_or("clamp", "none", 0, 1 << 30).value_or(PositionScheme::kUnlimited);
  const int64_t width = shape.n_heads * shape.head_dim;
  if (shape.d_model % 2 != 0)
    throw Error("xl's sinusoid comes in pairs of a sine and a cosine", "an even d_model",
                "d_model " + std::to_string(shape.d_model));
  auto loaded = tables.read({{"blk.N.attn_xl_r.weight", {width, shape.d_model}, random_of(0.1)},
                             {"blk.N.attn_xl_u.weight", {shape.n_heads, shape.head_dim}, random_of(0.5)},
                             {"blk.N.attn_xl_v.weight", {shape.n_heads, shape.head_dim}, random_of(0.5)}});
  std::vector<Layer> layers;
  for (size_t i = 0; i < loaded[0].size(); ++i) {
    Layer layer{.weight = std::move(loaded[0][i].values),
                .u = std::move(loaded[1][i].values),
                .turn = std::move(loaded[2][i].values),
                .meets = {}};
    for (size_t c = 0; c < layer.u.size(); ++c) layer.turn[c] -= layer.u[c];
    layers.push_back(std::move(layer));
  }
  const int64_t distances = clamp < shape.length ? clamp + 1 : shape.length;
  const int64_t most = kMostTableBytes / (shape.n_layers * width * static_cast<int64_t>(sizeof(float)));
  if (distances > most)
    throw Error("xl would keep a vector for each of " + std::to_string(distances) + " distances in every layer",
                "at most " + std::to_string(most) + " distances, 4 GiB", std::to_string(distances),
                "a smaller --ctx, or xl:clamp=" + std::to_string(std::max<int64_t>(most, 1) - 1));
  return std::make_unique<Xl>(std::move(layers), shape.d_model, distances, clamp);
}

}  // namespace ordinal
