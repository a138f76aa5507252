// batch.h: many prompts through one model, a few of them at a time, each step one pass for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/generator.h"

namespace ordinal {

struct BatchRequest {
  std::vector<TokenId> prompt;
  GenerateOptions options;  // one sample, no drafts
};

// Throws Error for a request that generate() would refuse.
void check_batch_request(const BatchRequest& request, const Session& session, const Tokenizer* tokenizer);

// Continues every prompt; each result is, bit for bit, what generate() alone gives. At most `parallel` are at work at
// once; when one ends the next joins. What several prompts begin with is evaluated once: a prompt takes over the
// longest beginning that any cache holds. `session` is started over, keeps what all prompts begin with, and is forked.
//
// In the events `sample` is the index of a request; `finished` comes in order, so a result waits for those before it;
// `prompt` is not called. Returns how many requests have finished so: all, unless cancelled. Throws Error, before
// anything is evaluated, for a request that check_batch_request refuses and when `parallel` is not positive.
int64_t generate_batch(Session& session, const Tokenizer* tokenizer, std::span<const BatchRequest> requests,
                       int64_t parallel, const GenerateEvents& events = {});

}  // namespace ordinal
