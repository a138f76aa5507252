// pictures.cpp: the table of pictures, and what the functions that draw them share.
#include "study/pictures/pictures.h"

#include <algorithm>
#include <numeric>

#include "base/words.h"
#include "ordinal/error.h"
#include "study/pictures/example_tables.h"

namespace ordinal {
namespace {

constexpr std::string_view kEmbedding = " learned hierarchical sinusoidal ";

constexpr Picture kPictures[] = {
    {"heatmap", " learned hierarchical sinusoidal index normalized ",
     "what is added to the embedding, a row of cells per dimension", false, draw_heat_map},
    {"waveforms", kEmbedding, "the first dimensions along the positions", false, draw_waveforms},
    {"wavelengths", " rope ", "how far each pair of channels turns, plain and under every scaling", false,
     draw_wavelengths},
    {"slopes", " alibi ", "the slope of each head", false, draw_slopes},
    {"buckets", " t5_bias ", "which bucket a distance falls into", false, draw_buckets},
    {"bias", " alibi t5_bias relative_bias xl ", "what is added to a score, by distance and head", false, draw_bias},
    {"norms", " shaw xl ", "the length of the vector of each distance", false, draw_norms},
    {"prior", " none alibi t5_bias relative_bias xl ", "attention weights where all keys are alike", false, draw_prior},
    {"similarity", " learned hierarchical sinusoidal rope ",
     "how alike two positions are, by distance, and where it rises", false, draw_similarity},
    {"circle", " sinusoidal rope ", "the motion of one pair of channels", false, draw_circle},
    {"counter", " sinusoidal ", "the signs of the sines beside a binary counter", false, draw_counter},
    {"orthogonality", kEmbedding, "angles between positions and random words", false, draw_orthogonality},
    {"pca", kEmbedding, "the first principal components", false, draw_components},
    {"attention", "*", "attention weights on a text, per head", true, draw_attention},
    {"distance", "*", "how far attention reaches on a text, per head", true, draw_distances},
    {"loss", "*", "loss by position on a text", true, draw_loss},
};

bool fits(const Picture& picture, const std::string& scheme) {
  return picture.schemes == "*" || picture.schemes.find(" " + scheme + " ") != std::string_view::npos;
}

}  // namespace

std::span<const Picture> pictures() { return kPictures; }

const Picture& find_picture(std::string_view kind, std::string_view spec) {
  const std::string scheme = parse_position_spec(spec.substr(0, spec.find(';'))).name;
  std::vector<std::string_view> names;
  for (const Picture& picture : kPictures) {
    if (!fits(picture, scheme)) continue;
    if (kind.empty() || kind == picture.name) return picture;
    names.push_back(picture.name);
  }
  throw Error("there is no picture '" + escaped(kind) + "' of position scheme '" + scheme + "'", joined(names),
              escaped(kind), "leave --kind out for the scheme's own picture");
}

std::shared_ptr<const PositionScheme> make_picture_scheme(const PictureInput& input, const AttentionShape& shape,
                                                          const std::string& spec) {
  if (input.model)
    return make_position_scheme(spec, shape, [&](std::string_view name) { return input.model->file().find(name); });
  if (input.example) return make_position_scheme(spec, shape, ExampleTables(spec, shape).lookup());
  std::string lacking;
  try {
    return make_position_scheme(spec, shape, [&](std::string_view name) -> const TensorView* {
      lacking += (lacking.empty() ? "" : ", ") + std::string(name);
      return nullptr;
    });
  } catch (const Error&) {
    if (lacking.empty()) throw;
  }
  throw Error("a picture of " + escaped(spec) + " needs tensors, and there is no model", lacking, "no -m",
              "-m MODEL with these tensors, or --example for made-up ones");
}

std::vector<int64_t> heads_of(const PictureInput& input) {
  const int64_t count = input.shape.n_heads;
  if (input.head && (*input.head < 0 || *input.head >= count))
    throw Error("there is no head " + std::to_string(*input.head), "heads 0 to " + std::to_string(count - 1),
                "--head " + std::to_string(*input.head));
  if (input.head) return {*input.head};
  std::vector<int64_t> heads(static_cast<size_t>(count));
  std::iota(heads.begin(), heads.end(), int64_t{0});
  return heads;
}

std::vector<double> count_from(double first, int64_t count) {
  std::vector<double> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Figure figure_of(const std::string& kind, const std::string& spec, std::string title, std::string description) {
  std::string id = "ordinal-" + kind + "-";
  for (const char c : spec) id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return {.id = std::move(id), .title = std::move(title), .description = std::move(description)};
}

std::string param_of(const PositionScheme& scheme, std::string_view key, std::string_view otherwise) {
  const auto param = std::ranges::find(scheme.facts().params, key, &SchemeParam::key);
  return param == scheme.facts().params.end() ? std::string(otherwise) : param->value;
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
