// intervals.h: means of what was measured token by token, with 95 % intervals that cover what they should.
//
// Tokens of one window are not independent: neighbours are alike, a window that reads badly does so as a whole, and
// past the trained length the loss climbs along every window. So the windows are the sample, not the tokens: what
// varies between them is noise, what all of them do at the same place is not. src/study/README.md has the coverage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "results/estimate.h"
#include "study/scoring.h"

namespace ordinal {

// The scored tokens of a run, in the order of scoring: which cluster each belongs to, and where in its window it
// stands, as one of kStrata equal parts.
class SampledTokens {
 public:
  static constexpr int64_t kStrata = 32;

  // The windows of one text. Whole windows are joined until a cluster has enough tokens; a cluster never has tokens of
  // two texts. When that gives one cluster in all, runs of tokens
  // are the clusters.
  void add_text(std::span<const Window> windows);

  size_t size() const { return cluster_.size(); }
  // Of a single window nothing was seen of what varies between windows.
  bool is_one_window() const { return windows_ == 1; }
  int64_t texts() const { return texts_; }
  std::span<const int32_t> clusters() const { return cluster_; }
  std::span<const int32_t> strata() const { return stratum_; }
  std::span<const int32_t> text_of() const { return text_; }

 private:
  std::vector<int32_t> cluster_, stratum_, text_;
  int32_t next_cluster_ = 0;
  int64_t texts_ = 0, windows_ = 0;
  bool in_runs_ = false;  // there is one cluster otherwise
};

// The mean of `values`, one for each sampled token. Squares are of the clusters' sums of what each value is off the
// mean of its stratum; Student's t has one degree of freedom less than there are clusters, counted by their sizes.
Estimate estimate(std::span<const double> values, const SampledTokens& tokens);
// The same, but of a single window the mean alone: for what is said about other windows.
Estimate estimate_over_windows(std::span<const double> values, const SampledTokens& tokens);
// As estimate() where the clusters are all there is, each with the sum of its values and how many these are.
Estimate estimate_of_clusters(std::span<const double> sums, std::span<const double> counts);

// The mean of each stratum, over clusters.
std::vector<Estimate> estimate_by_stratum(std::span<const double> values, const SampledTokens& tokens);
// The mean of the texts' means, each text counting the same: what another text of the kind would give. NaN around the
// mean for fewer than two.
Estimate estimate_over_texts(std::span<const double> values, const SampledTokens& tokens);

// 97.5 % of Student's t are below it; 1.96 for many degrees of freedom.
double student_quantile(double degrees);

// Wilson's 95 % interval for a share of which `right` of `n` were seen (Wilson 1927); 0 to 1 for n = 0.
struct Share {
  double low = 0, high = 1;
};
Share wilson_interval(int64_t right, int64_t n);

}  // namespace ordinal
