// sandwich: each score gains what two sinusoids that far apart have in common, weaker from head to head.
// Chi, Fan, Rudnicky, Ramadge, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis",
// 2022, section 5 (arXiv:2212.10356).
//
//   score(i, j) += (S(n) - dim/2) / r[h]             n = i - j; not scaled; never above 0
//   S(n) = sum of cos(n base^(-2m/dim))              m = first .. first + dim/2 - 1; sinusoid n against sinusoid 0
//   r[h] = 8 (h + 1) / H                             so the first head is the most near-sighted
// dim is a number of the scheme's own, not the width of the model. S does not fall steadily where dim is small.
// Spec     sandwich[:dim=128,base=10000,first=0]   first=1 is the sum as some write it, from 1 to dim/2
// Acts on  scores. Needs no tensors; has no last position.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr int64_t kMostSums = int64_t{1} << 20;

class Sandwich final : public PositionScheme {
 public:
  Sandwich(std::vector<double> frequencies, int64_t n_heads, int64_t kept) : frequencies_(std::move(frequencies)) {
    for (int64_t n = 0; n < kept; ++n) sums_.push_back(sum(n));
    for (int64_t h = 0; h < n_heads; ++h)
      shares_.push_back(static_cast<float>(static_cast<double>(n_heads) / (8.0 * static_cast<double>(h + 1))));
  }

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const float share = shares_[static_cast<size_t>(site.head)];
    for (size_t j = 0; j < scores.size(); ++j) {
      const auto n = static_cast<size_t>(distance_back(site, j));
      scores[j] += share * (n < sums_.size() ? sums_[n] : sum(static_cast<int64_t>(n)));
    }
  }

 private:
  // S(n) - dim/2.
  float sum(int64_t n) const {
    double all = 0;
    for (const double frequency : frequencies_) all += std::cos(static_cast<double>(n) * frequency) - 1;
    return static_cast<float>(all);
  }

  const std::vector<double> frequencies_;  // [dim / 2]
  std::vector<float> sums_;                // by distance
  std::vector<float> shares_;              // [n_heads]: 1 / r
};

}  // namespace

SchemePtr make_sandwich(ParamReader& params, const AttentionShape& shape, TableReader&) {
  const int64_t dim = params.whole("dim", 128, 2, 1 << 16);
  const double base = params.positive("base", 10000);
  const int64_t first = params.whole("first", 0, 0, 1);
  if (dim % 2 != 0) params.refuse("dim", std::to_string(dim), "an even number: a sinusoid has sines and cosines");
  std::vector<double> frequencies;
  for (int64_t m = first; m < first + dim / 2; ++m)
    frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(m) / static_cast<double>(dim)));
  return std::make_unique<Sandwich>(std::move(frequencies), shape.n_heads, std::min(shape.length, kMostSums));
}

}  // namespace ordinal
