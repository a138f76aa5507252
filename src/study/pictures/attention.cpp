// attention.cpp: pictures of what a scheme does to queries, keys and scores, alone and on a text.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/number_text.h"
#include "ordinal/error.h"
#include "study/pictures/curves.h"
#include "study/pictures/pictures.h"

namespace ordinal {
namespace {

std::shared_ptr<const PositionScheme> scheme_of(const PictureInput& input) {
  return make_picture_scheme(input, input.shape, input.spec);
}

int64_t shown(const PictureInput& input, const PositionScheme& scheme, int64_t most) {
  return std::min(distances_shown(input, most), input.positions ? *input.positions : scheme.max_positions());
}

// One line per head; heads past the eighth, whose colours come again, are dashed.
template <class Curve>
std::vector<Series> lines_by_head(const PictureInput& input, int64_t distances, const Curve& curve) {
  std::vector<Series> lines;
  for (const int64_t head : heads_of(input))
    lines.push_back({.name = head_name(head),
                     .x = count_from(0, distances),
                     .y = curve(head),
                     .dashed = (head / 8) % 2 == 1,
                     .colour = static_cast<int>(head % 8)});
  return lines;
}

// ---- rope ----------------------------------------------------------------------------------------------------------

struct Scaled {
  std::string name;
  std::vector<TurningPair> pairs;
};

double number_param(const PositionScheme& scheme, std::string_view key, double otherwise) {
  const std::string text = scheme.facts().param(key);
  return text.empty() || text == "auto" ? otherwise : std::stod(text);
}

// "rope:theta=...", with the parameters that every scaling knows, and one scaling.
std::string plain_spec(const PositionScheme& scheme) {
  std::string spec = "rope:scaling=none";
  for (const char* key : {"theta", "pairing", "rotary_dim", "fraction"})
    spec += "," + std::string(key) + "=" + scheme.facts().param(key);
  return spec;
}

std::string with_scaling(std::string spec, const std::string& scaling) {
  const std::string_view plain = "scaling=none";
  return spec.replace(spec.find(plain), plain.size(), "scaling=" + scaling);
}

}  // namespace

Figure draw_wavelengths(const PictureInput& input) {
  AttentionShape shape = input.shape;
  if (!input.model) shape.head_dim = input.dims.value_or(64);
  const auto scheme = make_picture_scheme(input, shape, input.spec);
  const std::string scaling = scheme->facts().param("scaling", "none"), plain = plain_spec(*scheme);
  const double length = number_param(*scheme, "original_length", static_cast<double>(shape.trained_length));
  double factor = number_param(*scheme, "factor", 4);
  if (scaling == "dynamic" || (scaling == "longrope" && factor == 1))
    factor = std::max(1.0, number_param(*scheme, "length", length) / length);
  const double longer = length * factor;

  std::vector<Scaled> all;
  const auto add = [&](const std::string& name, const std::string& spec) {
    std::vector<TurningPair> pairs = turning_pairs(*make_picture_scheme(input, shape, spec), shape, input.layer);
    all.push_back({name, std::move(pairs)});
  };
  add("plain", plain);
  if (scaling != "none") {
    add(scaling, scheme->spec());
  } else {
    const std::string s = ",factor=" + shortest(static_cast<float>(factor));
    const std::string from = ",original_length=" + fixed(length, 0);
    add("linear", with_scaling(plain, "linear" + s));
    const bool has_ntk = all[0].pairs.size() > 1;  // it leaves the first pair and stretches the last
    if (has_ntk) add("ntk", with_scaling(plain, "ntk" + s));
    add("ntk_by_parts, yarn", with_scaling(plain, "ntk_by_parts" + s + from));
    if (has_ntk) add("dynamic", with_scaling(plain, "dynamic" + from + ",length=" + fixed(longer, 0)));
    add("llama3", with_scaling(plain, "llama3" + s + from));
  }
  Chart waves{.title = "tokens until a pair has turned once",
              .x = {.title = "pair"},
              .y = {.title = "wavelength (tokens)", .logarithmic = true},
              .key = "wavelengths"};
  Chart slower{
      .title = "how many times slower than plain", .x = {.title = "pair"}, .y = {.title = "times"}, .key = "bands"};
  for (size_t i = 0; i < all.size(); ++i) {
    Series wave{.name = all[i].name, .x = count_from(0, static_cast<int64_t>(all[i].pairs.size()))};
    Series band = wave;
    for (size_t pair = 0; pair < all[i].pairs.size(); ++pair) {
      const double frequency = all[i].pairs[pair].frequency;
      wave.y.push_back(2 * std::numbers::pi / frequency);
      band.y.push_back(all[0].pairs[pair].frequency / frequency);
    }
    wave.colour = band.colour = static_cast<int>(i);
    wave.dashed = band.dashed = all[i].name == "dynamic" || all[i].name == "llama3";
    if (i > 0) slower.series.push_back(band);
    waves.series.push_back(std::move(wave));
  }
  waves.markers = {{.at = length, .label = "L = " + fixed(length, 0), .horizontal = true}};
  if (factor > 1) waves.markers.push_back({.at = longer, .label = "L′ = " + fixed(longer, 0), .horizontal = true});
  Figure figure{.title = "Wavelengths of " + scheme->spec(),
                .description =
                    "Line chart of the wavelength of every pair of channels, and of what each scaling divides "
                    "its angle by.",
                .panels = {std::move(waves)},
                .panel_height = 300};
  if (!slower.series.empty() && factor > 1) figure.panels.emplace_back(std::move(slower));
  figure.notes = {"L is the trained length, L′ the longer context (factor " + shortest(static_cast<float>(factor)) +
                  "). Pairs with a wavelength above L never turned once in training."};
  if (scaling == "none")
    figure.notes.push_back("dynamic, for a session of L′ tokens, is ntk with the same factor: their lines coincide.");
  return figure;
}

Figure draw_slopes(const PictureInput& input) {
  const auto scheme = scheme_of(input);
  std::vector<std::string> labels;
  std::vector<double> slopes;
  for (int64_t head = 0; head < input.shape.n_heads; ++head) {
    const std::vector<double> bias = bias_by_distance(*scheme, input.shape, input.layer, head, 2);
    labels.push_back(std::to_string(head));
    slopes.push_back(bias[0] - bias[1]);
  }
  Chart chart = bar_chart("what a score loses per token of distance", "head, counted from 0", "slope (1/token)",
                          std::move(labels), std::move(slopes));
  chart.series.front().scheme = input.spec;
  chart.key = "slopes";
  // Series are made before the charts that hold them: GCC 12 frees twice what stands in braces beside a call that
  // throws.
  std::vector<Series> lines = lines_by_head(input, 129, [&](int64_t head) {
    std::vector<double> curve = bias_by_distance(*scheme, input.shape, input.layer, head, 129);
    for (double& value : curve) value = std::exp(value);
    return curve;
  });
  for (Series& line : lines) line.name = "";
  Chart reach{.title = "what a key far away still weighs, before the other keys are counted",
              .x = {.title = "distance (tokens)"},
              .y = {.title = "exp(−slope · distance)"},
              .series = std::move(lines),
              .key = "reach"};
  return {.title = "Slopes of " + scheme->spec() + " for " + std::to_string(input.shape.n_heads) + " heads",
          .description = "Bar chart of each head's slope: what a score loses for each token of distance.",
          .panels = {std::move(chart), std::move(reach)},
          .panel_height = 280,
          .notes = {"Steep heads see their neighbours only; the flattest see far."}};
}

Figure draw_buckets(const PictureInput& input) {
  const std::string spec = input.spec.substr(0, input.spec.find(';'));
  const SchemeFacts facts = describe_position_scheme(spec, input.shape);
  const int64_t count = std::stoll(facts.param("buckets")), distances = distances_shown(input, 160);
  const std::vector<double> rows = table_row_by_distance(spec, input.shape, count, distances);
  const Series steps{.x = count_from(0, distances), .y = rows, .drawn = Drawn::steps, .scheme = input.spec};
  const Chart chart{.x = {.title = "distance (tokens)"}, .y = {.title = "bucket"}, .series = {steps}, .key = "buckets"};
  return {.title = "Buckets of " + facts.spec,
          .description = "Step chart of the bucket of every distance: one each for near ones, wider ones farther.",
          .panels = {chart},
          .notes = {"Distances in one bucket share a bias. Half the buckets hold a distance each, the others ever "
                    "more."}};
}

Figure draw_bias(const PictureInput& input) {
  const auto scheme = scheme_of(input);
  const int64_t distances = shown(input, *scheme, 160);
  std::vector<Series> lines = lines_by_head(input, distances, [&](int64_t head) {
    return bias_by_distance(*scheme, input.shape, input.layer, head, distances);
  });
  Chart chart{.x = {.title = "distance (tokens)"},
              .y = {.title = "added to the score"},
              .series = std::move(lines),
              .key = "bias"};
  Figure figure{.title = "Bias by distance of " + scheme->spec(),
                .description = "A line per head: what is added to a score, by the distance of query and key.",
                .panels = {std::move(chart)},
                .panel_height = 360,
                .notes = {"Layer " + std::to_string(input.layer) + ", for a query without content."}};
  note_example(figure, input, "seeded tables, not trained ones");
  return figure;
}

Figure draw_norms(const PictureInput& input) {
  const auto scheme = scheme_of(input);
  const int64_t distances = shown(input, *scheme, 64);
  const bool counts = scheme->reads_whole_rows();  // places, not distances, and no scale
  std::vector<Series> lines = lines_by_head(input, distances, [&](int64_t head) {
    std::vector<double> norms = vector_norms_by_distance(*scheme, input.shape, input.layer, head, distances);
    for (double& norm : norms) norm /= counts ? std::sqrt(static_cast<double>(input.shape.head_dim)) : 1;
    return norms;
  });
  Chart chart{.x = {.title = "distance (tokens)"},
              .y = {.title = "length of its vector", .from = 0},
              .series = std::move(lines),
              .key = "norms"};
  // One table for all heads is one line.
  const bool shared = std::ranges::all_of(chart.series, [&](const Series& s) { return s.y == chart.series[0].y; });
  if (shared) {
    chart.series.resize(1);
    chart.series[0].name = "";
    chart.series[0].scheme = input.spec;
  }
  Figure figure{.title = "Distance vectors of " + scheme->spec(),
                .description = "Line chart of the length of the vector that a query meets at each distance.",
                .panels = {std::move(chart)}};
  figure.notes = {std::string(counts ? "A score gains q · (the vector of its place), here with every gate half open. "
                                     : "A score gains scale · q · (the vector of its distance). ") +
                  "Layer " + std::to_string(input.layer) + (shared ? ", one table for all heads." : ".")};
  note_example(figure, input, "seeded tables, not trained ones");
  return figure;
}

Figure draw_prior(const PictureInput& input) {
  const auto scheme = scheme_of(input);
  const int64_t positions = input.positions.value_or(std::min<int64_t>(32, scheme->max_positions()));
  std::vector<std::pair<int64_t, Grid>> maps;
  for (const int64_t head : heads_of(input)) {
    Grid map = weights_of_equal_scores(*scheme, input.shape, input.layer, head, positions);
    if (maps.empty() || map.values != maps.front().second.values) maps.emplace_back(head, std::move(map));
  }
  Figure figure{.title = "Attention of " + scheme->spec() + " where all keys are alike",
                .description = "Heat maps of attention weights, query by key, that mask and scheme give equal scores."};
  const bool one = maps.size() == 1;
  for (const auto& [head, map] : maps) {
    HeatMap panel = map_of(map, head, "weight");
    if (!one) panel.title = head_name(head);
    figure.panels.emplace_back(std::move(panel));
  }
  arrange_heads(figure, 440, maps.size() > 4 ? 240 : 290);
  if (maps.size() > 4) figure.width = 860;  // colour bars
  figure.notes = {
      one ? "Query t sees t + 1 keys, each with weight 1/(t + 1): all that a model without positions can tell "
            "order from. The same in every head."
          : "A panel per head; heads like the first are left out. Row t: the weights of query t."};
  if (!one && scheme->facts().param("slopes").empty()) note_example(figure, input, "seeded tables, not trained ones");
  return figure;
}

}  // namespace ordinal
