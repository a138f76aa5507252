// passes.h: one pass of a comparison: the texts, cut in one way, under all schemes that can go there, side by side.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "results/compared.h"
#include "study/perplexity.h"

namespace ordinal {

struct Pass {
  int64_t length = 0;  // of the windows
  std::string_view protocol;
  bool matrix = false;  // with every scheme's prediction against every other's
};

// What later passes are compared with, for the same tokens in the same order: the losses of each scheme at the longest
// length inside the trained one, and those of the model's own scheme on the last tokens, with their row.
struct Earlier {
  std::map<std::string, std::vector<double>> inside;
  std::vector<double> recent;
  ComparedRow recent_row;
};

struct PassInput {
  std::shared_ptr<const Model> model;
  std::span<const TokenStream> texts;
  int n_threads = 0;
  bool keep_tokens = false;  // in result.token_losses
};

// Appends the rows of the pass to `result`, whose schemes, reference and lengths are known, and its paired differences.
// A `recent` pass is of the model's own scheme and makes no rows: add_recent_row() does, for every longer length.
void run_pass(const PassInput& input, const Pass& pass, Earlier& earlier, Compared& result, const OnProgress& progress);

// The row of the `recent` pass, if there was one, as the baseline of a longer length. Its difference is to the
// reference.
void add_recent_row(const Earlier& earlier, int64_t length, Compared& result);

// How many tokens a pass feeds to each scheme.
int64_t tokens_fed(std::span<const TokenStream> texts, const Pass& pass);

}  // namespace ordinal
