// components.h: principal components of a table of positions.
#pragma once

#include <vector>

#include "study/pictures/curves.h"

namespace ordinal {

struct Components {
  std::vector<double> singular_values;  // of the centred table, greatest first
  std::vector<double> shares;           // of its variance, one each
  Grid scores;                          // [rows, components]: the rows' places along them
};

// The first `count` components of `table`, or as many as it can have. The sign of each is such that its greatest
// channel is above 0.
Components principal_components(const Grid& table, int64_t count);

}  // namespace ordinal
