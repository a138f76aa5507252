// kerple: each score loses a penalty that grows with the logarithm of the distance, or with a power of it, at two
// trained rates per head.
// Chi, Fan, Ramadge, Rudnicky, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation", 2022,
// section 4 (arXiv:2205.09921), and its authors' code.
//
//   kernel=log      score(i, j) -= r1[h] ln(1 + r2[h] n)      n = i - j; not scaled
//   kernel=power    score(i, j) -= r1[h] n^r2[h]              r2 at most 2
//   r1, r2: the rows of blk.N.attn_kerple.weight [2, H], or of attn_kerple.weight for all layers, all above 0
// In the authors' files bias_p is r1 and bias_a is r2 under log, the other way round under power, and their code raises
// both to 0.01 at least (and lowers the exponent to 2) before use.
// Spec     kerple[:kernel=log|power]
// Acts on  scores. Has no last position.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr int64_t kMostPenalties = int64_t{1} << 22;  // numbers kept in all: 16 MB

struct KerpleRates {
  std::vector<double> r1, r2;    // [n_heads]
  std::vector<float> penalties;  // [n_heads, kept]
};

class Kerple final : public PositionScheme {
 public:
  Kerple(std::vector<KerpleRates> layers, bool power, int64_t kept)
      : layers_(std::move(layers)), power_(power), kept_(kept) {
    for (KerpleRates& layer : layers_)
      for (size_t head = 0; head < layer.r1.size(); ++head)
        for (int64_t n = 0; n < kept_; ++n) layer.penalties.push_back(penalty(layer, head, n));
  }

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const KerpleRates& layer = layers_[static_cast<size_t>(site.layer)];
    const float* kept = layer.penalties.data() + site.head * kept_;
    for (size_t j = 0; j < scores.size(); ++j) {
      const int64_t n = distance_back(site, j);
      scores[j] -= n < kept_ ? kept[n] : penalty(layer, static_cast<size_t>(site.head), n);
    }
  }

 private:
  float penalty(const KerpleRates& layer, size_t head, int64_t n) const {
    const double r1 = layer.r1[head], r2 = layer.r2[head], distance = static_cast<double>(n);
    return static_cast<float>(r1 * (power_ ? std::pow(distance, r2) : std::log1p(r2 * distance)));
  }

  std::vector<KerpleRates> layers_;  // [n_layers]
  const bool power_;
  const int64_t kept_;  // distances below this are in the tables
};

}  // namespace

SchemePtr make_kerple(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const bool power = params.choice("kernel", {"log", "power"}) == "power";
  const auto heads = static_cast<size_t>(shape.n_heads);
  // Heads from far-sighted to near-sighted.
  const MadeUp made_up = [heads](int64_t row, int64_t head, double random) {
    const double part = static_cast<double>(head + 1) / static_cast<double>(heads);
    return (row == 0 ? 1.5 : 0.8) * part + 0.05 * std::abs(random);
  };
  std::vector<KerpleRates> layers;
  for (const SchemeTable& table : tables.read_layers({"blk.N.attn_kerple.weight", {2, shape.n_heads}, made_up})) {
    KerpleRates rates;
    rates.r1.assign(table.values.begin(), table.values.begin() + static_cast<ptrdiff_t>(heads));
    rates.r2.assign(table.values.begin() + static_cast<ptrdiff_t>(heads), table.values.end());
    for (const double rate : table.values)
      if (!(rate > 0) || !std::isfinite(rate))
        throw Error("kerple's rates are above 0", "numbers above 0 in " + table.name, number_text(rate),
                    "clamping them when converting, as the authors' code does: to 0.01 or more");
    if (power && *std::ranges::max_element(rates.r2) > 2)
      throw Error("kerple's exponents are at most 2", "0 to 2 in the second row of " + table.name,
                  number_text(*std::ranges::max_element(rates.r2)), "kerple:kernel=log, if that is what was trained");
    layers.push_back(std::move(rates));
  }
  const int64_t kept = std::min(shape.length, kMostPenalties / std::max<int64_t>(1, shape.n_heads * shape.n_layers));
  return std::make_unique<Kerple>(std::move(layers), power, kept);
}

}  // namespace ordinal
