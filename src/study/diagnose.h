// diagnose.h: which position facts a checkpoint was really made with, found by its loss on a text.
//
// A wrong pairing or base gives no error, only a model that seems badly trained. It shows at once in the loss when the
// right one is tried beside it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ordinal/model.h"
#include "results/results.h"
#include "study/perplexity.h"

namespace ordinal {

// Specs worth trying on this model: the native scheme with one or more facts changed, and other schemes with theirs.
// Those that the model lacks the tensors for are left out.
struct DiagnosisCandidate {
  std::string spec, fact;
};
std::vector<DiagnosisCandidate> diagnosis_candidates(const Model& model);

// Tries all candidates on the first quarter of `tokens` (128 at least), the eight best and the native one on all; best
// first, those of the second round before the others.
std::vector<DiagnosisRow> diagnose(const std::shared_ptr<const Model>& model, const TokenStream& stream, int64_t tokens,
                                   int n_threads, const OnProgress& progress);

}  // namespace ordinal
