// intervals.cpp: see intervals.h.
#include "study/intervals.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordinal {
namespace {

constexpr int64_t kLeastInCluster = 64;    // tokens: fewer are too much like their neighbours
constexpr int64_t kRun = 64, kFewest = 4;  // of a single window: tokens of a run, and runs wanted

// From the squares of the clusters' sums of deviations. Clusters of unequal size are worth fewer equal ones (Kish
// 1965).
Estimate with_interval(double mean, double squares, std::span<const double> sizes) {
  double tokens = 0, size_squares = 0;
  for (const double size : sizes) tokens += size, size_squares += size * size;
  Estimate result{.mean = mean, .clusters = std::ssize(sizes)};
  if (result.clusters < 2) return result;
  const double worth = std::max(2.0, tokens * tokens / size_squares);
  result.std_error = std::sqrt(squares * worth / (worth - 1)) / tokens;
  const double half = student_quantile(worth - 1) * result.std_error;
  result.low = mean - half, result.high = mean + half;
  return result;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

void SampledTokens::add_text(std::span<const Window> windows) {
  int64_t longest = 1, in_cluster = 0, left = 0;
  for (const Window& window : windows) longest = std::max(longest, window.count), left += window.scored();
  const int64_t step = (longest + kStrata - 1) / kStrata;
  if (in_runs_) {  // no longer the only window
    std::ranges::fill(cluster_, 0);
    next_cluster_ = 1, in_runs_ = false;
  }
  for (const Window& window : windows) {
    for (int64_t target = window.scored_from; target <= window.first + window.count; ++target) {
      cluster_.push_back(next_cluster_);
      stratum_.push_back(static_cast<int32_t>((target - window.first - 1) / step));
      text_.push_back(static_cast<int32_t>(texts_));
    }
    in_cluster += window.scored(), left -= window.scored();
    // What is left at the end and too short for a cluster joins the last one.
    if (in_cluster >= kLeastInCluster && (left == 0 || left >= kLeastInCluster)) ++next_cluster_, in_cluster = 0;
  }
  if (in_cluster > 0) ++next_cluster_;
  ++texts_;
  windows_ += std::ssize(windows);
  if (next_cluster_ > 1) return;
  in_runs_ = true;
  const auto run = std::clamp<int64_t>(static_cast<int64_t>(size()) / kFewest, 1, kRun);
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(size()) / run);
  for (int64_t i = 0; i < static_cast<int64_t>(size()); ++i)
    cluster_[i] = static_cast<int32_t>(std::min(i / run, runs - 1));
  next_cluster_ = static_cast<int32_t>(runs);
}

Estimate estimate(std::span<const double> values, const SampledTokens& tokens) {
  if (values.empty()) return {.mean = std::numeric_limits<double>::quiet_NaN()};
  const size_t n = values.size();
  const std::span<const int32_t> cluster = tokens.clusters(), stratum = tokens.strata();
  std::vector<double> sums(SampledTokens::kStrata, 0.0), counts = sums;
  std::vector<int32_t> first(sums.size(), -1);  // cluster first seen in a stratum; -2: more than one
  for (size_t i = 0; i < n; ++i) {
    const auto s = static_cast<size_t>(stratum[i]);
    sums[s] += values[i];
    ++counts[s];
    first[s] = first[s] == -1 || first[s] == cluster[i] ? cluster[i] : -2;
  }
  const double mean = mean_of(values);
  const auto n_clusters = static_cast<size_t>(*std::ranges::max_element(cluster.first(n))) + 1;
  std::vector<double> off(n_clusters, 0.0), sizes(n_clusters, 0.0);
  // A stratum that one cluster alone has says nothing of what varies: it is left out, and the rest stands for it. When
  // all are so, as in a single window, the mean of all is the middle.
  double alone = 0;
  for (size_t s = 0; s < sums.size(); ++s) alone += first[s] == -2 ? 0 : counts[s];
  const bool in_strata = alone < 0.5 * static_cast<double>(n);
  double used = 0;
  for (size_t i = 0; i < n; ++i) {
    ++sizes[cluster[i]];
    const auto s = static_cast<size_t>(stratum[i]);
    if (in_strata && first[s] != -2) continue;
    off[cluster[i]] += values[i] - (in_strata ? sums[s] / counts[s] : mean);
    ++used;
  }
  double squares = 0;
  for (const double sum : off) squares += sum * sum;
  return with_interval(mean, squares * static_cast<double>(n) / used, sizes);
}

Estimate estimate_over_windows(std::span<const double> values, const SampledTokens& tokens) {
  return tokens.is_one_window() && !values.empty() ? Estimate{.mean = mean_of(values), .clusters = 1}
                                                   : estimate(values, tokens);
}

Estimate estimate_of_clusters(std::span<const double> sums, std::span<const double> counts) {
  double sum = 0, count = 0, squares = 0;
  for (size_t i = 0; i < sums.size(); ++i) sum += sums[i], count += counts[i];
  if (count == 0) return {.mean = std::numeric_limits<double>::quiet_NaN()};
  const double mean = sum / count;
  for (size_t i = 0; i < sums.size(); ++i) squares += (sums[i] - mean * counts[i]) * (sums[i] - mean * counts[i]);
  return with_interval(mean, squares, counts);
}

std::vector<Estimate> estimate_by_stratum(std::span<const double> values, const SampledTokens& tokens) {
  const std::span<const int32_t> cluster = tokens.clusters(), stratum = tokens.strata();
  // In the order of scoring the clusters of a stratum come one after the other.
  std::vector<std::vector<double>> sums(SampledTokens::kStrata), counts = sums;
  std::vector<int32_t> last(SampledTokens::kStrata, -1);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto s = static_cast<size_t>(stratum[i]);
    if (last[s] != cluster[i]) sums[s].push_back(0), counts[s].push_back(0);
    last[s] = cluster[i];
    sums[s].back() += values[i];
    ++counts[s].back();
  }
  std::vector<Estimate> result;
  for (size_t s = 0; s < sums.size() && !sums[s].empty(); ++s)
    result.push_back(estimate_of_clusters(sums[s], counts[s]));
  return result;
}

Estimate estimate_over_texts(std::span<const double> values, const SampledTokens& tokens) {
  std::vector<double> sums(static_cast<size_t>(tokens.texts()), 0.0), counts = sums;
  for (size_t i = 0; i < values.size(); ++i) {
    sums[tokens.text_of()[i]] += values[i];
    ++counts[tokens.text_of()[i]];
  }
  for (size_t t = 0; t < sums.size(); ++t) sums[t] /= counts[t], counts[t] = 1;
  return estimate_of_clusters(sums, counts);
}

double student_quantile(double degrees) {
  // Cornish and Fisher's expansion is good to five digits from ten degrees on; below, a table, and between its entries
  // a line over 1 / degrees.
  static constexpr std::array<double, 11> kFew = {0,       12.7062, 4.30265, 3.18245, 2.77645, 2.57058,
                                                  2.44691, 2.36462, 2.30600, 2.26216, 2.22814};
  if (!(degrees >= 1)) return std::numeric_limits<double>::infinity();
  if (degrees < 10) {
    const double below = std::floor(degrees), part = (1 / below - 1 / degrees) * below * (below + 1);
    const auto at = static_cast<size_t>(below);
    return kFew[at] + part * (kFew[at + 1] - kFew[at]);
  }
  constexpr double z = 1.959963985, z2 = z * z;
  const double n = 1 / degrees;
  constexpr double a = (z2 + 1) / 4, b = ((5 * z2 + 16) * z2 + 3) / 96, c = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
                   d = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z * (1 + n * (a + n * (b + n * (c + n * d))));
}

Share wilson_interval(int64_t right, int64_t n) {
  if (n == 0) return {};
  constexpr double z2 = 1.959963985 * 1.959963985;
  const auto count = static_cast<double>(n);
  const double share = static_cast<double>(right) / count, middle = share + z2 / (2 * count), scale = 1 + z2 / count;
  const double half = std::sqrt(z2 * (share * (1 - share) / count + z2 / (4 * count * count)));
  return {right == 0 ? 0 : (middle - half) / scale, right == n ? 1 : (middle + half) / scale};
}

}  // namespace ordinal
