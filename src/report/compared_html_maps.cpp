// compared_html_maps.cpp: the heat maps on the page of a comparison: agreement of schemes, and attention.
#include <algorithm>
#include <cmath>

#include "draw/scale.h"
#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

// A matrix between schemes. Colours stay pale, so that the numbers in the cells can be read.
HeatMap matrix_map(const Compared& result, const std::vector<std::vector<double>>& values, std::string title,
                   double times, int digits) {
  HeatMap map{.title = std::move(title), .x = {.title = "q"}, .y = {.title = "p"}, .with_text = true};
  map.rows = map.cols = static_cast<int64_t>(result.matrix.size());
  for (const std::string& position : result.matrix) {
    map.x.labels.push_back(short_name(position));
    map.y.labels.push_back(short_name(position));
  }
  double most = 0;
  for (size_t p = 0; p < result.matrix.size(); ++p)
    for (size_t q = 0; q < result.matrix.size(); ++q) {
      const double value = p < values.size() && q < values[p].size() ? rounded(values[p][q] * times, digits) : kNan;
      map.values.push_back(value);
      if (std::isfinite(value)) most = std::max(most, value);
    }
  map.most = most == 0 ? 1 : 2 * most;
  return map;
}

constexpr double kLongest = 70;  // pixels of a label

std::string short_label(std::string label) {
  while (draw::text_width(label + "…", 11) > kLongest) {
    while (!label.empty() && (static_cast<unsigned char>(label.back()) & 0xc0) == 0x80) label.pop_back();
    if (!label.empty()) label.pop_back();
  }
  return label + "…";
}

// Token texts as labels: a blank at the beginning, which most have, as a dot in the middle.
std::vector<std::string> token_labels(const Compared& result, size_t tokens) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < tokens; ++i) {
    std::string label = i < result.attention_pieces.size() ? escaped(result.attention_pieces[i]) : std::to_string(i);
    if (label.starts_with(' ')) label.replace(0, 1, "·");
    if (draw::text_width(label, 11) > kLongest) label = short_label(label);
    labels.push_back(std::move(label));
  }
  return labels;
}

using Weights = std::vector<std::vector<double>>;  // [query][key]

// What the scheme's attention has more than the base's, mean over the layers from `first` to before `last`.
Weights difference_of(const ComparedScheme& scheme, const ComparedScheme* base, size_t first, size_t last) {
  Weights sums;
  for (size_t layer = first; layer < last; ++layer)
    for (size_t q = 0; q < scheme.attention[layer].size(); ++q) {
      if (sums.size() <= q) sums.emplace_back(scheme.attention[layer].size(), 0.0);
      for (size_t k = 0; k < std::min(scheme.attention[layer][q].size(), sums[q].size()); ++k) {
        const bool both = base != nullptr && layer < base->attention.size() && q < base->attention[layer].size() &&
                          k < base->attention[layer][q].size();
        const double weight = static_cast<double>(scheme.attention[layer][q][k]);
        sums[q][k] += (weight - (both ? static_cast<double>(base->attention[layer][q][k]) : 0)) /
                      static_cast<double>(last - first);
      }
    }
  return sums;
}

double size_of(const Weights& weights) {
  double sum = 0;
  for (const std::vector<double>& row : weights)
    for (const double value : row) sum += std::isfinite(value) ? std::abs(value) : 0;
  return sum;
}

HeatMap attention_map(const Compared& result, const Weights& weights, std::string title, std::string value_title) {
  const std::vector<std::string> labels = token_labels(result, weights.size());
  HeatMap map{.title = std::move(title), .x = {.labels = labels}, .y = {.labels = labels}};
  map.rows = map.cols = static_cast<int64_t>(weights.size());
  double most = 0;
  constexpr size_t kEarly = 4;  // these rows have few keys to choose from and would leave the others pale
  for (size_t q = 0; q < weights.size(); ++q)
    for (size_t k = 0; k < weights.size(); ++k) {
      const double value = k < weights[q].size() ? rounded(weights[q][k], 3) : 0;
      map.values.push_back(value);
      if (std::isfinite(value) && (q >= kEarly || weights.size() <= 2 * kEarly)) most = std::max(most, std::abs(value));
    }
  map.most = most == 0 ? 1 : most;
  map.value_title = std::move(value_title);
  map.square = true;
  return map;
}

// Of all layers together, and of the layer that differs most.
std::string attention_figure(const Compared& result, const ComparedScheme& scheme, const ComparedScheme* base,
                             size_t place) {
  const size_t layers = scheme.attention.size();
  size_t most = 0;
  for (size_t layer = 1; layer < layers; ++layer)
    if (size_of(difference_of(scheme, base, layer, layer + 1)) > size_of(difference_of(scheme, base, most, most + 1)))
      most = layer;
  const std::string value = base == nullptr ? "weight" : "weight, minus " + short_name(base->position) + "'s";
  const std::string which =
      layers == 1 ? "" : "layer " + std::to_string(most + 1) + (base == nullptr ? "" : ", which differs most");
  constexpr double kCell = 11.4;
  const auto n = static_cast<double>(std::max<size_t>(scheme.attention.front().size(), 14));
  Drawing drawing{.key = "attention-" + std::to_string(place),
                  .label = "Attention under " + scheme.position,
                  .width = 32 + 62 + kLongest + 30 + kCell * n,  // margins, the colour bar, labels
                  .height = 40 + kLongest + kCell * n,
                  .wide = true};
  drawing.panels.emplace_back(
      attention_map(result, difference_of(scheme, base, 0, layers), layers == 1 ? "" : "mean of all layers", value));
  if (layers > 1)
    drawing.panels.emplace_back(attention_map(result, difference_of(scheme, base, most, most + 1), which, value));
  return "<h3>" + scheme_name(result, scheme.position) +
         (base == nullptr ? "" : " minus " + scheme_name(result, base->position)) + "</h3>\n" +
         figure(result, std::move(drawing));
}

}  // namespace

std::string agreement(const Compared& result) {
  if (result.matrix.empty()) return paragraph("nothing", "No two schemes ran, so there is nothing to compare.");
  const auto n = static_cast<double>(result.matrix.size());
  Drawing drawing{.key = "agreement",
                  .label = "Agreement of the schemes",
                  .width = 210 + 54 * std::max(n, 3.0),
                  .height = 76 + 32 * std::max(n, 2.0),
                  .wide = true};
  drawing.panels.emplace_back(matrix_map(result, result.kl, "Divergence of q from p (KL, nats)", 1, 3));
  drawing.panels.emplace_back(matrix_map(result, result.top1, "Same best token (%)", 100, 1));
  drawing.caption = "At " + count(result.matrix_length, "token", "tokens") +
                    ", inside the trained length. Left: how far the predictions of the column are from those of the "
                    "row, 0 for the same. Right: how often both hold the same token best.";
  return figure(result, std::move(drawing));
}

std::string attention_distance(const Compared& result) {
  Chart chart{.title = "Mean over the heads", .x = {.title = "layer"}, .y = {.title = "distance looked back (tokens)"}};
  std::string maps;
  size_t layers = 0;
  double most = 0;
  for (const ComparedScheme& scheme : result.schemes) {
    layers = std::max(layers, scheme.attention_distance.size());
    for (const std::vector<double>& heads : scheme.attention_distance)
      for (const double distance : heads)
        if (std::isfinite(distance)) most = std::max(most, distance);
  }
  if (layers == 0) return paragraph("nothing", "Attention distance was not measured.");
  std::vector<std::string> layer_names;
  for (size_t layer = 0; layer < layers; ++layer) layer_names.push_back(std::to_string(layer + 1));
  chart.x.labels = layer_names;
  Drawing by_head{.key = "attention-distance-heads",
                  .label = "Attention distance by layer and head",
                  .caption = "Layers from top to bottom, heads from left to right; numbers are tokens looked back.",
                  .width = 350,
                  .columns = 3};
  for (size_t s = 0; s < result.schemes.size(); ++s) {
    const ComparedScheme& scheme = result.schemes[s];
    if (scheme.attention_distance.empty()) continue;
    Series line{
        .name = scheme.position, .dashed = scheme.standing == Standing::untrained, .colour = static_cast<int>(s)};
    HeatMap map{.title = short_name(scheme.position),
                .x = {.title = "head"},
                .y = {.title = "layer"},
                .most = most == 0 ? 1 : 2 * most,
                .with_text = true};
    size_t heads = 0;
    for (const std::vector<double>& row : scheme.attention_distance) heads = std::max(heads, row.size());
    for (size_t layer = 0; layer < scheme.attention_distance.size(); ++layer) {
      const std::vector<double>& row = scheme.attention_distance[layer];
      double sum = 0;
      for (size_t head = 0; head < heads; ++head) {
        const double value = head < row.size() ? row[head] : kNan;
        sum += head < row.size() ? value : 0;
        map.values.push_back(rounded(value, value < 10 ? 1 : 0));
      }
      line.x.push_back(static_cast<double>(layer));
      line.y.push_back(row.empty() ? kNan : sum / static_cast<double>(row.size()));
    }
    map.rows = static_cast<int64_t>(scheme.attention_distance.size());
    map.cols = static_cast<int64_t>(heads);
    map.y.labels = layer_names;
    for (size_t head = 0; head < heads; ++head) map.x.labels.push_back(std::to_string(head + 1));
    by_head.height = 84 + 24 * static_cast<double>(layers);
    chart.series.push_back(std::move(line));
    by_head.panels.emplace_back(std::move(map));
  }
  Drawing lines{.key = "attention-distance",
                .label = "Attention distance by layer",
                .panels = {std::move(chart)},
                .caption = "How many tokens back attention looks, weighted by attention, on the scored text."};
  return figure(result, std::move(lines)) + details("Every head by itself", figure(result, std::move(by_head)));
}

std::string attention_maps(const Compared& result) {
  constexpr size_t kOpen = 2, kMost = 8;  // schemes that are seen at once, and those that are drawn at all
  const ComparedScheme* base = nullptr;
  for (const ComparedScheme& scheme : result.schemes)
    if (!scheme.attention.empty() && (base == nullptr || scheme.position == result.reference)) base = &scheme;
  if (base == nullptr) return paragraph("nothing", "There are no attention maps: no scheme ran.");
  std::vector<const ComparedScheme*> others;
  for (const ComparedScheme& scheme : result.schemes)
    if (!scheme.attention.empty() && &scheme != base) others.push_back(&scheme);
  if (others.empty())
    return "<p>Row: the token that looks; column: the token looked at. Mean of the heads.</p>\n" +
           attention_figure(result, *base, nullptr, 1);
  std::string first, rest;
  for (size_t i = 0; i < std::min(others.size(), kMost); ++i)
    (i < kOpen ? first : rest) += attention_figure(result, *others[i], base, i + 1);
  return "<p>What each scheme attends to more (red) or less (blue) than " + spec(base->position) +
         ". Row: the token that looks; column: the token looked at. Mean of the heads.</p>\n" + first +
         (rest.empty() ? ""
                       : details(count(static_cast<int64_t>(std::min(others.size(), kMost) - kOpen), "more scheme",
                                       "more schemes"),
                                 rest)) +
         (others.size() > kMost ? paragraph("note", "The maps of the other schemes are in the JSON.") : "");
}

}  // namespace ordinal::report::page
