// units.h: one unit of a sweep, done.
#pragma once

#include <memory>

#include "ordinal/model.h"
#include "ordinal/tokenizer.h"
#include "results/sweep.h"
#include "study/perplexity.h"

namespace ordinal {

// Fills the unit's rows, one for each of its positions. Throws Error where nothing can be measured: the text is too
// short, the model has no tokenizer that can name a number.
void run_unit(SweepUnit& unit, const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
              const TokenStream& text, int n_threads, const OnProgress& progress);

}  // namespace ordinal
