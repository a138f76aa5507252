// embedding.cpp: pictures of what a scheme adds to the embedding.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/number_text.h"
#include "ordinal/error.h"
#include "study/pictures/components.h"
#include "study/pictures/curves.h"
#include "study/pictures/pictures.h"

namespace ordinal {
namespace {

struct Table {
  std::shared_ptr<const PositionScheme> scheme;
  Grid grid;
};

// PE of so many positions, or of as many as the scheme has. Without a model its width is the one asked for.
Table table_of(const PictureInput& input, int64_t width, int64_t positions) {
  AttentionShape shape = input.shape;
  if (!input.model) shape.d_model = input.dims.value_or(width);
  Table table{.scheme = make_picture_scheme(input, shape, input.spec), .grid = {}};
  const int64_t count = input.positions.value_or(std::min(positions, table.scheme->max_positions()));
  table.grid = embedding_rows(*table.scheme, shape.d_model, count);
  return table;
}

std::vector<double> column(const Grid& grid, int64_t c) {
  std::vector<double> values;
  for (int64_t r = 0; r < grid.rows; ++r) values.push_back(grid[r][static_cast<size_t>(c)]);
  return values;
}

// Where the sine and the cosine of a pair are.
std::pair<int64_t, int64_t> channels_of(const PositionScheme& scheme, int64_t pair, int64_t d_model) {
  if (param_of(scheme, "layout", "interleaved") == "concat") return {pair, d_model / 2 + pair};
  return {2 * pair, 2 * pair + 1};
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string width_text(const Grid& grid) { return "d = " + std::to_string(grid.cols); }

}  // namespace

Figure draw_heat_map(const PictureInput& input) {
  const Table table = table_of(input, 64, 128);
  const int64_t dims = std::min(input.dims.value_or(64), table.grid.cols);
  HeatMap map{.x = {.title = "position (tokens)"},
              .y = {.title = "dimension"},
              .rows = dims,
              .cols = table.grid.rows,
              .row_key = "dim",
              .value_title = "added to x"};
  for (int64_t dim = 0; dim < dims; ++dim)
    for (const double value : column(table.grid, dim)) map.values.push_back(value);
  // A few numbers far above the others, as at the start of a trained table, would leave those pale.
  std::vector<double> sizes = map.values;
  for (double& size : sizes) size = std::abs(size);
  std::ranges::sort(sizes);
  const double usual = sizes[sizes.size() * 98 / 100];
  const bool cut = sizes.back() > 1.5 * usual && usual > 0;
  if (cut) map.most = usual;
  Figure figure = figure_of("heatmap", input.spec, "Added to the embedding by " + table.scheme->spec(),
                            "Heat map: a column per position, a row per dimension; red is above 0, blue below.");
  figure.panels = {std::move(map)};
  figure.panel_height = 420;
  figure.notes = {width_text(table.grid) +
                  (dims < table.grid.cols ? ", of which the first " + std::to_string(dims) + " are shown." : ".")};
  if (cut)
    figure.notes.push_back("Full colour is " + fixed(usual, 3) + " or more; the largest is " + fixed(sizes.back(), 3) +
                           ".");
  if (input.example) figure.notes.push_back("An example: a seeded table, not a trained one.");
  return figure;
}

Figure draw_waveforms(const PictureInput& input) {
  const Table table = table_of(input, 64, 100);
  Figure figure = figure_of("waveforms", input.spec, "The first dimensions of " + table.scheme->spec(),
                            "Six line charts, each a dimension of what is added to the embedding, by position.");
  const auto [least, greatest] = std::ranges::minmax(table.grid.values);
  for (int64_t dim = 0; dim < std::min<int64_t>(6, table.grid.cols); ++dim) {
    Series series{.x = count_from(0, table.grid.rows), .y = column(table.grid, dim)};
    series.colour = static_cast<int>(dim / 2);
    Chart chart{.title = "dimension " + std::to_string(dim),
                .x = {.title = dim >= 4 ? "position (tokens)" : ""},
                .y = {.from = least, .to = greatest},
                .series = {std::move(series)}};
    chart.key = "dim-" + std::to_string(dim);
    figure.panels.emplace_back(std::move(chart));
  }
  figure.columns = 2;
  figure.panel_height = 170;
  figure.notes = {width_text(table.grid) + "."};
  return figure;
}

Figure draw_similarity(const PictureInput& input) {
  std::vector<double> curve;
  std::string spec, what;
  if (parse_position_spec(input.spec.substr(0, input.spec.find(';'))).name == "rope") {
    AttentionShape shape = input.shape;
    if (!input.model) shape.head_dim = input.dims.value_or(64);
    const auto scheme = make_picture_scheme(input, shape, input.spec);
    curve = score_by_distance_of_ones(*scheme, shape, input.layer, input.positions.value_or(1024));
    spec = scheme->spec();
    what = "Score of a query and a key of ones, over the head's width " + std::to_string(shape.head_dim) + ".";
  } else {
    const Table table = table_of(input, 512, 1024);
    curve = similarity_by_distance(table.grid);
    spec = table.scheme->spec();
    what = "Cosine of what two positions add, over all pairs so far apart; " + width_text(table.grid) + ".";
  }
  const std::vector<int64_t> up = rises(curve);
  Series line{.name = "S(k)", .x = count_from(0, static_cast<int64_t>(curve.size())), .y = curve};
  Series dots{.name = "higher than one step nearer", .drawn = Drawn::dots, .colour = 1};
  for (const int64_t k : up) {
    dots.x.push_back(static_cast<double>(k));
    dots.y.push_back(curve[static_cast<size_t>(k)]);
  }
  Figure figure = figure_of("similarity", input.spec, "Similarity by distance of " + spec,
                            "Line chart of S(k), with dots where it rises although the distance grows.");
  Chart chart{.x = {.title = "distance k (tokens)"}, .y = {.title = "S(k)"}, .series = {line, dots}};
  chart.key = "similarity";
  figure.panels = {std::move(chart)};
  figure.panel_height = 360;
  figure.notes = {what, up.empty() ? "It never rises."
                                   : "It rises " + std::to_string(up.size()) + " times in " +
                                         std::to_string(curve.size() - 1) + " steps, first at k = " +
                                         std::to_string(up.front()) + ": farther is not always less alike."};
  return figure;
}

Figure draw_circle(const PictureInput& input) {
  std::vector<double> x, y;
  std::string spec, what;
  int64_t pair = 0;
  const int64_t positions = input.positions.value_or(64);
  const auto check_pair = [&](int64_t pairs) {
    pair = input.pair.value_or(pairs / 4);
    if (pair < 0 || pair >= pairs)
      throw Error("there is no pair " + std::to_string(pair), "pairs 0 to " + std::to_string(pairs - 1),
                  "--pair " + std::to_string(pair));
  };
  if (parse_position_spec(input.spec.substr(0, input.spec.find(';'))).name == "rope") {
    AttentionShape shape = input.shape;
    if (!input.model) shape.head_dim = input.dims.value_or(64);
    const auto scheme = make_picture_scheme(input, shape, input.spec);
    const std::vector<TurningPair> pairs = turning_pairs(*scheme, shape, input.layer);
    check_pair(static_cast<int64_t>(pairs.size()));
    const TurningPair& turning = pairs[static_cast<size_t>(pair)];
    for (int64_t p = 0; p < positions; ++p) {
      x.push_back(turning.magnitude * std::cos(static_cast<double>(p) * turning.frequency));
      y.push_back(turning.magnitude * std::sin(static_cast<double>(p) * turning.frequency));
    }
    spec = scheme->spec();
    what = "channels " + std::to_string(turning.first) + " and " + std::to_string(turning.second) +
           " of a head; one turn in " + fixed(2 * std::numbers::pi / turning.frequency, 2) + " tokens";
  } else {
    const Table table = table_of(input, 64, positions);
    check_pair(table.grid.cols / 2);
    const auto [sine, cosine] = channels_of(*table.scheme, pair, table.grid.cols);
    x = column(table.grid, cosine);
    y = column(table.grid, sine);
    spec = table.scheme->spec();
    what = "dimensions " + std::to_string(sine) + " (up) and " + std::to_string(cosine) + " (across), " +
           width_text(table.grid);
  }
  Series path{.x = x, .y = y}, dots{.x = x, .y = y, .drawn = Drawn::dots, .colour = 0};
  dots.labels.resize(x.size());
  for (size_t p = 0; p < x.size(); p += 8) dots.labels[p] = std::to_string(p);
  Chart circle{.title = "place on the circle, labelled by position",
               .x = {.title = "cosine", .from = -1.25, .to = 1.25},
               .y = {.title = "sine", .from = -1.25, .to = 1.25},
               .series = {path, dots},
               .square = true,
               .key = "circle"};
  Series sines{.name = "sine", .x = count_from(0, static_cast<int64_t>(y.size())), .y = y};
  Series cosines{.name = "cosine", .x = sines.x, .y = x};
  Chart waves{.title = "the same along the text", .x = {.title = "position (tokens)"}, .series = {sines, cosines}};
  double reach = 1;
  for (size_t p = 0; p < x.size(); ++p) reach = std::max({reach, std::abs(x[p]), std::abs(y[p])});
  circle.x.from = circle.y.from = -1.2 * reach;
  circle.x.to = circle.y.to = 1.2 * reach;
  Figure figure = figure_of("circle", input.spec, "Pair " + std::to_string(pair) + " of " + spec,
                            "A pair of channels moves along a circle at an even pace as the position grows.");
  figure.panels = {std::move(circle), std::move(waves)};
  figure.columns = 2;
  figure.panel_height = 350;
  figure.width = 760;
  figure.notes = {what + "."};
  return figure;
}

Figure draw_counter(const PictureInput& input) {
  constexpr int64_t kBits = 5;
  const Table table = table_of(input, 64, int64_t{1} << kBits);
  const int64_t pairs = table.grid.cols / 2, shown = std::min<int64_t>(8, pairs);
  const auto names = [](const char* name, const std::vector<int64_t>& numbers) {
    std::vector<std::string> labels;
    for (const int64_t number : numbers) labels.push_back(name + std::to_string(number));
    return labels;
  };
  std::vector<int64_t> bits, columns;
  for (int64_t bit = 0; bit < kBits; ++bit) bits.push_back(bit);
  for (int64_t i = 0; i < shown; ++i) columns.push_back(i * std::max<int64_t>(1, pairs / 2 / shown));
  HeatMap counter{.title = "the position in binary", .x = {.title = "bit", .labels = names("", bits)}};
  HeatMap signs{.title = "sign of the sine: 1 above 0", .x = {.title = "pair", .labels = names("", columns)}};
  for (int64_t p = 0; p < table.grid.rows; ++p) {
    for (const int64_t bit : bits) counter.values.push_back(static_cast<double>((p >> bit) & 1));
    for (const int64_t pair : columns) {
      const auto sine = static_cast<size_t>(channels_of(*table.scheme, pair, table.grid.cols).first);
      signs.values.push_back(table.grid[p][sine] > 0 ? 1 : 0);
    }
  }
  Figure figure = figure_of("counter", input.spec, "A binary counter beside " + table.scheme->spec(),
                            "Two tables by position: the bits of its number, and which sines are above 0.");
  for (HeatMap* map : {&counter, &signs}) {
    map->y = {.title = "position (tokens)"};
    map->rows = table.grid.rows;
    map->cols = static_cast<int64_t>(map->x.labels.size());
    map->row_key = "p";
    map->with_text = true;
    map->most = 2.2;  // pale enough for the numbers
  }
  counter.key = "bits";
  signs.key = "signs";
  figure.panels = {std::move(counter), std::move(signs)};
  figure.columns = 2;
  figure.panel_height = 60 + 17 * static_cast<double>(table.grid.rows);
  figure.notes = {
      "Bit b changes every 2^b positions; the sine of pair i changes sign every base^(2i/d) pi positions: "
      "the same idea with steps that are not cut off. " +
      width_text(table.grid) + "."};
  return figure;
}

Figure draw_orthogonality(const PictureInput& input) {
  constexpr int64_t kWords = 500;
  const Table table = table_of(input, 768, 512);
  std::vector<double> cosines = cosines_with_words(table.grid, kWords, 9);
  std::erase_if(cosines, [](double cosine) { return !std::isfinite(cosine); });
  if (cosines.empty())
    throw Error("no row of " + table.scheme->spec() + " has a direction", "rows other than 0", "zeros only");
  double squares = 0;
  for (double& cosine : cosines) squares += cosine * cosine;
  const double deviation = std::sqrt(squares / static_cast<double>(cosines.size()));
  const double expected = 1 / std::sqrt(static_cast<double>(table.grid.cols));
  const double reach = std::min(1.0, 5.5 * expected);
  constexpr int64_t kBins = 55;
  Series bars = histogram(cosines, -reach, reach, kBins);
  bars.name = "pairs of a word and a position";
  Series normal{.name = "normal, deviation 1/√d", .x = bars.x, .colour = 1};
  for (const double x : bars.x)
    normal.y.push_back(static_cast<double>(cosines.size()) * 2 * reach / kBins /
                       (expected * std::sqrt(2 * std::numbers::pi)) * std::exp(-x * x / (2 * expected * expected)));
  Chart chart{.x = {.title = "cosine"}, .y = {.title = "pairs"}, .series = {std::move(bars), std::move(normal)}};
  chart.key = "orthogonality";
  std::vector<double> sizes = cosines;
  for (double& size : sizes) size = std::abs(size);
  std::ranges::sort(sizes);
  const auto quantile = [&](double part) {
    return sizes[static_cast<size_t>(part * static_cast<double>(sizes.size() - 1))];
  };
  Figure figure = figure_of("orthogonality", input.spec, "Angles between random words and " + table.scheme->spec(),
                            "Histogram of cosines, close to a normal curve around 0.");
  figure.panels = {std::move(chart)};
  figure.notes = {std::to_string(kWords) + " words with independent N(0, 1) channels, " +
                      std::to_string(table.grid.rows) + " positions, " + width_text(table.grid) + ".",
                  "Standard deviation " + fixed(deviation, 4) + " (1/√d is " + fixed(expected, 4) +
                      "), 99th percentile of the absolute " + fixed(quantile(0.99), 3) + ", largest " +
                      fixed(sizes.back(), 3) + ": nearly at right angles, so a sum keeps both."};
  return figure;
}

Figure draw_components(const PictureInput& input) {
  const Table table = table_of(input, 64, 1024);
  const Components found = principal_components(table.grid, 10);
  const int64_t count = table.grid.rows, shown = static_cast<int64_t>(found.shares.size());
  const auto title = [&](int64_t c) {
    return "component " + std::to_string(c + 1) + " (" + percent(found.shares[static_cast<size_t>(c)]) + ")";
  };
  const auto against = [&](int64_t a, int64_t b, const char* key) {
    Series path{.x = column(found.scores, a), .y = column(found.scores, b)};
    Series ends{.drawn = Drawn::dots, .colour = 1};
    for (const int64_t p : {int64_t{0}, count / 4, count / 2, 3 * count / 4, count - 1}) {
      ends.x.push_back(path.x[static_cast<size_t>(p)]);
      ends.y.push_back(path.y[static_cast<size_t>(p)]);
      ends.labels.push_back(std::to_string(p));
    }
    return Chart{.title = "labelled by position",
                 .x = {.title = title(a)},
                 .y = {.title = title(b)},
                 .series = {path, ends},
                 .key = key};
  };
  Figure figure = figure_of("pca", input.spec, "Principal components of " + table.scheme->spec(),
                            "The rows of the table along their first components, and its singular values.");
  if (shown >= 2) figure.panels.emplace_back(against(0, 1, "pc1-pc2"));
  if (shown >= 3) figure.panels.emplace_back(against(1, 2, "pc2-pc3"));
  Chart along{.title = "the first components along the text", .x = {.title = "position (tokens)"}, .key = "pcs"};
  for (int64_t c = 0; c < std::min<int64_t>(3, shown); ++c)
    along.series.push_back({.name = std::to_string(c + 1), .x = count_from(0, count), .y = column(found.scores, c)});
  std::vector<std::string> labels;
  for (int64_t c = 0; c < shown; ++c) labels.push_back(std::to_string(c + 1));
  Chart values = bar_chart("singular values", "component", "", labels, found.singular_values);
  values.key = "singular-values";
  figure.panels.emplace_back(std::move(along));
  figure.panels.emplace_back(std::move(values));
  figure.columns = 2;
  figure.width = 760;
  double three = 0;
  for (size_t c = 0; c < std::min<size_t>(3, found.shares.size()); ++c) three += found.shares[c];
  figure.notes = {std::to_string(count) + " positions, " + width_text(table.grid) +
                  ", centred. Share of variance in the first three: " + percent(three) + "."};
  if (input.example) figure.notes.push_back("An example: a seeded table, not a trained one.");
  return figure;
}

}  // namespace ordinal
