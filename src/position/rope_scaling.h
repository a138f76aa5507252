// rope_scaling.h: what a scaling makes of rope's angles, so that a model reads further than it was trained.
#pragma once

#include <vector>

#include "position/scheme.h"

namespace ordinal {

// The angles a scaling starts from and leaves: those of plain rope when it is called.
struct RopeAngles {
  double theta = 10000;
  int64_t rotary_dim = 0;
  std::vector<double> frequencies;  // [rotary_dim / 2], radians per position
  double magnitude = 1;             // multiplies every cosine and sine
};

// theta^(-2i / rotary_dim) for i = 0 .. rotary_dim / 2 - 1.
std::vector<double> rope_frequencies(double theta, int64_t rotary_dim);

// The parameter `fraction`, 0 to 1; and what it does once the angles are scaled: pairs past that part of them stand
// still.
double rope_fraction(ParamReader& params);
void keep_fraction(RopeAngles& angles, double fraction);

// The numbers of a table that divides angles, all finite and above 0; none when the model has no such table.
std::vector<double> factors_of(const SchemeTable& table, const ParamReader& params);

// Reads the parameters of its own, then changes the angles.
struct RopeScaling {
  SchemeInfo info;  // its name is a value of `scaling`
  void (*apply)(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader& tables);
};
std::span<const RopeScaling> rope_scaling_table();

}  // namespace ordinal
