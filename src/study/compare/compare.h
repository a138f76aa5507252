// compare.h: the same weights and texts under several position schemes, side by side in one process.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/tokenizer.h"
#include "results/compared.h"
#include "study/perplexity.h"

namespace ordinal {

struct CompareOptions {
  std::vector<std::string> positions;  // specs and presets (presets.h); empty: @trained
  std::string reference = "native";    // what differences are from
  std::vector<int64_t> lengths;        // windows in tokens; empty: default_lengths(); each counts once
  std::vector<TokenId> prompt;         // continued greedily; may be empty
  int64_t new_tokens = 24;             // of that; 0: nothing is continued, nor drawn past the trained length
  uint64_t seed = 1;                   // of shuffled, made-up and drawn tokens
  bool keep_tokens = false;            // every token's loss in `token_losses`
  int n_threads = 0;
};

// A quarter and a half of the trained length, it, twice and four times it; those that every text fills.
std::vector<int64_t> default_lengths(const Model& model, int64_t text_tokens);

// All that `Compared` holds but file names, the text of the prompt, the command and the findings. The model's own
// scheme is always the first. Throws Error when a text is shorter than a window, for bad specs, and for lengths out of
// range; a scheme that the model cannot run is a row that says why.
Compared compare(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                 std::span<const TokenStream> texts, const CompareOptions& options, const OnProgress& progress);

// What is known of it before anything runs: texts, lengths, schemes and how they stand. Throws the same errors.
Compared outline(const Model& model, std::span<const TokenStream> texts, const CompareOptions& options);

// How long compare() will take, from a trial run of a few tokens.
double estimate_seconds(const std::shared_ptr<const Model>& model, std::span<const TokenStream> texts,
                        const CompareOptions& options);

// The findings, the most telling first: each is there only where the numbers bear it out (headlines.cpp).
std::vector<Finding> findings_of(const Compared& result);

}  // namespace ordinal
