// fidelity.h: what became of a model's predictions when its weights were written in another kind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ordinal/model.h"
#include "results/results.h"
#include "study/perplexity.h"

namespace ordinal {

// The window to measure with: the trained length, or all of the text where that is shorter.
int64_t fidelity_window(const Model& source, const TokenStream& stream);

// Scores the stream with both models, each under its own position scheme, in windows that lie side by side
// (Cut::rolling) and compares them token by token. `progress` hears of scored tokens. Throws Error
// for models of different vocabularies, and for a stream of fewer than two tokens.
Fidelity measure_fidelity(std::shared_ptr<const Model> source, std::shared_ptr<const Model> written,
                          const TokenStream& stream, int n_threads, const OnProgress& progress);

}  // namespace ordinal
