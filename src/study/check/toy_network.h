// toy_network.h: a small transformer in double, for properties that rounding to float would hide, and for the one that
// the engine cannot have: attention without a mask. Shares no code with the engine.
#pragma once

#include <functional>

#include "study/check/check.h"
#include "study/check/checks_scores.h"

namespace ordinal {

// Layers of one attention head and a tanh MLP, each added to the residual stream, rows scaled to unit size before both;
// random weights of a fixed seed.
struct ToyNetwork {
  int64_t n_layers = 2;
  bool causal = true;
  std::function<std::vector<double>(const std::vector<double>& head, int64_t position)> turn = {};  // of q and k
};

using DoubleRows = std::vector<std::vector<double>>;

struct ToyResult {
  DoubleRows rows;                  // after the last layer
  std::vector<DoubleRows> outputs;  // the rows after each layer
  std::vector<DoubleRows> weights;  // of each layer: attention of every row over the rows it sees
};

inline constexpr int64_t kToyWidth = 16;

// Random rows, as embedded tokens would be.
DoubleRows toy_rows(int64_t count);
// `first_position`: of the first row.
ToyResult run_toy(const ToyNetwork& network, const DoubleRows& rows, int64_t first_position = 0);

// C4: all positions moved by 100, under a turn of q and k that depends on the distance only.
Check check_toy_shift(const ToyNetwork& network, const std::string& scheme);
// C5: without a mask, rows in another order come out in that order.
Check check_toy_permuted(const ToyNetwork& network);
// C6: under a causal mask, the rows before the last in another order: unseen by one layer, seen by two.
Check check_toy_prefix(const ToyNetwork& network);
// C7: on rows that are all alike, row t gives 1/t to each of the t it sees, and all rows come out alike.
Checks check_toy_counting(const ToyNetwork& network);

}  // namespace ordinal
