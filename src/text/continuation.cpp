// continuation.cpp: see continuation.h.
#include "text/continuation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ordinal/error.h"

namespace ordinal {

TokenLogprob logprob_of(std::span<const float> logits, TokenId id, int64_t n_best) {
  TokenLogprob result{id, log_probability(logits, id), {}};
  if (n_best == 0) return result;
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

double ms_since(GenerateClock::time_point start) {
  return std::chrono::duration<double, std::milli>(GenerateClock::now() - start).count();
}

std::vector<TokenId> fitting(std::span<const TokenId> prompt, int64_t capacity, const GenerateOptions& options,
                             int64_t* dropped) {
  if (dropped != nullptr) *dropped = 0;
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
  if (dropped != nullptr) *dropped = length - capacity;
  return kept;
}

Continuation::Continuation(const GenerateRun& run, int64_t index, std::vector<TokenId> context, SamplerOptions sampler,
                           int64_t vocab_size, std::span<const TokenId> prompt)
    : run_(run),
      index_(index),
      context_(std::move(context)),
      sampler_(std::move(sampler), vocab_size),
      stops_(run.options.stop) {
  sampler_.observe(prompt);
  result_.seed = sampler_.options().seed;
  for (const TokenId id : prompt) remember(id);
}

void Continuation::start(Session* session, GenerateClock::time_point prompt_end) {
  session_ = session;
  started_ = prompt_end;
  if (run_.options.max_new_tokens == 0) finish(Finish::length);
}

void Continuation::draw(std::span<const float> logits) {
  const TokenId id = sampler_.sample(logits);
  result_.ids.push_back(id);
  if (run_.options.logprobs >= 0) {
    result_.logprobs.push_back(logprob_of(logits, id, run_.options.logprobs));
    if (run_.events.logprob) run_.events.logprob(index_, result_.logprobs.back());
  }
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

void Continuation::make_room() {
  const int64_t capacity = session_->capacity();
  if (session_->length() == capacity) {
    if (run_.options.overflow == Overflow::stop) return finish(Finish::context);
    slide();
  }
  context_.push_back(result_.ids.back());
  ++result_.timings.decode_tokens;
  ++result_.timings.passes;
}

int64_t Continuation::draft_room() const {
  // The pass draws one token more than were drafted. More than a pass's rows would take another.
  const int64_t wanted = run_.options.max_new_tokens - static_cast<int64_t>(result_.ids.size()) - 1;
  const int64_t fits = session_->capacity() - static_cast<int64_t>(context_.size());
  return std::min({wanted, fits, session_->options().chunk - 1});
}

int64_t Continuation::draw_along(std::span<const TokenId> draft, std::span<const std::span<const float>> logits) {
  int64_t accepted = 0;
  for (size_t row = 0; row < logits.size(); ++row) {
    draw(logits[row]);
    if (done_ || run_.cancelled() || row == draft.size() || result_.ids.back() != draft[row]) break;
    context_.push_back(draft[row]);
    ++accepted;
  }
  session_->rewind(static_cast<int64_t>(context_.size()));
  result_.timings.decode_tokens += accepted;
  result_.timings.draft_proposed += static_cast<int64_t>(draft.size());
  result_.timings.draft_accepted += accepted;
  return accepted;
}

void Continuation::finish(Finish reason) {
  if (done_) return;
  done_ = true;
  result_.finish = reason;
  window_is_read();
  if (!stops_.found()) write(stops_.finish());
  emit(utf8_.finish());
  if (session_ != nullptr) result_.timings.decode_ms = ms_since(started_) - sliding_ms_;
}

void Continuation::remember(TokenId id) {
  if (run_.tokenizer != nullptr && id < run_.tokenizer->vocab_size()) previous_ = id;
}

void Continuation::write(const std::string& bytes) {
  result_.text += bytes;
  emit(utf8_.push(bytes));
}

void Continuation::emit(const std::string& text) {
  if (!text.empty() && run_.events.text) run_.events.text(index_, text);
}

// Keys and values of the kept tokens have the same bits as a fresh run's, so they need not be computed again.
void Continuation::slide() {
  slid_ = GenerateClock::now();
  const auto keep = static_cast<size_t>(run_.options.keep);
  const size_t dropped = (context_.size() - keep + 1) / 2;
  context_.erase(context_.begin() + static_cast<ptrdiff_t>(keep),
                 context_.begin() + static_cast<ptrdiff_t>(keep + dropped));
  session_->rewind(run_.options.keep);
  result_.timings.prefill_tokens += std::ssize(context_) - run_.options.keep;
  if (run_.events.slide)
    run_.events.slide(index_, static_cast<int64_t>(context_.size()), static_cast<int64_t>(dropped));
}

void Continuation::window_is_read() {
  if (!slid_) return;
  const double spent = ms_since(*slid_);
  slid_.reset();
  sliding_ms_ += spent;
  result_.timings.prefill_ms += spent;
}

}  // namespace ordinal
