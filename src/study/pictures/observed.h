// observed.h: what a model does with a text, by position and distance.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ordinal/session.h"
#include "study/pictures/curves.h"
#include "study/scoring.h"

namespace ordinal {

// Attention weights of a layer on a text: per head [tokens, tokens], row = query, 0 for keys it cannot see.
// `options.observer` is replaced.
std::vector<Grid> attention_maps(const std::shared_ptr<const Model>& model, SessionOptions options,
                                 std::span<const TokenId> ids, int64_t layer);

// How far attention reaches: the share of weight at distances 0, 1, 2-3, 4-7, 8-15 ..., over all queries.
struct DistanceShares {
  std::vector<int64_t> first;  // distance of each stretch; the next one's first is its end
  std::vector<double> shares;
  double mean_distance = 0;
};
DistanceShares shares_by_distance(const Grid& attention);

// What a head's scores and weights are at each distance, over the queries that see so far: before softmax the mean and
// the deviation, after it the mean. As far as four queries see.
struct ScoresByDistance {
  std::vector<double> score, deviation, weight;
};
std::vector<ScoresByDistance> scores_by_distance(const std::shared_ptr<const Model>& model, SessionOptions options,
                                                 std::span<const TokenId> ids, int64_t layer);

// -log p of the next token by the position it is read from, over windows of the text.
struct LossCurve {
  std::vector<double> position, mean, low, high;  // middle of each stretch; the mean and one standard error around it
  int64_t windows = 0;
};
// Positions 0 .. window - 2 in `stretches` stretches. Whole windows only, at least one; `progress` hears how many
// are done.
LossCurve loss_by_position(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                           std::span<const TokenId> ids, int64_t window, int64_t stretches, const OnProgress& progress);

}  // namespace ordinal
