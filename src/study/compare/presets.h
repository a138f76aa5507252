// presets.h: sets of schemes by name, "@trained" and others, for the list that a comparison is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"

namespace ordinal {

struct Preset {
  std::string_view name, summary;
  std::vector<std::string> (*specs)(const Model& model, std::span<const int64_t> lengths);
};
std::span<const Preset> presets();

// A list of specs and presets with commas between them. Throws Error for names that there are not, with the nearest.
std::vector<std::string> split_choice(std::string_view text);

// What was chosen, with the specs of its presets in their place; @trained when nothing was. `lengths`: of the windows,
// from which methods that stretch a scheme take how far. Throws Error for a preset that this model has nothing for.
std::vector<std::string> chosen_positions(const Model& model, std::span<const std::string> choice,
                                          std::span<const int64_t> lengths);

}  // namespace ordinal
