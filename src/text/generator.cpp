// generator.cpp: continuations of one prompt, advanced together, one shared pass a step.
#include "text/generator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "ordinal/error.h"
#include "text/continuation.h"
#include "text/draft.h"

namespace ordinal {
namespace {

using Clock = GenerateClock;

// Continuations that share passes; each holds a cache of its own.
constexpr int64_t kTogether = 8;

// Draws and evaluates until every continuation of the group has ended.
void advance(std::vector<Continuation*> live, std::span<const float> prompt_logits, const GenerateRun& run) {
  for (Continuation* continuation : live)
    if (!continuation->done()) continuation->draw(prompt_logits);
  for (;;) {
    std::erase_if(live, [](const Continuation* continuation) { return continuation->done(); });
    if (live.empty()) return;
    if (run.cancelled()) {
      for (Continuation* continuation : live) continuation->finish(Finish::interrupted);
      return;
    }
    for (Continuation* continuation : live) continuation->make_room();
    std::erase_if(live, [](const Continuation* continuation) { return continuation->done(); });
    std::vector<Session::Part> parts;
    for (Continuation* continuation : live) parts.push_back({&continuation->session(), continuation->next()});
    const std::span<const std::span<const float>> logits = Session::evaluate_together(parts);
    for (size_t i = 0; i < live.size(); ++i) live[i]->draw(logits[i]);
  }
}

// The same for one continuation, with guesses at what it will draw.
void advance_with_drafts(Continuation& continuation, std::span<const float> prompt_logits,
                         std::span<const TokenId> prompt, const GenerateRun& run) {
  LookupDraft lookup(run.options.draft_tokens);
  lookup.append(prompt);
  size_t known = 0;  // drawn tokens that the lookup has seen
  if (!continuation.done()) continuation.draw(prompt_logits);
  while (!continuation.done()) {
    if (run.cancelled()) return continuation.finish(Finish::interrupted);
    continuation.make_room();
    if (continuation.done()) return;
    const std::vector<TokenId>& drawn = continuation.result().ids;
    lookup.append(std::span(drawn).subspan(known));
    known = drawn.size();
    const std::vector<TokenId> draft = lookup.propose(continuation.draft_room());
    lookup.learn(static_cast<int64_t>(draft.size()), continuation.draw_along(draft));
  }
}

}  // namespace

std::string_view finish_name(Finish finish) {
  constexpr std::array<std::string_view, 5> kNames = {"length", "stop", "eot", "context", "interrupted"};
  return kNames[static_cast<size_t>(finish)];
}

void check_generate_options(const GenerateOptions& options, int64_t vocab_size) {
  const Sampler sampler(options.sampler, vocab_size);
  const StopStrings stops(options.stop);
  const auto at_least = [](const char* name, int64_t value, int64_t least) {
    if (value < least)
      throw Error(std::string(name) + " is out of range", std::to_string(least) + " or more", std::to_string(value));
  };
  at_least("the number of new tokens", options.max_new_tokens, 0);
  at_least("the number of samples", options.samples, 1);
  at_least("the number of tokens to keep", options.keep, 0);
  at_least("the number of tokens to draft", options.draft_tokens, 0);
  if (options.draft_tokens > 0 && options.samples > 1)
    throw Error("drafts go with one continuation", "1 sample", std::to_string(options.samples) + " samples",
                "no drafts: samples share their passes already");
  if (options.logprobs < -1 || options.logprobs > vocab_size)
    throw Error("the number of log-probabilities is out of range",
                "0 to the vocabulary's " + std::to_string(vocab_size), std::to_string(options.logprobs));
}

std::vector<Generation> generate(Session& session, const Tokenizer* tokenizer, std::span<const TokenId> prompt,
                                 const GenerateOptions& options, const GenerateEvents& events) {
  const int64_t vocab_size = session.model().config().vocab_size;
  check_generate_options(options, vocab_size);
  if (tokenizer == nullptr && !options.stop.empty())
    throw Error("stop strings need text, and the model has no tokenizer", "a model with a tokenizer", "ids only");
  int64_t dropped = 0;
  const std::vector<TokenId> context = fitting(prompt, session.capacity(), options, &dropped);
  if (dropped > 0 && events.slide) events.slide(0, static_cast<int64_t>(context.size()), dropped);
  const GenerateRun run{tokenizer, options, events};

  std::vector<Generation> results;
  const Clock::time_point start = Clock::now();
  session.rewind(0);
  std::vector<float> prompt_logits;  // a copy: the session's own last until its next call
  bool interrupted = false;
  if (const auto logits = evaluate_in_chunks(session, context, run, true))
    prompt_logits.assign(logits->begin(), logits->end());
  else
    interrupted = true;
  const double prefill_ms = ms_since(start);

  for (int64_t first = 0; first < options.samples; first += kTogether) {
    const int64_t count = std::min(kTogether, options.samples - first);
    const bool last_group = first + count == options.samples;
    std::vector<std::unique_ptr<Continuation>> group;
    std::vector<Continuation*> live;
    std::vector<Session> forks;
    forks.reserve(static_cast<size_t>(count));
    for (int64_t i = first; i < first + count; ++i) {
      SamplerOptions sampler = options.sampler;
      sampler.seed += static_cast<uint64_t>(i);
      group.push_back(std::make_unique<Continuation>(run, i, context, std::move(sampler), vocab_size, prompt));
      if (i == 0) {
        group.back()->result().timings.prefill_tokens = session.length();
        group.back()->result().timings.prefill_ms = prefill_ms;
      }
      live.push_back(group.back().get());
    }
    if (interrupted || run.cancelled()) {
      for (Continuation* continuation : live) continuation->finish(Finish::interrupted);
    } else {
      for (int64_t i = 0; i < count; ++i)  // the last of all goes on in the session itself
        if (!(last_group && i == count - 1)) forks.push_back(session.fork());
      const Clock::time_point prompt_end = Clock::now();
      for (size_t i = 0; i < live.size(); ++i) live[i]->start(i < forks.size() ? &forks[i] : &session, prompt_end);
      if (options.draft_tokens > 0)
        advance_with_drafts(*live.front(), prompt_logits, prompt, run);
      else
        advance(live, prompt_logits, run);
    }
    for (const auto& continuation : group) {
      results.push_back(std::move(continuation->result()));
      if (events.finished) events.finished(static_cast<int64_t>(results.size()) - 1, results.back());
    }
  }
  return results;
}

}  // namespace ordinal
