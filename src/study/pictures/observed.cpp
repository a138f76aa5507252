// observed.cpp: see observed.h.
#include "study/pictures/observed.h"

#include <algorithm>
#include <cmath>

#include "ordinal/error.h"
#include "ordinal/sampler.h"

namespace ordinal {

std::vector<Grid> attention_maps(const std::shared_ptr<const Model>& model, SessionOptions options,
                                 std::span<const TokenId> ids, int64_t layer) {
  const ModelConfig& config = model->config();
  if (layer < 0 || layer >= config.n_layers)
    throw Error("the model has no layer " + std::to_string(layer), "layers 0 to " + std::to_string(config.n_layers - 1),
                std::to_string(layer));
  const auto tokens = static_cast<int64_t>(ids.size());
  constexpr int64_t kMostWeights = int64_t{1} << 27;  // a GiB of them
  if (tokens * tokens > kMostWeights / config.n_heads)
    throw Error(
        "the attention of " + std::to_string(tokens) + " tokens is too much to keep",
        "at most " + std::to_string(kMostWeights) + " weights over " + std::to_string(config.n_heads) + " heads",
        std::to_string(tokens) + " x " + std::to_string(tokens) + " a head", "a smaller --positions");
  std::vector<Grid> maps(config.n_heads, Grid(tokens, tokens));
  // Several threads at once, but each row of a head comes once. A row sees as many keys as its place says.
  options.observer = [&](const Observed& seen) {
    if (seen.name != "weights" || seen.layer != layer) return;
    const std::span<const float> row = seen.rows[0];
    std::ranges::copy(row, maps[seen.head][seen.rows.cols - 1].begin());
  };
  Session session(model, options);
  session.evaluate(ids);
  return maps;
}

std::vector<ScoresByDistance> scores_by_distance(const std::shared_ptr<const Model>& model, SessionOptions options,
                                                 std::span<const TokenId> ids, int64_t layer) {
  constexpr size_t kFewest = 4;
  struct Sums {
    std::vector<double> count, score, squares, weight;
  };
  const size_t tokens = ids.size();
  const std::vector<double> zeros(tokens, 0.0);
  std::vector<Sums> sums(model->config().n_heads, Sums{zeros, zeros, zeros, zeros});
  // Of one head one row comes after the other only on one thread.
  options.n_threads = 1;
  options.observer = [&](const Observed& seen) {
    const bool scores = seen.name == "scores";
    if (seen.layer != layer || (!scores && seen.name != "weights")) return;
    const std::span<const float> row = seen.rows[0];
    Sums& head = sums[seen.head];
    for (size_t j = 0; j < row.size(); ++j) {
      const size_t distance = row.size() - 1 - j;
      const auto value = static_cast<double>(row[j]);
      if (!scores) {
        head.weight[distance] += value;
      } else if (std::isfinite(value)) {  // a key that the scheme hides has none
        head.count[distance] += 1;
        head.score[distance] += value;
        head.squares[distance] += value * value;
      }
    }
  };
  Session session(model, options);
  session.evaluate(ids);
  std::vector<ScoresByDistance> found(sums.size());
  for (size_t h = 0; h < sums.size(); ++h)
    for (size_t d = 0; d + kFewest <= tokens; ++d) {
      const double count = sums[h].count[d], mean = sums[h].score[d] / count;
      found[h].score.push_back(mean);  // not finite where no query sees a key
      found[h].deviation.push_back(std::sqrt(std::max(0.0, sums[h].squares[d] / count - mean * mean)));
      found[h].weight.push_back(sums[h].weight[d] / static_cast<double>(tokens - d));
    }
  return found;
}

DistanceShares shares_by_distance(const Grid& attention) {
  DistanceShares result;
  for (int64_t first = 0; first < attention.rows; first = first == 0 ? 1 : 2 * first) result.first.push_back(first);
  result.shares.resize(result.first.size());
  double total = 0;
  for (int64_t i = 0; i < attention.rows; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      const double weight = attention[i][j];
      const auto stretch = std::ranges::upper_bound(result.first, i - j) - result.first.begin() - 1;
      result.shares[stretch] += weight;
      result.mean_distance += weight * static_cast<double>(i - j);
      total += weight;
    }
  if (total > 0) {
    for (double& share : result.shares) share /= total;
    result.mean_distance /= total;
  }
  return result;
}

LossCurve loss_by_position(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                           std::span<const TokenId> ids, int64_t window, int64_t stretches,
                           const OnProgress& progress) {
  const int64_t windows = window < 2 ? 0 : static_cast<int64_t>(ids.size()) / window;
  if (windows < 1)
    throw Error("the text is too short for a curve of loss by position",
                "a window of 2 tokens or more, and a text of one window or more",
                std::to_string(ids.size()) + " tokens, a window of " + std::to_string(window),
                "a longer text (-f FILE), or a smaller --positions");
  stretches = std::clamp<int64_t>(stretches, 1, window - 1);
  std::vector<double> count(stretches), sum(count.size()), squares(count.size());
  Session session(model, options);
  for (int64_t w = 0; w < windows; ++w) {
    session.rewind(0);
    const auto text = ids.subspan(w * window, window);
    session.evaluate_all(text.first(text.size() - 1), [&](int64_t row, std::span<const float> logits) {
      const double loss = -log_probability(logits, text[row + 1]);
      const auto stretch = static_cast<size_t>(row * stretches / (window - 1));
      count[stretch] += 1;
      sum[stretch] += loss;
      squares[stretch] += loss * loss;
    });
    if (progress) progress(w + 1, windows);
  }

  LossCurve curve;
  curve.windows = windows;
  for (size_t s = 0; s < count.size(); ++s) {
    // Rows with row * stretches / (window - 1) == s.
    const auto first_row = [&](size_t stretch) {
      return (static_cast<int64_t>(stretch) * (window - 1) + stretches - 1) / stretches;
    };
    const double mean = sum[s] / count[s];
    const double variance = std::max(0.0, squares[s] / count[s] - mean * mean);
    const double error = count[s] > 1 ? std::sqrt(variance / (count[s] - 1)) : 0;
    curve.position.push_back(static_cast<double>(first_row(s) + first_row(s + 1) - 1) / 2);
    curve.mean.push_back(mean);
    curve.low.push_back(mean - error);
    curve.high.push_back(mean + error);
  }
  return curve;
}

}  // namespace ordinal
