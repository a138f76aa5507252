// check_model.h: a small random model that any scheme can run in: it has every tensor that the scheme declares.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/session.h"

namespace ordinal {

// Sized for the spec: its tables, made up, heads as wide as its rotary_dim, layers as many as it names, at least
// `n_layers`. Trained length: 128. Its norm keeps the mean over channels: LayerNorm would take away what the lab
// schemes add. Throws Error when the spec asks for more than a small model has.
std::shared_ptr<const Model> make_check_model(std::string_view spec, int64_t n_layers);

using Logits = std::vector<std::vector<float>>;  // a row a token

// A text under a scheme that need not be in the list, so that a check can be tested on a wrong one.
Logits logits_under(const std::shared_ptr<const Model>& model, const std::shared_ptr<const PositionScheme>& scheme,
                    std::span<const TokenId> tokens, SessionOptions options = {.n_threads = 1, .observer = {}});

// The last token's of several texts in one pass.
Logits last_logits_together(const std::shared_ptr<const Model>& model,
                            const std::shared_ptr<const PositionScheme>& scheme,
                            std::span<const std::vector<TokenId>> texts);

}  // namespace ordinal
