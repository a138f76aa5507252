// on_text.cpp: pictures of what a model does with a text: attention, scores, loss.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "study/pictures/observed.h"
#include "study/pictures/pictures.h"

namespace ordinal {
namespace {

constexpr int64_t kMostLabels = 48;                   // tokens that are named along an axis
constexpr double kLabelled = 11.5, kLabelRoom = 130;  // the size of such a cell; what stands around the cells

// The schemes that are drawn: one, or two beside each other.
std::vector<std::string> schemes_of(const PictureInput& input) {
  std::vector<std::string> schemes = {input.spec};
  if (!input.against.empty()) schemes.push_back(input.against);
  return schemes;
}

SessionOptions session_of(const PictureInput& input, const std::string& scheme) {
  SessionOptions session = input.session;
  session.position = scheme;
  return session;
}

std::string names_of_schemes(const PictureInput& input) {
  return input.spec + (input.against.empty() ? "" : " and " + input.against);
}

}  // namespace

Figure draw_attention(const PictureInput& input) {
  const std::vector<int64_t> heads = heads_of(input);
  const bool one = heads.size() == 1;
  const std::span<const TokenId> ids = tokens_shown(input, one ? kMostLabels : kMostLabels / 2);
  const auto tokens = static_cast<int64_t>(ids.size());
  const std::vector<Grid> maps = attention_maps(input.model, input.session, ids, input.layer);
  Figure figure{.title = "Attention in layer " + std::to_string(input.layer) + " under " + input.spec,
                .description = "Heat maps of attention weights on a text, query by key, a panel per head."};
  // Early queries have few keys to choose from; they would leave the others pale.
  double full = 0.1;
  for (const int64_t head : heads)
    for (int64_t i = std::min<int64_t>(4, tokens - 1); i < tokens; ++i)
      full = std::max(full, std::ranges::max(maps[head][i]));
  std::vector<std::string> labels(input.pieces.begin(),
                                  input.pieces.begin() + std::min(std::ssize(input.pieces), tokens));
  const bool labelled = std::ssize(labels) == tokens && tokens <= kMostLabels;
  for (const int64_t head : heads) {
    HeatMap panel = map_of(maps[head], head, "weight");
    panel.title = head_name(head);
    panel.most = full;
    if (labelled) panel.x = {.title = "key", .labels = labels}, panel.y = {.title = "query", .labels = labels};
    figure.panels.emplace_back(std::move(panel));
  }
  if (labelled) {
    const double cells = kLabelled * static_cast<double>(tokens);
    figure.columns = one ? 1 : 2;
    figure.panel_height = cells + kLabelRoom;
    figure.width = (one ? 1 : 2) * (cells + kLabelRoom + 90) + 32;
  } else {
    arrange_heads(figure, 440, heads.size() > 4 ? 240 : 300);
    if (heads.size() > 4) figure.width = 860;  // colour bars
  }
  figure.notes = {std::to_string(tokens) + " tokens. Full colour is a weight of " + fixed(full, 2) +
                  " or more; each row sums to 1."};
  if (ids.size() < input.ids.size())
    figure.notes.push_back("The first " + std::to_string(tokens) + " of " + std::to_string(input.ids.size()) +
                           " tokens.");
  return figure;
}

Figure draw_distances(const PictureInput& input) {
  const std::span<const TokenId> ids = tokens_shown(input, distances_shown(input, 1024));
  const std::vector<int64_t> heads = heads_of(input);
  const std::vector<Grid> maps = attention_maps(input.model, input.session, ids, input.layer);
  Figure figure{.title = "How far attention reaches in layer " + std::to_string(input.layer) + " under " + input.spec,
                .description =
                    "Bar charts, a panel per head: the share of attention weight by distance, in stretches "
                    "that double."};
  for (const int64_t head : heads) {
    const DistanceShares found = shares_by_distance(maps[head]);
    std::vector<std::string> labels;
    for (const int64_t first : found.first) labels.push_back(std::to_string(first) + (first > 1 ? "+" : ""));
    Chart chart = bar_chart(head_name(head) + ": mean " + fixed(found.mean_distance, 1), "distance (tokens)",
                            "share of weight", std::move(labels), found.shares);
    chart.series.front().scheme = input.spec;
    chart.y.from = 0;
    chart.y.to = 1;
    chart.key = "head-" + std::to_string(head);
    figure.panels.emplace_back(std::move(chart));
  }
  arrange_heads(figure, 320, 210);
  figure.notes = {std::to_string(ids.size()) + " tokens; over all queries. \"8+\" is distances 8 to 15."};
  return figure;
}

Figure draw_scores(const PictureInput& input) {
  const std::span<const TokenId> ids = tokens_shown(input, distances_shown(input, 1024));
  const std::vector<int64_t> heads = heads_of(input);
  const bool one = heads.size() == 1;
  std::vector<Chart> scores, weights;
  for (const int64_t head : heads) {
    scores.push_back({.title = one ? "before softmax" : head_name(head),
                      .x = {.title = "distance (tokens)", .from = 0},
                      .y = {.title = "score"},
                      .key = "head-" + std::to_string(head)});
    weights.push_back({.title = "after softmax",
                       .x = {.title = "distance (tokens)", .from = 0},
                       .y = {.title = "weight", .logarithmic = true},
                       .key = "weights-" + std::to_string(head)});
  }
  for (const std::string& scheme : schemes_of(input)) {
    const std::vector<ScoresByDistance> found =
        scores_by_distance(input.model, session_of(input, scheme), ids, input.layer);
    for (size_t h = 0; h < heads.size(); ++h) {
      const ScoresByDistance& head = found[heads[h]];
      Series line{.name = scheme, .x = count_from(0, std::ssize(head.score)), .y = head.score, .scheme = scheme};
      Series weight{.name = scheme, .x = line.x, .y = head.weight, .scheme = scheme};
      for (size_t d = 0; d < line.y.size(); ++d) {
        line.low.push_back(line.y[d] - head.deviation[d]);
        line.high.push_back(line.y[d] + head.deviation[d]);
      }
      scores[h].series.push_back(std::move(line));
      weights[h].series.push_back(std::move(weight));
    }
  }
  Figure figure{.title = "Scores by distance in layer " + std::to_string(input.layer) +
                         (one ? ", " + head_name(heads.front()) : "") + ", under " + names_of_schemes(input),
                .description =
                    "Line charts of the mean score of a query and a key before softmax, by the distance "
                    "between them, with a band of one deviation."};
  for (Chart& chart : scores) figure.panels.emplace_back(std::move(chart));
  if (one) figure.panels.emplace_back(std::move(weights.front()));
  arrange_heads(figure, 320, one ? 300 : 240);
  if (one) figure.columns = 1;
  figure.notes = {std::to_string(ids.size()) +
                  " tokens; means over the queries that see so far, four at least. The band "
                  "is one deviation of the scores, which is what their content makes."};
  return figure;
}

Figure draw_loss(const PictureInput& input) {
  const int64_t window = input.session.capacity;
  std::vector<Series> lines;
  int64_t windows = 0;
  for (const std::string& scheme : schemes_of(input)) {
    const LossCurve curve =
        loss_by_position(input.model, session_of(input, scheme), input.ids, window, 64, input.progress);
    windows = curve.windows;
    lines.push_back({.name = input.against.empty() ? "" : scheme,
                     .x = curve.position,
                     .y = curve.mean,
                     .low = curve.low,
                     .high = curve.high,
                     .scheme = scheme});
  }
  const auto length = static_cast<double>(input.shape.trained_length);
  Chart chart{.x = {.title = "position (tokens)"},
              .y = {.title = "loss (nats per token)"},
              .series = std::move(lines),
              .markers = {{.at = length, .label = "trained length " + fixed(length, 0)}},
              .key = "loss"};
  return {.title = "Loss by position under " + names_of_schemes(input),
          .description =
              "Line chart of the mean loss of the next token by the position it is read from, with a band of "
              "one standard error.",
          .panels = {std::move(chart)},
          .notes = {std::to_string(windows) + (windows == 1 ? " window of " : " windows of ") + std::to_string(window) +
                    " tokens; means of stretches, with one standard error."}};
}

}  // namespace ordinal
