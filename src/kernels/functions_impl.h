// functions_impl.h: norms, softmax and activations over the vector vocabulary of the including file.
// Included once per instruction set, inside an anonymous namespace, after the vocabulary `V` (see kernels_impl.h).
// Coefficients come from tools/fit_polynomials.py; errors against double precision are tested in
// tests/kernels/functions_test.cpp.

constexpr int kLanes = 32;
constexpr int kVectors = kLanes / V::kWidth;  // vectors that make up 32 lanes

// Calls body(pointer) on blocks of 32 floats; the last, partial block goes through a buffer filled with `fill`.
template <class Body>
inline void for_each_block(float* x, int64_t n, float fill, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(x + i);
  if (i == n) return;
  float buffer[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) buffer[j] = i + j < n ? x[i + j] : fill;
  body(buffer);
  for (int64_t j = i; j < n; ++j) x[j] = buffer[j - i];
}

template <class Function>
inline void map(float* x, int64_t n, Function function) {
  for_each_block(x, n, 0.0f, [&](float* block) {
    for (int v = 0; v < kVectors; ++v) V::store(block + v * V::kWidth, function(V::load(block + v * V::kWidth)));
  });
}

// The fixed tree: lane i meets lane i + 16, then i + 8, ..., then 1.
inline float tree_sum(const F* sums) {
  float lanes[kLanes];
  for (int v = 0; v < kVectors; ++v) V::store(lanes + v * V::kWidth, sums[v]);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

// Sums f(x[i]) in 32 lanes and the tree; `fill` is a value whose f is 0, for lanes past the end. `step` takes the sum
// so far and a vector of x.
template <class Step>
inline float sum(const float* x, int64_t n, float fill, Step step) {
  F sums[kVectors];
  for (F& s : sums) s = V::set(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) sums[v] = step(sums[v], V::load(x + i + v * V::kWidth));
  if (i < n) {
    float buffer[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) buffer[j] = i + j < n ? x[i + j] : fill;
    for (int v = 0; v < kVectors; ++v) sums[v] = step(sums[v], V::load(buffer + v * V::kWidth));
  }
  return tree_sum(sums);
}

// e^x to about 1 ulp: x = n ln 2 + r, |r| <= ln 2 / 2, times a polynomial in r. Below -87.33 (where the result would
// be subnormal) 0; above 88.7 the value at 88.7; NaN stays NaN.
inline F exponential(F x) {
  const F low = V::set(-87.33f);
  F y = V::smaller(V::set(88.7f), V::larger(low, x));  // NaN passes: the second operand wins
  const F magic = V::set(12582912.0f);                 // 1.5 * 2^23: adding it rounds to a whole number
  const F shifted = V::fma(y, V::set(1.44269504f), magic);
  const F n = V::sub(shifted, magic);
  F r = V::fma(n, V::set(-0.693145752f), y);  // ln 2 in two parts; the first has few bits, so n * part is exact
  r = V::fma(n, V::set(-1.42860677e-6f), r);
  F p = V::set(0.0013814467f);
  p = V::fma(p, r, V::set(0.008368781f));
  p = V::fma(p, r, V::set(0.041668393f));
  p = V::fma(p, r, V::set(0.1666652f));
  p = V::fma(p, r, V::set(0.49999994f));
  p = V::fma(p, r, V::set(1.0f));
  p = V::fma(p, r, V::set(1.0f));
  return V::zero_where_less(x, low, V::add_to_exponent(p, shifted));
}

// x / (1 + e^-z): x times the logistic function of z.
inline F logistic_times(F x, F z) {
  const F one = V::set(1.0f);
  return V::div(x, V::add(one, exponential(V::sub(V::set(0.0f), z))));
}

inline F silu_of(F x) { return logistic_times(x, x); }

// 0.5 x (1 + tanh(u)) = x * logistic(2u), u = sqrt(2/pi) (x + 0.044715 x^3); this form keeps its relative precision
// where tanh is near -1.
inline F gelu_tanh_of(F x) {
  const F cubic = V::fma(V::mul(V::mul(x, x), x), V::set(0.044715f), x);
  return logistic_times(x, V::mul(cubic, V::set(1.59576912f)));
}

// x Phi(x). With z = |x|, the tail Phi(-z) = e^(-z^2/2) G(z), and x Phi(x) = max(x, 0) - z Phi(-z).
inline F gelu_erf_of(F x) {
  const F zero = V::set(0.0f), one = V::set(1.0f);
  const F z = V::larger(x, V::sub(zero, x));
  const F t = V::div(one, V::fma(z, V::set(0.333333333f), one));
  F g = V::set(-0.027479745f);
  g = V::fma(g, t, V::set(0.15323792f));
  g = V::fma(g, t, V::set(-0.32218f));
  g = V::fma(g, t, V::set(0.2805413f));
  g = V::fma(g, t, V::set(-0.099387236f));
  g = V::fma(g, t, V::set(0.14187436f));
  g = V::fma(g, t, V::set(0.10574196f));
  g = V::fma(g, t, V::set(0.13481991f));
  g = V::fma(g, t, V::set(0.13282584f));
  g = V::fma(g, t, V::set(5.6670942e-06f));
  const F tail = V::mul(g, exponential(V::mul(V::mul(z, z), V::set(-0.5f))));
  // z is finite wherever the tail is not 0, so z * tail is never infinity * 0 for finite x.
  return V::sub(V::larger(zero, x), V::mul(z, tail));
}

void gelu_tanh(float* x, int64_t n) { map(x, n, gelu_tanh_of); }
void gelu_erf(float* x, int64_t n) { map(x, n, gelu_erf_of); }
void silu(float* x, int64_t n) { map(x, n, silu_of); }
void relu(float* x, int64_t n) {
  map(x, n, [](F v) { return V::larger(V::set(0.0f), v); });
}
void relu_squared(float* x, int64_t n) {
  map(x, n, [](F v) {
    const F positive = V::larger(V::set(0.0f), v);
    return V::mul(positive, positive);
  });
}
void exponential_of(float* x, int64_t n) { map(x, n, exponential); }
void scale(float* x, float factor, int64_t n) {
  map(x, n, [factor](F v) { return V::mul(v, V::set(factor)); });
}

// c tanh(x / c) = 2c logistic(2x / c) - c: exact to some 1e-7 of c, which is what a score or a logit needs.
void soft_cap(float* x, float cap, int64_t n) {
  const F steepness = V::set(2.0f / cap), height = V::set(2.0f * cap), below = V::set(-cap);
  map(x, n, [=](F v) { return V::add(logistic_times(height, V::mul(v, steepness)), below); });
}
void clip(float* x, float bound, int64_t n) {
  map(x, n, [bound](F v) { return V::smaller(V::set(bound), V::larger(V::set(-bound), v)); });
}

template <class Function>
inline void map_pair(float* y, const float* x, int64_t n, Function function) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) {
      float* at = y + i + v * V::kWidth;
      V::store(at, function(V::load(at), V::load(x + i + v * V::kWidth)));
    }
  if (i == n) return;
  float left[kLanes] = {}, right[kLanes] = {};
  for (int64_t j = i; j < n; ++j) {
    left[j - i] = y[j];
    right[j - i] = x[j];
  }
  for (int v = 0; v < kVectors; ++v) {
    float* at = left + v * V::kWidth;
    V::store(at, function(V::load(at), V::load(right + v * V::kWidth)));
  }
  for (int64_t j = i; j < n; ++j) y[j] = left[j - i];
}

void add(float* y, const float* x, int64_t n) {
  map_pair(y, x, n, [](F a, F b) { return V::add(a, b); });
}
void multiply(float* y, const float* x, int64_t n) {
  map_pair(y, x, n, [](F a, F b) { return V::mul(a, b); });
}

void softmax(float* x, int64_t n) {
  // Of numbers the largest is the same in any order; where there is a NaN, everything becomes one.
  F tops[kVectors];
  for (F& top : tops) top = V::set(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) tops[v] = V::larger(V::load(x + i + v * V::kWidth), tops[v]);
  for (int v = 1; v < kVectors; ++v) tops[0] = V::larger(tops[v], tops[0]);
  float largest = V::largest_lane(tops[0]);
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  const F top = V::set(largest);
  F sums[kVectors];
  for (F& s : sums) s = V::set(0.0f);
  // The fill lies so far below that its exponential is exactly 0.
  for_each_block(x, n, -3.0e38f, [&](float* block) {
    for (int v = 0; v < kVectors; ++v) {
      const F e = exponential(V::sub(V::load(block + v * V::kWidth), top));
      sums[v] = V::add(sums[v], e);
      V::store(block + v * V::kWidth, e);
    }
  });
  scale(x, 1.0f / tree_sum(sums), n);
}

// y = (x - center) * factor * weight + bias
inline void normalize(const float* x, float center, float factor, const float* weight, const float* bias, float* y,
                      int64_t n) {
  const F c = V::set(center), f = V::set(factor);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i + v * V::kWidth;
      const F t = V::mul(V::sub(V::load(x + at), c), f);
      V::store(y + at, bias ? V::fma(t, V::load(weight + at), V::load(bias + at)) : V::mul(t, V::load(weight + at)));
    }
  for (; i < n; ++i) {
    const float t = (x[i] - center) * factor;
    y[i] = bias ? __builtin_fmaf(t, weight[i], bias[i]) : t * weight[i];
  }
}

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, float* y, int64_t n) {
  const float count = static_cast<float>(n);
  const float mean = sum(x, n, 0.0f, [](F s, F v) { return V::add(s, v); }) / count;
  const F center = V::set(mean);
  const float variance = sum(x, n, mean,
                             [center](F s, F v) {
                               const F d = V::sub(v, center);
                               return V::fma(d, d, s);
                             }) /
                         count;
  normalize(x, mean, 1.0f / __builtin_sqrtf(variance + epsilon), weight, bias, y, n);
}

void rms_norm(const float* x, const float* weight, const float* bias, float epsilon, float* y, int64_t n) {
  const float mean_square = sum(x, n, 0.0f, [](F s, F v) { return V::fma(v, v, s); }) / static_cast<float>(n);
  normalize(x, 0.0f, 1.0f / __builtin_sqrtf(mean_square + epsilon), weight, bias, y, n);
}
