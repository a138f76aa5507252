// places.cpp: the picture of where keys stand under a scheme's modifiers.
#include <cmath>
#include <utility>

#include "study/pictures/pictures.h"
#include "study/places.h"

namespace ordinal {

Figure draw_places(const PictureInput& input) {
  const int64_t trained = input.shape.trained_length, query = input.positions.value_or(3 * trained) - 1;
  const std::vector<double> places = places_of_keys(input.spec, input.shape, query);
  // A line for each stretch of keys that are seen.
  std::vector<Series> lines;
  bool goes_on = false;
  for (int64_t n = 0; n <= query; ++n) {
    const double place = places[static_cast<size_t>(query - n)];
    if (!std::isnan(place)) {
      if (!goes_on) lines.push_back({.name = lines.empty() ? input.spec : "", .scheme = input.spec});
      lines.back().x.push_back(static_cast<double>(n));
      lines.back().y.push_back(place);
    }
    goes_on = !std::isnan(place);
  }
  Series plain{
      .name = "rope", .x = count_from(0, query + 1), .y = count_from(0, query + 1), .dashed = true, .scheme = "rope"};
  lines.push_back(std::move(plain));
  Chart chart{.x = {.title = "how many tokens back a key is"},
              .y = {.title = "the distance at which it stands", .from = 0},
              .series = std::move(lines),
              .markers = {{.at = static_cast<double>(trained - 1),
                           .label = "the farthest in training, " + std::to_string(trained - 1),
                           .horizontal = true}},
              .key = "places"};
  return {.title = "Where keys stand under " + input.spec,
          .description = "Line chart of the distance that a query sees a key at, by how far back the key is.",
          .panels = {std::move(chart)},
          .panel_height = 320,
          .notes = {"For the last query of " + std::to_string(query + 1) + " tokens, in a model trained on " +
                    std::to_string(trained) + "; keys that it does not see have no point."}};
}

}  // namespace ordinal
