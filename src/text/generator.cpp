// generator.cpp: continuations of one prompt, as requests of a scheduler.
#include "text/generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ordinal/error.h"
#include "text/scheduler.h"
#include "text/stop_strings.h"

namespace ordinal {
namespace {

// Continuations that share passes; each holds a cache of its own.
constexpr int64_t kTogether = 8;

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
  at_least("the context", options.context, 0);
  for (const int64_t count : {options.logprobs, options.prompt_logprobs})
    if (count < -1 || count > vocab_size)
      throw Error("the number of log-probabilities is out of range",
                  "0 to the vocabulary's " + std::to_string(vocab_size), std::to_string(count));
  if (options.prompt_logprobs >= 0 && options.overflow == Overflow::slide)
    throw Error("a prompt that may be cut has no log-probabilities", "a context that does not slide", "both");
}

std::vector<Generation> generate(Session& session, const Tokenizer* tokenizer, std::span<const TokenId> prompt,
                                 const GenerateOptions& options, const GenerateEvents& events) {
  check_generate_options(options, session.model().config().vocab_size);
  Scheduler scheduler(session, tokenizer, std::min(kTogether, options.samples));
  std::vector<Generation> results(static_cast<size_t>(options.samples));
  std::vector<bool> done(results.size());
  size_t told = 0;
  for (int64_t i = 0; i < options.samples; ++i) {
    GenerateRequest request{.prompt = {prompt.begin(), prompt.end()}, .options = options, .events = events, .id = i};
    request.options.samples = 1;
    request.options.sampler.seed += static_cast<uint64_t>(i);
    if (i > 0) request.events.prompt = nullptr;
    request.events.finished = [&, at = static_cast<size_t>(i)](int64_t, const Generation& result) {
      results[at] = result;
      done[at] = true;
      for (; told < done.size() && done[told]; ++told)
        if (events.finished) events.finished(static_cast<int64_t>(told), results[told]);
    };
    scheduler.submit(std::move(request));
  }
  scheduler.run();
  return results;
}

}  // namespace ordinal
