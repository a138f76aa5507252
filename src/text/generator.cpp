// generator.cpp: continuations of one prompt, advanced together, one shared pass a step.
#include "text/generator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "ordinal/error.h"
#include "text/stop_strings.h"

namespace ordinal {
namespace {

using Clock = std::chrono::steady_clock;

// Continuations that share passes; each holds a cache of its own.
constexpr int64_t kTogether = 8;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Run {
  const Tokenizer* tokenizer;
  const GenerateOptions& options;
  const GenerateEvents& events;

  bool cancelled() const { return events.cancel != nullptr && events.cancel->load(std::memory_order_relaxed); }
};

// Appends tokens chunk by chunk. Returns the logits of the last, or nothing when cancelled in between.
std::optional<std::span<const float>> evaluate_in_chunks(Session& session, std::span<const TokenId> tokens,
                                                         const Run& run, bool report) {
  std::span<const float> logits;
  const auto chunk = static_cast<size_t>(session.options().chunk);
  for (size_t done = 0; done < tokens.size();) {
    if (run.cancelled()) return std::nullopt;
    const size_t count = std::min(chunk, tokens.size() - done);
    logits = session.evaluate(tokens.subspan(done, count));
    done += count;
    if (report && run.events.prompt) run.events.prompt(static_cast<int64_t>(done), static_cast<int64_t>(tokens.size()));
  }
  return logits;
}

TokenLogprob logprob_of(std::span<const float> logits, TokenId id, int64_t n_best) {
  TokenLogprob result{id, log_probability(logits, id), {}};
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<ptrdiff_t>(n_best, static_cast<ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  const double drawn = logits[static_cast<size_t>(id)];
  for (auto best = order.begin(); best != end; ++best)
    result.best.emplace_back(*best, result.logprob + (static_cast<double>(logits[static_cast<size_t>(*best)]) - drawn));
  return result;
}

// One continuation: what it has drawn, and what it will evaluate next.
class Continuation {
 public:
  Continuation(const Run& run, int64_t index, std::span<const TokenId> context, SamplerOptions options,
               int64_t vocab_size, std::span<const TokenId> prompt)
      : run_(run),
        index_(index),
        context_(context.begin(), context.end()),
        sampler_(with_seed(std::move(options), index), vocab_size),
        stops_(run.options.stop) {
    sampler_.observe(prompt);
    result_.seed = sampler_.options().seed;
    for (const TokenId id : prompt) remember(id);
  }

  bool done() const { return done_; }
  Session& session() { return *session_; }
  std::span<const TokenId> next() const { return {&result_.ids.back(), 1}; }
  Generation& result() { return result_; }

  void start(Session* session, Clock::time_point prompt_end) {
    session_ = session;
    started_ = prompt_end;
    if (run_.options.max_new_tokens == 0) finish(Finish::length);
  }

  // Draws a token from the logits and looks whether it is the last.
  void draw(std::span<const float> logits) {
    const TokenId id = sampler_.sample(logits);
    result_.ids.push_back(id);
    if (run_.options.logprobs >= 0) result_.logprobs.push_back(logprob_of(logits, id, run_.options.logprobs));
    if (run_.events.token) run_.events.token(index_, id);

    const std::vector<TokenId>& ends = session_->model().config().eos_ids;
    if (!run_.options.ignore_eos && std::ranges::find(ends, id) != ends.end()) return finish(Finish::eot);
    const Tokenizer* tokenizer = run_.tokenizer;
    if (tokenizer != nullptr && id < tokenizer->vocab_size()) {  // a padded vocabulary has ids without a piece
      write(stops_.push(tokenizer->decode_next(previous_, id)));
      remember(id);
      if (stops_.found()) return finish(Finish::stop);
    }
    if (static_cast<int64_t>(result_.ids.size()) == run_.options.max_new_tokens) finish(Finish::length);
  }

  // Called before the drawn token is evaluated: makes sure that there is room, or ends.
  void make_room() {
    const int64_t capacity = session_->capacity();
    if (session_->length() == capacity) {
      if (run_.options.overflow == Overflow::stop) return finish(Finish::context);
      slide();
      if (done_) return;
    }
    context_.push_back(result_.ids.back());
    ++result_.timings.decode_tokens;
  }

  void finish(Finish reason) {
    if (done_) return;
    done_ = true;
    result_.finish = reason;
    if (!stops_.found()) write(stops_.finish());
    emit(utf8_.finish());
    if (session_ != nullptr) result_.timings.decode_ms = ms_since(started_) - sliding_ms_;
  }

 private:
  static SamplerOptions with_seed(SamplerOptions options, int64_t index) {
    options.seed += static_cast<uint64_t>(index);
    return options;
  }

  void remember(TokenId id) {
    if (run_.tokenizer != nullptr && id < run_.tokenizer->vocab_size()) previous_ = id;
  }

  void write(const std::string& bytes) {
    result_.text += bytes;
    emit(utf8_.push(bytes));
  }

  void emit(const std::string& text) {
    if (!text.empty() && run_.events.text) run_.events.text(index_, text);
  }

  // Keys and values of the kept tokens have the same bits as a fresh run's, so they need not be computed again.
  void slide() {
    const Clock::time_point start = Clock::now();
    const auto keep = static_cast<size_t>(run_.options.keep);
    const size_t dropped = (context_.size() - keep + 1) / 2;
    context_.erase(context_.begin() + static_cast<ptrdiff_t>(keep),
                   context_.begin() + static_cast<ptrdiff_t>(keep + dropped));
    session_->rewind(run_.options.keep);
    const auto again = std::span<const TokenId>(context_).subspan(keep);
    if (run_.events.slide)
      run_.events.slide(index_, static_cast<int64_t>(context_.size()), static_cast<int64_t>(dropped));
    if (!evaluate_in_chunks(*session_, again, run_, false)) finish(Finish::interrupted);
    const double spent = ms_since(start);
    sliding_ms_ += spent;
    result_.timings.prefill_ms += spent;
    result_.timings.prefill_tokens += static_cast<int64_t>(again.size());
  }

  const Run& run_;
  const int64_t index_;
  std::vector<TokenId> context_;  // what the session's cache holds
  Session* session_ = nullptr;
  Sampler sampler_;
  StopStrings stops_;
  Utf8Stream utf8_;
  TokenId previous_ = -1;  // the last token that has a piece
  bool done_ = false;
  Clock::time_point started_;
  double sliding_ms_ = 0;
  Generation result_;
};

// Draws and evaluates until every continuation of the group has ended.
void advance(std::vector<Continuation*> live, std::span<const float> prompt_logits, const Run& run) {
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

// The tokens of the prompt that fit: all of them, unless sliding lets the middle go.
std::vector<TokenId> fitting(std::span<const TokenId> prompt, int64_t capacity, const GenerateOptions& options,
                             const GenerateEvents& events) {
  const auto length = static_cast<int64_t>(prompt.size());
  if (prompt.empty())
    throw Error("the prompt is empty", "one token or more", "none", "begin with the token that starts a text");
  if (options.overflow == Overflow::slide && options.keep >= capacity)
    throw Error("there is no room for new tokens beside those that are always kept",
                "fewer than " + std::to_string(capacity) + " kept, the context length", std::to_string(options.keep));
  if (length <= capacity) return {prompt.begin(), prompt.end()};
  if (options.overflow == Overflow::stop)
    throw Error("the prompt is longer than the context", "at most " + std::to_string(capacity) + " tokens",
                std::to_string(length) + " tokens", "a shorter prompt, a longer context, or a sliding one");
  const auto keep = static_cast<size_t>(options.keep);
  std::vector<TokenId> kept(prompt.begin(), prompt.begin() + options.keep);
  const auto last = prompt.last(static_cast<size_t>(capacity) - keep);
  kept.insert(kept.end(), last.begin(), last.end());
  if (events.slide) events.slide(0, capacity, length - capacity);
  return kept;
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
  const std::vector<TokenId> context = fitting(prompt, session.capacity(), options, events);
  const Run run{tokenizer, options, events};

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
      group.push_back(std::make_unique<Continuation>(run, i, context, options.sampler, vocab_size, prompt));
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
