// pictures.cpp: the table of pictures, and what the functions that draw them share.
#include "study/pictures/pictures.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/words.h"
#include "ordinal/error.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr std::string_view kEmbedding = " @embedding -index -normalized ";

constexpr Picture kPictures[] = {
    {"places", " +with ", "the distance at which modifiers let a query see its keys", false, false, draw_places},
    {"heatmap", " @embedding ", "what is added to the embedding, a row of cells per dimension", false, false,
     draw_heat_map},
    {"waveforms", kEmbedding, "the first dimensions along the positions", false, false, draw_waveforms},
    {"wavelengths", " rope ", "how far each pair of channels turns, plain and under every scaling", false, false,
     draw_wavelengths},
    {"slopes", " alibi ", "the slope of each head", false, false, draw_slopes},
    {"buckets", " t5_bias ", "which bucket a distance falls into", false, false, draw_buckets},
    {"bias", " @scores -shaw -cope ", "what is added to a score, by distance and head", false, false, draw_bias},
    {"norms", " shaw xl cope ", "the length of the vector of each distance", false, false, draw_norms},
    {"prior", " none @scores -shaw -cope ", "attention weights where all keys are alike", false, false, draw_prior},
    {"similarity", " @embedding @q -index -normalized -xl ",
     "how alike two positions are, by distance, and where it rises", false, false, draw_similarity},
    {"circle", " sinusoidal rope ", "the motion of one pair of channels", false, false, draw_circle},
    {"counter", " sinusoidal ", "the signs of the sines beside a binary counter", false, false, draw_counter},
    {"orthogonality", kEmbedding, "angles between positions and random words", false, false, draw_orthogonality},
    {"pca", kEmbedding, "the first principal components", false, false, draw_components},
    {"attention", "*", "attention weights on a text, per head", true, false, draw_attention},
    {"distance", "*", "how far attention reaches on a text, per head", true, false, draw_distances},
    {"scores", "*", "a head's scores and weights by distance on a text, also of two schemes", true, true, draw_scores},
    {"loss", "*", "loss by position on a text, also of two schemes", true, true, draw_loss},
};

// Whether a modifier of the spec's first scheme gives keys other places.
bool moves_keys(std::string_view spec) {
  const ModifiedSpec first = parse_modified_spec(spec.substr(0, end_of_modified(spec)));
  return std::ranges::any_of(first.modifiers, [](const std::string& modifier) {
    const std::string_view acts_on = modifier_info(parse_position_spec(modifier).name).acts_on;
    return acts_on == "views" || acts_on == "positions";
  });
}

bool fits(const Picture& picture, const SchemeInfo& scheme, bool moved) {
  if (picture.schemes == "*") return true;
  const auto names = [&](const std::string& word) {
    return picture.schemes.find(" " + word + " ") != std::string_view::npos;
  };
  if (names("+with")) return moved;
  const std::string name(scheme.name);
  if (names(name) || names("-" + name)) return names(name);
  std::istringstream hooks{std::string(scheme.acts_on)};
  for (std::string hook; hooks >> hook;)
    if (names("@" + hook.substr(0, hook.find(',')))) return true;
  return false;
}

}  // namespace

std::span<const Picture> pictures() { return kPictures; }

const Picture& find_picture(std::string_view kind, std::string_view spec) {
  const SchemeInfo& scheme = scheme_info(parse_first_scheme(spec).name);
  std::vector<std::string_view> names;
  for (const Picture& picture : kPictures) {
    if (!fits(picture, scheme, moves_keys(spec))) continue;
    if (kind.empty() || kind == picture.name) return picture;
    names.push_back(picture.name);
  }
  throw Error("there is no picture '" + escaped(kind) + "' of position scheme '" + std::string(scheme.name) + "'",
              joined(names), escaped(kind), "leave --kind out for the scheme's own picture");
}

std::shared_ptr<const PositionScheme> make_picture_scheme(const PictureInput& input, const AttentionShape& shape,
                                                          const std::string& spec) {
  if (input.model)
    return make_position_scheme(spec, shape, [&](std::string_view name) { return input.model->file().find(name); });
  const std::vector<SchemeTable> tables = made_up_tables(spec, shape);
  if (!tables.empty() && !input.example) {
    const std::string lacking = joined(tables, ", ", &SchemeTable::name);
    throw Error("a picture of " + escaped(spec) + " needs tensors, and there is no model", lacking, "no -m",
                "-m MODEL with these tensors, or --example for made-up ones");
  }
  return make_position_scheme(spec, shape, lookup_in(tables));
}

std::vector<int64_t> heads_of(const PictureInput& input) {
  const int64_t count = input.shape.n_heads;
  if (input.head && (*input.head < 0 || *input.head >= count))
    throw Error("there is no head " + std::to_string(*input.head), "heads 0 to " + std::to_string(count - 1),
                "--head " + std::to_string(*input.head));
  if (input.head) return {*input.head};
  std::vector<int64_t> heads(count);
  std::iota(heads.begin(), heads.end(), int64_t{0});
  return heads;
}

int64_t distances_shown(const PictureInput& input, int64_t most) {
  constexpr int64_t kMost = 2048;  // more than a picture has points
  return input.positions.value_or(input.model ? std::min(kMost, input.shape.trained_length) : most);
}

std::span<const TokenId> tokens_shown(const PictureInput& input, int64_t most) {
  return std::span(input.ids).first(std::min<size_t>(input.positions.value_or(most), input.ids.size()));
}

std::string head_name(int64_t head) { return "head " + std::to_string(head); }

void arrange_heads(Figure& figure, double single_height, double height) {
  const size_t count = figure.panels.size();
  figure.columns = count == 1 ? 1 : count <= 4 ? 2 : 3;
  figure.width = count > 4 ? 760 : 640;
  figure.panel_height = count == 1 ? single_height : height;
}

std::vector<double> count_from(double first, int64_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

HeatMap map_of(const Grid& grid, int64_t head, std::string value_title) {
  return {.x = {.title = "key position"},
          .y = {.title = "query position"},
          .rows = grid.rows,
          .cols = grid.cols,
          .values = grid.values,
          .row_key = "query",
          .value_title = std::move(value_title),
          .square = true,
          .key = "head-" + std::to_string(head)};
}

Figure draw_picture(const Picture& picture, const PictureInput& input) {
  Figure figure = picture.draw(input);
  figure.id = "ordinal-" + std::string(picture.name) + "-";
  for (const char c : input.spec) figure.id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return figure;
}

void note_example(Figure& figure, const PictureInput& input, const std::string& what) {
  if (input.example) figure.notes.push_back("An example: " + what + ".");
}

Chart bar_chart(std::string title, std::string x_title, std::string y_title, std::vector<std::string> labels,
                std::vector<double> values) {
  Series series{.y = std::move(values), .drawn = Drawn::bars};
  for (size_t i = 0; i < series.y.size(); ++i) series.x.push_back(static_cast<double>(i));
  return {.title = std::move(title),
          .x = {.title = std::move(x_title), .labels = std::move(labels)},
          .y = {.title = std::move(y_title)},
          .series = {std::move(series)}};
}

Series histogram(std::span<const double> values, double low, double high, int64_t bins) {
  Series series{.y = std::vector<double>(bins), .drawn = Drawn::bars};
  const double width = (high - low) / static_cast<double>(bins);
  for (int64_t i = 0; i < bins; ++i) series.x.push_back(low + width * (static_cast<double>(i) + 0.5));
  for (const double value : values) {
    if (!(value >= low && value <= high)) continue;
    const auto bin = static_cast<int64_t>((value - low) / width);
    ++series.y[std::clamp<int64_t>(bin, 0, bins - 1)];
  }
  return series;
}

}  // namespace ordinal
