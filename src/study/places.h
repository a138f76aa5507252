// places.h: at what distance a modifier of position schemes lets a query see its keys, measured on the engine's hooks.
#pragma once

#include <string_view>
#include <vector>

#include "ordinal/position.h"

namespace ordinal {

// For a query at `position` and each key from 0 on, the distance at which it stands under rope with the modifiers of
// `spec` (";with=..." of its first scheme); NaN for a key that is not seen. Found by the angle between the two, with a
// pair of channels that turns slowly, so to about a thousandth of a position.
std::vector<double> places_of_keys(std::string_view spec, const AttentionShape& shape, int64_t position);

}  // namespace ordinal
