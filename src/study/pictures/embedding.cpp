// embedding.cpp: pictures of what a scheme adds to the embedding.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/number_text.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "study/pictures/components.h"
#include "study/pictures/curves.h"
#include "study/pictures/pictures.h"

namespace ordinal {
namespace {

struct Added {
  std::shared_ptr<const PositionScheme> scheme;
  Grid rows;  // [positions, d_model]

  std::string width() const { return "d = " + std::to_string(rows.cols); }
};

// To so many positions, or to as many as the scheme has. Without a model its width is the one asked for.
Added added_by(const PictureInput& input, int64_t width, int64_t positions) {
  AttentionShape shape = input.shape;
  if (!input.model) shape.d_model = input.dims.value_or(width);
  Added added{.scheme = make_picture_scheme(input, shape, input.spec), .rows = {}};
  const int64_t count = input.positions.value_or(std::min(positions, added.scheme->max_positions()));
  added.rows = embedding_rows(*added.scheme, shape.d_model, count);
  return added;
}

// For what a scheme does to a head: without a model its width is the one asked for.
AttentionShape head_shape(const PictureInput& input) {
  AttentionShape shape = input.shape;
  if (!input.model) shape.head_dim = input.dims.value_or(64);
  return shape;
}

bool is_rope(const PictureInput& input) { return parse_first_scheme(input.spec).name == "rope"; }

std::vector<double> column(const Grid& grid, int64_t c) {
  std::vector<double> values;
  for (int64_t r = 0; r < grid.rows; ++r) values.push_back(grid[r][c]);
  return values;
}

std::vector<double> sorted_sizes(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  std::ranges::sort(values);
  return values;
}

// Where the sine and the cosine of a pair are.
std::pair<int64_t, int64_t> channels_of(const PositionScheme& scheme, int64_t pair, int64_t d_model) {
  if (scheme.facts().param("layout", "interleaved") == "concat") return {pair, d_model / 2 + pair};
  return {2 * pair, 2 * pair + 1};
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

}  // namespace

Figure draw_heat_map(const PictureInput& input) {
  const Added added = added_by(input, 64, 128);
  const int64_t dims = std::min(input.dims.value_or(64), added.rows.cols);
  HeatMap map{.x = {.title = "position (tokens)"},
              .y = {.title = "dimension"},
              .rows = dims,
              .cols = added.rows.rows,
              .row_key = "dim",
              .value_title = "added to x"};
  for (int64_t dim = 0; dim < dims; ++dim)
    for (const double value : column(added.rows, dim)) map.values.push_back(value);
  // A few numbers far above the others, as at the start of a trained table, would leave those pale.
  const std::vector<double> sizes = sorted_sizes(map.values);
  const double usual = sizes[sizes.size() * 98 / 100];
  const bool cut = sizes.back() > 1.5 * usual && usual > 0;
  if (cut) map.most = usual;
  Figure figure{.title = "Added to the embedding by " + added.scheme->spec(),
                .description = "Heat map: a column per position, a row per dimension; red is above 0, blue below.",
                .panels = {std::move(map)},
                .panel_height = 420};
  figure.notes = {added.width() +
                  (dims < added.rows.cols ? ", of which the first " + std::to_string(dims) + " are shown." : ".")};
  if (cut)
    figure.notes.push_back("Full colour is " + fixed(usual, 3) + " or more; the largest is " + fixed(sizes.back(), 3) +
                           ".");
  note_example(figure, input, "a seeded table, not a trained one");
  return figure;
}

Figure draw_waveforms(const PictureInput& input) {
  const Added added = added_by(input, 64, 100);
  Figure figure{.title = "The first dimensions of " + added.scheme->spec(),
                .description = "Six line charts, each a dimension of what is added to the embedding, by position.",
                .columns = 2,
                .panel_height = 170,
                .notes = {added.width() + "."}};
  const auto [least, greatest] = std::ranges::minmax(added.rows.values);
  for (int64_t dim = 0; dim < std::min<int64_t>(6, added.rows.cols); ++dim) {
    const Series series{
        .x = count_from(0, added.rows.rows), .y = column(added.rows, dim), .colour = static_cast<int>(dim / 2)};
    figure.panels.push_back(Chart{.title = "dimension " + std::to_string(dim),
                                  .x = {.title = dim >= 4 ? "position (tokens)" : ""},
                                  .y = {.from = least, .to = greatest},
                                  .series = {series},
                                  .key = "dim-" + std::to_string(dim)});
  }
  return figure;
}

Figure draw_similarity(const PictureInput& input) {
  std::vector<double> curve;
  std::string spec, what;
  if (is_rope(input)) {
    const AttentionShape shape = head_shape(input);
    const auto scheme = make_picture_scheme(input, shape, input.spec);
    curve = score_by_distance_of_ones(*scheme, shape, input.layer, input.positions.value_or(1024));
    spec = scheme->spec();
    what = "Score of a query and a key of ones, over the head's width " + std::to_string(shape.head_dim) + ".";
  } else {
    const Added added = added_by(input, 512, 1024);
    curve = similarity_by_distance(added.rows);
    spec = added.scheme->spec();
    what = "Cosine of what two positions add, over all pairs so far apart; " + added.width() + ".";
  }
  const std::vector<int64_t> up = rises(curve);
  const Series line{
      .name = "S(k)", .x = count_from(0, static_cast<int64_t>(curve.size())), .y = curve, .scheme = input.spec};
  Series dots{.name = "higher than one step nearer", .drawn = Drawn::dots, .colour = 1};
  for (const int64_t k : up) dots.x.push_back(static_cast<double>(k)), dots.y.push_back(curve[k]);
  const Chart chart{
      .x = {.title = "distance k (tokens)"}, .y = {.title = "S(k)"}, .series = {line, dots}, .key = "similarity"};
  Figure figure{.title = "Similarity by distance of " + spec,
                .description = "Line chart of S(k), with dots where it rises although the distance grows.",
                .panels = {chart},
                .panel_height = 360};
  figure.notes = {what, up.empty() ? "It never rises."
                                   : "It rises " + std::to_string(up.size()) + " times in " +
                                         std::to_string(curve.size() - 1) + " steps, first at k = " +
                                         std::to_string(up.front()) + ": farther is not always less alike."};
  return figure;
}

Figure draw_circle(const PictureInput& input) {
  std::vector<double> x, y;
  std::string spec, what;
  const int64_t positions = input.positions.value_or(64);
  const auto pair_of = [&](int64_t pairs) {
    const int64_t pair = input.pair.value_or(pairs / 4);
    if (pair < 0 || pair >= pairs)
      throw Error("there is no pair " + std::to_string(pair), "pairs 0 to " + std::to_string(pairs - 1),
                  "--pair " + std::to_string(pair));
    return pair;
  };
  int64_t pair = 0;
  if (is_rope(input)) {
    const AttentionShape shape = head_shape(input);
    const auto scheme = make_picture_scheme(input, shape, input.spec);
    const std::vector<TurningPair> pairs = turning_pairs(*scheme, shape, input.layer);
    pair = pair_of(static_cast<int64_t>(pairs.size()));
    const TurningPair& turning = pairs[pair];
    for (int64_t p = 0; p < positions; ++p) {
      x.push_back(turning.magnitude * std::cos(static_cast<double>(p) * turning.frequency));
      y.push_back(turning.magnitude * std::sin(static_cast<double>(p) * turning.frequency));
    }
    spec = scheme->spec();
    what = "channels " + std::to_string(turning.first) + " and " + std::to_string(turning.second) +
           " of a head; one turn in " + fixed(2 * std::numbers::pi / turning.frequency, 2) + " tokens";
  } else {
    const Added added = added_by(input, 64, positions);
    pair = pair_of(added.rows.cols / 2);
    const auto [sine, cosine] = channels_of(*added.scheme, pair, added.rows.cols);
    x = column(added.rows, cosine);
    y = column(added.rows, sine);
    spec = added.scheme->spec();
    what = "dimensions " + std::to_string(sine) + " (up) and " + std::to_string(cosine) + " (across), " + added.width();
  }
  const Series path{.x = x, .y = y};
  Series dots{.x = x, .y = y, .drawn = Drawn::dots, .colour = 0, .labels = std::vector<std::string>(x.size())};
  for (size_t p = 0; p < x.size(); p += 8) dots.labels[p] = std::to_string(p);
  const double reach = 1.2 * std::max({1.0, sorted_sizes(x).back(), sorted_sizes(y).back()});
  const Chart circle{.title = "place on the circle, labelled by position",
                     .x = {.title = "cosine", .from = -reach, .to = reach},
                     .y = {.title = "sine", .from = -reach, .to = reach},
                     .series = {path, dots},
                     .square = true,
                     .key = "circle"};
  const Series sines{.name = "sine", .x = count_from(0, static_cast<int64_t>(y.size())), .y = y};
  const Series cosines{.name = "cosine", .x = sines.x, .y = x};
  const Chart waves{
      .title = "the same along the text", .x = {.title = "position (tokens)"}, .series = {sines, cosines}};
  return {.title = "Pair " + std::to_string(pair) + " of " + spec,
          .description = "A pair of channels moves along a circle at an even pace as the position grows.",
          .panels = {circle, waves},
          .columns = 2,
          .width = 760,
          .panel_height = 350,
          .notes = {what + "."}};
}

Figure draw_counter(const PictureInput& input) {
  constexpr int64_t kBits = 5;
  const Added added = added_by(input, 64, int64_t{1} << kBits);
  const int64_t pairs = added.rows.cols / 2, shown = std::min<int64_t>(8, pairs);
  const int64_t step = std::max<int64_t>(1, pairs / 2 / shown);
  HeatMap counter{.title = "the position in binary", .x = {.title = "bit"}, .key = "bits"};
  HeatMap signs{.title = "sign of the sine: 1 above 0", .x = {.title = "pair"}, .key = "signs"};
  for (int64_t bit = 0; bit < kBits; ++bit) counter.x.labels.push_back(std::to_string(bit));
  for (int64_t i = 0; i < shown; ++i) signs.x.labels.push_back(std::to_string(i * step));
  for (int64_t p = 0; p < added.rows.rows; ++p) {
    for (int64_t bit = 0; bit < kBits; ++bit) counter.values.push_back(static_cast<double>((p >> bit) & 1));
    for (int64_t i = 0; i < shown; ++i) {
      const int64_t sine = channels_of(*added.scheme, i * step, added.rows.cols).first;
      signs.values.push_back(added.rows[p][sine] > 0 ? 1 : 0);
    }
  }
  for (HeatMap* map : {&counter, &signs}) {
    map->y = {.title = "position (tokens)"};
    map->rows = added.rows.rows;
    map->cols = static_cast<int64_t>(map->x.labels.size());
    map->row_key = "p";
    map->with_text = true;
    map->most = 2.2;  // pale enough for the numbers
  }
  return {.title = "A binary counter beside " + added.scheme->spec(),
          .description = "Two tables by position: the bits of its number, and which sines are above 0.",
          .panels = {std::move(counter), std::move(signs)},
          .columns = 2,
          .panel_height = 60 + 17 * static_cast<double>(added.rows.rows),
          .notes = {"Bit b changes every 2^b positions; the sine of pair i changes sign every base^(2i/d) pi "
                    "positions: the same idea with steps that are not cut off. " +
                    added.width() + "."}};
}

Figure draw_orthogonality(const PictureInput& input) {
  constexpr int64_t kWords = 500, kBins = 55;
  const Added added = added_by(input, 768, 512);
  std::vector<double> cosines = cosines_with_words(added.rows, kWords, 9);
  std::erase_if(cosines, [](double cosine) { return !std::isfinite(cosine); });
  if (cosines.empty())
    throw Error("no row of " + added.scheme->spec() + " has a direction", "rows other than 0", "zeros only");
  const auto count = static_cast<double>(cosines.size());
  double squares = 0;
  for (const double cosine : cosines) squares += cosine * cosine;
  const double expected = 1 / std::sqrt(static_cast<double>(added.rows.cols));
  const double reach = std::min(1.0, 5.5 * expected);
  Series bars = histogram(cosines, -reach, reach, kBins);
  bars.name = "pairs of a word and a position";
  Series normal{.name = "normal, deviation 1/√d", .x = bars.x, .colour = 1};
  for (const double x : bars.x)
    normal.y.push_back(count * 2 * reach / kBins / (expected * std::sqrt(2 * std::numbers::pi)) *
                       std::exp(-x * x / (2 * expected * expected)));
  const std::vector<double> sizes = sorted_sizes(cosines);
  const double most_of_them = sizes[static_cast<size_t>(0.99 * static_cast<double>(sizes.size() - 1))];
  const Chart chart{
      .x = {.title = "cosine"}, .y = {.title = "pairs"}, .series = {bars, normal}, .key = "orthogonality"};
  return {.title = "Angles between random words and " + added.scheme->spec(),
          .description = "Histogram of cosines, close to a normal curve around 0.",
          .panels = {chart},
          .notes = {std::to_string(kWords) + " words with independent N(0, 1) channels, " +
                        std::to_string(added.rows.rows) + " positions, " + added.width() + ".",
                    "Standard deviation " + fixed(std::sqrt(squares / count), 4) + " (1/√d is " + fixed(expected, 4) +
                        "), 99th percentile of the absolute " + fixed(most_of_them, 3) + ", largest " +
                        fixed(sizes.back(), 3) + ": nearly at right angles, so a sum keeps both."}};
}

Figure draw_components(const PictureInput& input) {
  const Added added = added_by(input, 64, 1024);
  const Components found = principal_components(added.rows, 10);
  const int64_t count = added.rows.rows, shown = static_cast<int64_t>(found.shares.size());
  const auto title = [&](int64_t c) {
    return "component " + std::to_string(c + 1) + " (" + percent(found.shares[c]) + ")";
  };
  const auto against = [&](int64_t a, int64_t b, const char* key) {
    const Series path{.x = column(found.scores, a), .y = column(found.scores, b)};
    Series ends{.drawn = Drawn::dots, .colour = 1};
    for (const int64_t p : {int64_t{0}, count / 4, count / 2, 3 * count / 4, count - 1}) {
      ends.x.push_back(path.x[p]);
      ends.y.push_back(path.y[p]);
      ends.labels.push_back(std::to_string(p));
    }
    return Chart{.title = "labelled by position",
                 .x = {.title = title(a)},
                 .y = {.title = title(b)},
                 .series = {path, ends},
                 .key = key};
  };
  Figure figure{.title = "Principal components of " + added.scheme->spec(),
                .description = "The rows of the table along their first components, and its singular values.",
                .columns = 2,
                .width = 760};
  if (shown >= 2) figure.panels.emplace_back(against(0, 1, "pc1-pc2"));
  if (shown >= 3) figure.panels.emplace_back(against(1, 2, "pc2-pc3"));
  Chart along{.title = "the first components along the text", .x = {.title = "position (tokens)"}, .key = "pcs"};
  double three = 0;
  for (int64_t c = 0; c < std::min<int64_t>(3, shown); ++c) {
    along.series.push_back({.name = std::to_string(c + 1), .x = count_from(0, count), .y = column(found.scores, c)});
    three += found.shares[c];
  }
  std::vector<std::string> labels;
  for (int64_t c = 0; c < shown; ++c) labels.push_back(std::to_string(c + 1));
  Chart values = bar_chart("singular values", "component", "", labels, found.singular_values);
  values.key = "singular-values";
  figure.panels.emplace_back(std::move(along));
  figure.panels.emplace_back(std::move(values));
  figure.notes = {std::to_string(count) + " positions, " + added.width() +
                  ", centred. Share of variance in the first three: " + percent(three) + "."};
  note_example(figure, input, "a seeded table, not a trained one");
  return figure;
}

}  // namespace ordinal
