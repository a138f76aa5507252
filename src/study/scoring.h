// scoring.h: which tokens of a text are predicted with how much before them, and what the model held of each.
//
// A perplexity without its windows says little: the same model and text give numbers that differ by a third between
// conventions. So the windows are plain data, planned first and reported with the result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ordinal/session.h"
#include "ordinal/tensor.h"

namespace ordinal {

// Hears how much of a long piece of work is done, and may throw to stop it. Need not be there.
using OnProgress = std::function<void(int64_t done, int64_t total)>;

// The session is emptied and given the tokens [first, first + count); what it says after token t - 1 is how it
// predicts token t. Scored are the predictions of tokens [scored_from, first + count].
struct Window {
  int64_t first = 0;
  int64_t count = 0;
  int64_t scored_from = 1;
  double weight = 1.0;  // of each of its scored tokens in the mean

  int64_t scored() const { return first + count + 1 - scored_from; }
};

// How a stream of tokens is cut.
//   rolling    windows of ctx inputs, `stride` tokens on each time; every token but the first is scored once, in the
//              first window that predicts it. stride = ctx: windows do not overlap. The default, and with stride 32
//              what the authors of GPT-2 said they did.
//   strided    windows of ctx tokens, predictions within the window only, so that without overlap the first token of
//              each is not scored; overlapping windows weigh one token less than they score. The recipe in the
//              documentation of transformers.
//   half       windows of ctx tokens that do not overlap, the second half of each scored; a rest is dropped, and two
//              windows are the least. llama.cpp's perplexity tool.
//   harness    as rolling with stride = ctx, but the last window reaches back to be ctx long. lm-evaluation-harness.
enum class Cut { rolling, strided, half, harness };

// Throws Error when nothing would be scored, or ctx or stride is out of range (stride 1 to ctx, ctx from 1; 2 for
// strided and half).
std::vector<Window> plan_windows(Cut cut, int64_t n_tokens, int64_t ctx, int64_t stride);

// The logits that every session gave before token `target`, and the logarithm of the sum of their exponentials.
struct Prediction {
  const Window& window;
  int64_t target;                                  // place in the stream of the predicted token
  std::span<const std::span<const float>> logits;  // [sessions][V]
  std::span<const double> log_sums;                // [sessions]

  // What session `s` held of the token that came: minus the natural logarithm of its probability.
  double nll(size_t s, TokenId token) const { return log_sums[s] - static_cast<double>(logits[s][token]); }
};

// Runs the windows through all sessions (each with room for the longest window) side by side, so that their predictions
// can be compared token by token without keeping any. `put_first`: stands in for the first token of every window.
// Returns the seconds each session took. `progress` hears of scored tokens. Throws Error for sessions of models whose
// vocabularies differ in size.
std::vector<double> score_windows(std::span<Session> sessions, std::span<const TokenId> tokens,
                                  std::span<const Window> windows, std::optional<TokenId> put_first,
                                  const std::function<void(const Prediction&)>& sink, const OnProgress& progress);

// The divergence of q from p, in nats: how much worse q predicts what p expects (Kullback, Leibler 1951). Both are
// logits [V]; the log sums are theirs.
double kl_divergence(std::span<const float> p, double p_log_sum, std::span<const float> q, double q_log_sum);

// The place of the largest, the first of equals.
TokenId argmax(std::span<const float> logits);

}  // namespace ordinal
