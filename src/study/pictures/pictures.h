// pictures.h: the pictures of position schemes, one function each: from what src/study measures to a figure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/session.h"
#include "results/figure.h"
#include "study/pictures/curves.h"
#include "study/scoring.h"

namespace ordinal {

struct PictureInput {
  std::string spec;                    // "native" already replaced
  std::shared_ptr<const Model> model;  // null without -m
  bool example = false;                // made-up tables in place of a model's
  AttentionShape shape;                // of the model, or of one made up for the picture
  std::optional<int64_t> positions;    // how many to show
  std::optional<int64_t> dims;         // how many dimensions; without a model, its width
  std::optional<int64_t> pair;         // of channels
  int64_t layer = 0;
  std::optional<int64_t> head;  // all of them
  SessionOptions session = {};  // for pictures of a text
  std::vector<TokenId> ids = {};
  std::vector<std::string> pieces = {};  // what the ids say, as labels; may be empty
  std::string against = {};              // a second scheme beside the first, "" for none
  OnProgress progress = {};
};

struct Picture {
  std::string_view name;
  // Blanks around each: "+with" all that modifiers move the keys of, "@scores" all that act on scores, and so on
  // (SchemeInfo::acts_on), "-shaw" but for this one, "rope" this one too; "*" all.
  std::string_view schemes;
  std::string_view summary;
  bool needs_text;  // and so a model
  bool takes_two;   // schemes, to be drawn beside each other
  Figure (*draw)(const PictureInput& input);
};

// A scheme's own picture is the first that fits it.
std::span<const Picture> pictures();

// The picture called `kind` ("": the scheme's own) of the scheme that `spec` begins with. Throws Error, listing those
// that the scheme has.
const Picture& find_picture(std::string_view kind, std::string_view spec);

// With an id of its own, by which several can share a page.
Figure draw_picture(const Picture& picture, const PictureInput& input);

// For the functions that draw: a scheme over the tensors of a model, of examples, or none. `shape` and `spec` may
// differ from the input's. Throws Error for tensors that nothing gives.
std::shared_ptr<const PositionScheme> make_picture_scheme(const PictureInput& input, const AttentionShape& shape,
                                                          const std::string& spec);

Figure draw_heat_map(const PictureInput& input);
Figure draw_waveforms(const PictureInput& input);
Figure draw_similarity(const PictureInput& input);
Figure draw_circle(const PictureInput& input);
Figure draw_counter(const PictureInput& input);
Figure draw_orthogonality(const PictureInput& input);
Figure draw_components(const PictureInput& input);
Figure draw_places(const PictureInput& input);
Figure draw_wavelengths(const PictureInput& input);
Figure draw_slopes(const PictureInput& input);
Figure draw_buckets(const PictureInput& input);
Figure draw_bias(const PictureInput& input);
Figure draw_norms(const PictureInput& input);
Figure draw_prior(const PictureInput& input);
Figure draw_attention(const PictureInput& input);
Figure draw_distances(const PictureInput& input);
Figure draw_loss(const PictureInput& input);
Figure draw_scores(const PictureInput& input);

// Shared by them.
std::vector<int64_t> heads_of(const PictureInput& input);  // the one asked for, or all
// How many tokens or distances a picture shows: what was asked for, else `most`, or with a model its trained length.
int64_t distances_shown(const PictureInput& input, int64_t most);
std::span<const TokenId> tokens_shown(const PictureInput& input, int64_t most);  // the first of the text
// Panels for several heads in a figure of a width that a phone can still show.
void arrange_heads(Figure& figure, double single_height, double height);
std::string head_name(int64_t head);
HeatMap map_of(const Grid& grid, int64_t head, std::string value_title);  // of weights, query by key
std::vector<double> count_from(double first, int64_t count);              // first, first + 1, ...
void note_example(Figure& figure, const PictureInput& input, const std::string& what);

// A chart with a bar for each label.
Chart bar_chart(std::string title, std::string x_title, std::string y_title, std::vector<std::string> labels,
                std::vector<double> values);
// How many of `values` are in each of `bins` equal stretches from `low` to `high`, as bars; others are not counted.
Series histogram(std::span<const double> values, double low, double high, int64_t bins);

}  // namespace ordinal
