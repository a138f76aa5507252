// plan.h: a sweep as a person writes it, and the units that it is cut into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "results/sweep.h"
#include "study/perplexity.h"

namespace ordinal {

// As the plan has it; what it leaves out is as said here.
struct SweepPlan {
  std::vector<std::string> models;                 // paths; none: the default model
  std::vector<std::string> texts;                  // paths; none: the default text
  std::vector<std::string> schemes;                // specs and presets, braces expanded; none: @trained
  std::vector<int64_t> lengths;                    // windows in tokens; none: the trained length of each model
  std::vector<std::string> protocols = {"whole"};  // whole, sliding
  std::vector<std::string> tasks;                  // copy, find, passkey; none unless asked for
  std::vector<uint64_t> seeds = {1};               // of the tasks' made-up tokens
  std::string reference = "native";                // what differences are from
  int64_t tokens = 0;                              // of each text, the first so many; 0: all
};

// Throws Error, with the place, for JSON that is no plan.
SweepPlan parse_sweep_plan(std::string_view json, const std::string& name);

// "rope:factor={2,4}" as "rope:factor=2" and "rope:factor=4": every combination where there are several braces. Throws
// Error for a brace without its other half, one within another, or nothing in it.
std::vector<std::string> expand_braces(std::string_view text);

// The units for one model and text, in the order of the plan. A unit holds a few schemes beside the reference.
std::vector<SweepUnit> units_of(const SweepPlan& plan, const Model& model, const std::string& model_name,
                                const TokenStream& text);

// Multiply-adds that a unit takes, about: enough to begin with the longest.
double cost_of(const SweepUnit& unit, const Model& model, const TokenStream& text);

}  // namespace ordinal
