// compare.h: the same weights and text under several position schemes, side by side in one process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/tokenizer.h"
#include "results/compared.h"
#include "study/perplexity.h"

namespace ordinal {

struct CompareOptions {
  std::vector<std::string> positions;  // specs, "native" among them; empty: default_positions()
  std::vector<int64_t> lengths;        // windows in tokens; empty: default_lengths(); each counts once
  std::vector<TokenId> prompt;         // continued greedily, and its attention kept; may be empty
  int64_t new_tokens = 24;
  uint64_t seed = 1;  // of shuffled and made-up tokens
  int n_threads = 0;
};

// Every scheme the weights were trained under; when that is one only, also the ones that need no tensors.
std::vector<std::string> default_positions(const Model& model);
// A quarter and a half of the trained length, it, twice and four times it; those that the text fills.
std::vector<int64_t> default_lengths(const Model& model, int64_t text_tokens);

// All that `Compared` holds but file names, the text of the prompt, the command and the headlines. Native is
// always the first scheme. Nothing is kept of a token once every scheme has predicted it. Throws Error when the text is
// shorter than a window, for bad specs, and for lengths out of range; a scheme that the model cannot run is a row that
// says why.
Compared compare(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                 const CompareOptions& options, const OnProgress& progress);

// The findings in a few sentences, from the numbers alone.
std::vector<std::string> headlines_of(const Compared& result);

}  // namespace ordinal
