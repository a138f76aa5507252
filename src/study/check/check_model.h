// check_model.h: a small random model that any scheme can run in: it has every tensor that a scheme asks for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/session.h"

namespace ordinal {

// Sized for the spec: heads as wide as its rotary_dim, tables as long as its clip, buckets and offset, layers as many
// as it names, at least `n_layers`. Trained length and table of positions: 128. Its norm keeps the mean over
// channels: LayerNorm would take away what the lab schemes add. Throws Error when the spec asks for more than a small
// model has.
std::shared_ptr<const Model> make_check_model(std::string_view spec, int64_t n_layers);

using Logits = std::vector<std::vector<float>>;  // a row a token

// One timeline under a scheme that need not be in the list, so that a check can be tested on a wrong one. What a
// session does, without its checks.
struct TimelineOptions {
  int64_t first_position = 0;
  size_t piece = 1 << 20;  // tokens of one pass
  int n_threads = 1;
  Observer observer = {};
};
Logits logits_under(const std::shared_ptr<const Model>& model, const std::shared_ptr<const PositionScheme>& scheme,
                    std::span<const TokenId> tokens, const TimelineOptions& options = {});

// Several texts in one pass, as sessions that share it.
std::vector<Logits> logits_together(const std::shared_ptr<const Model>& model,
                                    const std::shared_ptr<const PositionScheme>& scheme,
                                    std::span<const std::vector<TokenId>> texts);

}  // namespace ordinal
