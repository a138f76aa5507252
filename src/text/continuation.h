// continuation.h: one text that grows token by token, whoever evaluates its tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/generator.h"
#include "text/stop_strings.h"

namespace ordinal {

using GenerateClock = std::chrono::steady_clock;
double ms_since(GenerateClock::time_point start);

// What `logits` held of a token, and the `n_best` that they hold likeliest.
TokenLogprob logprob_of(std::span<const float> logits, TokenId id, int64_t n_best);

// What one call of generate() is given. The parts must outlive it.
struct GenerateRun {
  const Tokenizer* tokenizer;
  const GenerateOptions& options;
  const GenerateEvents& events;

  bool cancelled() const { return events.cancel != nullptr && events.cancel->load(std::memory_order_relaxed); }
};

// The tokens of the prompt that fit: all of them, unless sliding lets the middle go. Throws Error as generate() does.
// `dropped`, where given, becomes how many did not fit.
std::vector<TokenId> fitting(std::span<const TokenId> prompt, int64_t capacity, const GenerateOptions& options,
                             int64_t* dropped = nullptr);

// One continuation: what it has drawn, and what is to be evaluated next. Its owner evaluates: first the context, then,
// after start() and a draw(), again and again make_room() and what the session lacks of the context: the token next(),
// or after a slide the window before it too (then window_is_read()). Its logits go to draw(), until done().
class Continuation {
 public:
  // `context` are the tokens of `prompt` that fit; `index` is what events are told.
  Continuation(const GenerateRun& run, int64_t index, std::vector<TokenId> context, SamplerOptions sampler,
               int64_t vocab_size, std::span<const TokenId> prompt);

  bool done() const { return done_; }
  std::span<const TokenId> context() const { return context_; }  // what the cache holds, or will when started
  TokenId next() const { return result_.ids.back(); }
  Generation& result() { return result_; }

  // `session` holds the context.
  void start(Session* session, GenerateClock::time_point prompt_end);

  // Draws a token from the logits and looks whether it is the last.
  void draw(std::span<const float> logits);

  // Called before the drawn token is evaluated: makes sure that there is room, and adds it to the context, or ends.
  void make_room();
  void window_is_read();  // after a slide, when the session holds the context; else nothing

  // In place of draw(), when `draft` was evaluated after next() in the same pass: draws from the logits, one for next()
  // and each drafted token, as long as what was drawn is what was drafted, which is what one token at a time gives.
  // Returns how many were. The draft must fit draft_room().
  int64_t draw_along(std::span<const TokenId> draft, std::span<const std::span<const float>> logits);
  int64_t draft_room() const;  // after make_room()

  void finish(Finish reason);

 private:
  void remember(TokenId id);
  void write(const std::string& bytes);
  void emit(const std::string& text);
  void slide();

  const GenerateRun run_;
  const int64_t index_;
  std::vector<TokenId> context_;
  Session* session_ = nullptr;
  Sampler sampler_;
  StopStrings stops_;
  Utf8Stream utf8_;
  TokenId previous_ = -1;  // the last token that has a piece
  bool done_ = false;
  GenerateClock::time_point started_;
  std::optional<GenerateClock::time_point> slid_;  // while the window is evaluated again
  double sliding_ms_ = 0;
  Generation result_;
};

}  // namespace ordinal
