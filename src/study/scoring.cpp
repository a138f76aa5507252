// scoring.cpp: see scoring.h.
#include "study/scoring.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "kernels/kernels.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr int64_t kRowsAtOnce = 64;  // predictions held for all sessions at a time

double log_sum_of(std::span<const float> logits, std::vector<float>& scratch) {
  const float best = *std::ranges::max_element(logits);
  scratch.resize(logits.size());
  std::ranges::transform(logits, scratch.begin(), [best](float logit) { return logit - best; });
  kernels().exponential(scratch.data(), static_cast<int64_t>(scratch.size()));
  double sum = 0;
  for (const float value : scratch) sum += static_cast<double>(value);
  return static_cast<double>(best) + std::log(sum);
}

[[noreturn]] void refuse_short(const std::string& needed, int64_t n_tokens) {
  throw Error("the text is too short to score", needed, std::to_string(n_tokens) + " tokens",
              "a longer text, or a smaller --ctx");
}

}  // namespace

std::vector<Window> plan_windows(Cut cut, int64_t n_tokens, int64_t ctx, int64_t stride) {
  const bool within = cut == Cut::strided || cut == Cut::half;  // predictions stay inside the window
  if (ctx < (within ? 2 : 1))
    throw Error("the window is too short", within ? "2 tokens or more" : "1 token or more", std::to_string(ctx));
  if (stride < 1 || stride > ctx)
    throw Error("the stride is out of range", "1 to " + std::to_string(ctx) + ", the window", std::to_string(stride));
  if (n_tokens < 2) refuse_short("2 tokens or more: the first has nothing before it", n_tokens);
  std::vector<Window> windows;
  if (cut == Cut::half) {
    if (n_tokens < 2 * ctx) refuse_short("two windows, " + std::to_string(2 * ctx) + " tokens", n_tokens);
    for (int64_t first = 0; first + ctx <= n_tokens; first += ctx)
      windows.push_back({.first = first, .count = ctx - 1, .scored_from = first + ctx / 2 + 1});
    return windows;
  }
  int64_t scored_to = 0;  // the last token scored so far; token 0 never is
  for (int64_t first = 0; scored_to < n_tokens - 1; first += stride) {
    Window window{.first = first, .count = std::min(within ? ctx - 1 : ctx, n_tokens - 1 - first)};
    if (cut == Cut::harness && first > 0) {
      window.first = std::max<int64_t>(0, n_tokens - 1 - ctx < first ? n_tokens - 1 - ctx : first);
      window.count = std::min(ctx, n_tokens - 1 - window.first);
    }
    // Without overlap nothing inside a window predicts its first token.
    window.scored_from = std::max(scored_to + 1, window.first + 1);
    if (window.scored() > 0) {
      if (cut == Cut::strided && first > 0) {
        const int64_t new_tokens = window.first + window.count - scored_to;
        window.weight =
            static_cast<double>(std::max<int64_t>(new_tokens - 1, 0)) / static_cast<double>(window.scored());
      }
      windows.push_back(window);
      scored_to = window.first + window.count;
    } else if (within) {
      break;  // a last token on its own
    }
  }
  return windows;
}

std::vector<double> score_windows(std::span<Session> sessions, std::span<const TokenId> tokens,
                                  std::span<const Window> windows, std::optional<TokenId> put_first,
                                  const std::function<void(const Prediction&)>& sink, const OnProgress& progress) {
  using Clock = std::chrono::steady_clock;
  int64_t total = 0, done = 0;
  for (const Window& window : windows) total += window.scored();
  std::vector<double> seconds(sessions.size(), 0.0), log_sums(sessions.size());
  std::vector<std::vector<float>> held(sessions.size());  // [rows, V]
  std::vector<std::span<const float>> logits(sessions.size());
  std::vector<float> scratch;
  std::vector<TokenId> inputs;
  const auto vocab_size = static_cast<size_t>(sessions.front().model().config().vocab_size);
  for (const Session& session : sessions)
    if (const int64_t other = session.model().config().vocab_size; other != static_cast<int64_t>(vocab_size))
      throw Error("models of different vocabularies cannot be compared token by token",
                  std::to_string(vocab_size) + " tokens in each", std::to_string(other));
  for (const Window& window : windows) {
    const auto part = tokens.subspan(window.first, window.count);
    inputs.assign(part.begin(), part.end());
    if (put_first) inputs.front() = *put_first;
    const std::span<const TokenId> all(inputs);
    const auto unscored = static_cast<size_t>(window.scored_from - 1 - window.first);
    for (size_t row = unscored; row < inputs.size();) {
      const auto rows = all.subspan(row, std::min<size_t>(kRowsAtOnce, inputs.size() - row));
      for (size_t s = 0; s < sessions.size(); ++s) {
        const Clock::time_point start = Clock::now();
        if (row == unscored) {
          sessions[s].rewind(0);
          if (unscored > 0) sessions[s].evaluate(all.first(unscored));
        }
        held[s].resize(rows.size() * vocab_size);
        sessions[s].evaluate_all(rows, [&](int64_t r, std::span<const float> row_logits) {
          std::ranges::copy(row_logits, held[s].begin() + r * static_cast<int64_t>(vocab_size));
        });
        seconds[s] += std::chrono::duration<double>(Clock::now() - start).count();
      }
      for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t s = 0; s < sessions.size(); ++s) {
          logits[s] = std::span<const float>(held[s]).subspan(r * vocab_size, vocab_size);
          log_sums[s] = log_sum_of(logits[s], scratch);
        }
        sink({window, window.first + static_cast<int64_t>(row + r) + 1, logits, log_sums});
      }
      row += rows.size();
      done += static_cast<int64_t>(rows.size());
      if (progress) progress(done, total);
    }
  }
  return seconds;
}

double kl_divergence(std::span<const float> p, double p_log_sum, std::span<const float> q, double q_log_sum) {
  thread_local std::vector<float> weights;
  const auto shift = static_cast<float>(p_log_sum);
  weights.resize(p.size());
  std::ranges::transform(p, weights.begin(), [shift](float logit) { return logit - shift; });
  kernels().exponential(weights.data(), static_cast<int64_t>(weights.size()));
  double sum = 0, weight = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    weight += static_cast<double>(weights[i]);
    sum += static_cast<double>(weights[i]) * (static_cast<double>(p[i]) - static_cast<double>(q[i]));
  }
  return std::max(0.0, sum / weight - p_log_sum + q_log_sum);
}

TokenId argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace ordinal
