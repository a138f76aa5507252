// compared_html_maps.cpp: the heat maps on the page of a comparison: agreement of schemes, and attention.
#include <algorithm>
#include <cmath>

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
    const int index = scheme_index(result, position);
    map.x.labels.push_back(index < 0 ? escaped(position) : std::to_string(index + 1));
    map.y.labels.push_back(short_name(result, position));
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

// Token texts as labels: a blank at the beginning, which most have, as a dot in the middle.
std::vector<std::string> token_labels(const Compared& result, size_t tokens) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < tokens; ++i) {
    std::string label = i < result.prompt_pieces.size() ? escaped(result.prompt_pieces[i]) : std::to_string(i);
    if (label.starts_with(' ')) label.replace(0, 1, "·");
    labels.push_back(std::move(label));
  }
  return labels;
}

HeatMap attention_map(const Compared& result, const ComparedScheme& scheme, size_t layer) {
  const std::vector<std::vector<float>>& weights = scheme.attention[layer];
  const std::vector<std::string> labels = token_labels(result, weights.size());
  HeatMap map{.title = short_name(result, scheme.position), .x = {.labels = labels}, .y = {.labels = labels}};
  map.rows = map.cols = static_cast<int64_t>(weights.size());
  for (const std::vector<float>& row : weights)
    for (size_t k = 0; k < weights.size(); ++k)
      map.values.push_back(k < row.size() ? rounded(static_cast<double>(row[k]), 3) : 0);
  map.most = 0.5;
  map.square = true;
  return map;
}

std::string layer_figure(const Compared& result, size_t layer) {
  Drawing drawing{.key = "attention-" + std::to_string(layer + 1),
                  .label = "Attention in layer " + std::to_string(layer + 1),
                  .width = 290,
                  .height = 250,
                  .columns = 4,
                  .wide = true};
  for (const ComparedScheme& scheme : result.schemes)
    if (layer < scheme.attention.size()) drawing.panels.emplace_back(attention_map(result, scheme, layer));
  return "<h3>Layer " + std::to_string(layer + 1) + "</h3>\n" + figure(result, std::move(drawing));
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
    HeatMap map{.title = short_name(result, scheme.position),
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
  constexpr size_t kOpen = 3;  // layers that are seen at once; the others are behind a click
  size_t layers = 0;
  for (const ComparedScheme& scheme : result.schemes) layers = std::max(layers, scheme.attention.size());
  if (layers == 0) return paragraph("nothing", "There are no attention maps: no prompt was given, or no scheme ran.");
  std::string out =
      "<p>Schemes from left to right, layers from top to bottom. Row: the token that looks; column: the token looked "
      "at. Mean of the heads; the full colour stands for half of the attention or more.</p>\n";
  for (size_t layer = 0; layer < std::min(layers, kOpen); ++layer) out += layer_figure(result, layer);
  if (layers <= kOpen) return out;
  std::string rest;
  for (size_t layer = kOpen; layer < layers; ++layer) rest += layer_figure(result, layer);
  return out + details(layers == kOpen + 1 ? "Layer " + std::to_string(layers)
                                           : "Layers " + std::to_string(kOpen + 1) + " to " + std::to_string(layers),
                       rest);
}

}  // namespace ordinal::report::page
