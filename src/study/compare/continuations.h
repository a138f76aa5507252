// continuations.h: the text that each scheme goes on with: the likeliest after a prompt, and drawn past the trained
// length.
#pragma once

#include <memory>
#include <span>

#include "study/compare/compare.h"

namespace ordinal {

// Where a drawn text begins: so many tokens of the stream stand before it, and so many are drawn.
struct SamplePlan {
  int64_t before = 0, drawn = 0;
};
SamplePlan plan_sample(const Model& model, const TokenStream& stream, const CompareOptions& options);

// The likeliest token at every step after options.prompt, with its surprisal; as far as the scheme goes.
void continue_prompt(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                     const CompareOptions& options, ComparedScheme& scheme);

// The same draws for every scheme, from its own predictions.
void draw_sample(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                 const SamplePlan& plan, const CompareOptions& options, ComparedScheme& scheme);

// What stands before the samples, in pieces.
void note_sample_start(const Tokenizer& tokenizer, const TokenStream& stream, const SamplePlan& plan, Compared& result);

}  // namespace ordinal
