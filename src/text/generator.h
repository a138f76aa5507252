// generator.h: the loop from a prompt's ids to new ids and their text.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/sampler.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"

namespace ordinal {

// Why a continuation ended: enough tokens, a stop string, an end token, a full context, or the cancel flag.
enum class Finish : uint8_t { length, stop, eot, context, interrupted };
std::string_view finish_name(Finish finish);

// What happens when the context is full.
//   stop   the continuation ends
//   slide  the first `keep` tokens stay, the older half of the others goes, and what is left is evaluated again at the
//          positions it now has: what follows is, bit for bit, what a fresh run on the kept tokens gives
enum class Overflow : uint8_t { stop, slide };

struct GenerateOptions {
  int64_t max_new_tokens = 128;
  SamplerOptions sampler;         // continuation i draws with seed + i
  int64_t samples = 1;            // continuations of the prompt
  std::vector<std::string> stop;  // end the text before the first of these; they may span tokens
  bool ignore_eos = false;        // go on after an end token
  Overflow overflow = Overflow::stop;
  int64_t keep = 0;       // tokens that always stay when sliding
  int64_t context = 0;    // most tokens held, in place of as many as the session can; 0: those
  int64_t logprobs = -1;  // record the log-probability of each new token and this many of the best; -1: nothing
  // The same of each token of the prompt but the first, which nothing precedes. The whole prompt is evaluated for it,
  // whatever a cache holds.
  int64_t prompt_logprobs = -1;
  int64_t draft_tokens = 0;  // guess as many tokens and check them in one pass (draft.h); changes no result; 0: none
};

struct TokenLogprob {
  TokenId id;
  double logprob;                                // natural logarithm, as the model has it: before any option
  std::vector<std::pair<TokenId, double>> best;  // the likeliest tokens, best first
};

struct GenerateTimings {
  // Of the prompt and of windows evaluated again. What a cache held counts for no one: of a prompt that has just been
  // evaluated, for the sample before, that leaves the last token.
  int64_t prefill_tokens = 0;
  double prefill_ms = 0;
  int64_t decode_tokens = 0;  // new tokens evaluated: the last one never is
  double decode_ms = 0;       // from the prompt's end to this continuation's, without windows evaluated again
  int64_t passes = 0;         // that the decode tokens took; fewer than tokens when drafts were accepted
  int64_t draft_proposed = 0, draft_accepted = 0;  // tokens
};

struct Generation {
  uint64_t seed = 0;
  std::vector<TokenId> ids;  // every token drawn, an end token and those of a stop string included
  std::string text;          // exact bytes, without end token and stop string; empty without a tokenizer
  Finish finish = Finish::length;
  std::vector<TokenLogprob> logprobs;         // one an id, where asked for
  std::vector<TokenLogprob> prompt_logprobs;  // one a token of the prompt from the second on, where asked for
  GenerateTimings timings;
};

// Called while generating; any may be empty. Continuations advance together: `sample` says which.
struct GenerateEvents {
  std::function<void(int64_t done, int64_t total)> prompt;                   // tokens of the prompt evaluated
  std::function<void(int64_t sample, TokenId id)> token;                     // a token was drawn
  std::function<void(int64_t sample, const TokenLogprob& logprob)> logprob;  // of that token, where asked for
  std::function<void(int64_t sample, std::string_view text)> text;           // whole characters, but for a last one cut
  std::function<void(int64_t sample, int64_t kept, int64_t dropped)> slide;  // the context was full; tokens of it
  std::function<void(int64_t sample, const Generation& result)> finished;    // in order of `sample`
  const std::atomic<bool>* cancel = nullptr;  // looked at between tokens, and between passes of the prompt
};

// Throws Error for an option that is out of range, before anything long is done.
void check_generate_options(const GenerateOptions& options, int64_t vocab_size);

// Continues `prompt` in `session`, which is started over, and in up to seven more like it when there are several
// samples (scheduler.h). `tokenizer` may be null: ids only, no stop strings.
// A prompt may fill the context. Throws Error for an empty prompt, and for one longer than the context unless sliding:
// then its first `keep` tokens and as many of the last as fit are used.
std::vector<Generation> generate(Session& session, const Tokenizer* tokenizer, std::span<const TokenId> prompt,
                                 const GenerateOptions& options, const GenerateEvents& events = {});

}  // namespace ordinal
