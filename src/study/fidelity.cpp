// fidelity.cpp: see fidelity.h.
#include "study/fidelity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "study/intervals.h"
#include "study/scoring.h"

namespace ordinal {

int64_t fidelity_window(const Model& source, const TokenStream& stream) {
  const int64_t longest = std::min(source.config().max_seq_len, static_cast<int64_t>(stream.tokens.size()));
  return std::min(longest, source.make_scheme("native", longest)->max_positions());
}

Fidelity measure_fidelity(std::shared_ptr<const Model> source, std::shared_ptr<const Model> written,
                          const TokenStream& stream, int n_threads, const OnProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  Fidelity result;
  result.text = stream.name;
  result.start_token = stream.start.has_value();
  result.ctx = fidelity_window(*source, stream);
  const std::vector<Window> windows =
      plan_windows(Cut::rolling, static_cast<int64_t>(stream.tokens.size()), result.ctx, result.ctx);
  std::vector<Session> sessions;
  for (std::shared_ptr<const Model>* model : {&source, &written})
    sessions.emplace_back(std::move(*model), SessionOptions{.capacity = result.ctx, .n_threads = n_threads});

  std::vector<double> changes;
  double kl = 0;
  int64_t agreed = 0;
  score_windows(
      sessions, stream.tokens, windows, std::nullopt,
      [&](const Prediction& prediction) {
        const TokenId token = stream.tokens[prediction.target];
        const double before = prediction.nll(0, token), after = prediction.nll(1, token);
        result.source_nll += before;
        result.written_nll += after;
        changes.push_back(after - before);
        kl += kl_divergence(prediction.logits[0], prediction.log_sums[0], prediction.logits[1], prediction.log_sums[1]);
        agreed += argmax(prediction.logits[0]) == argmax(prediction.logits[1]) ? 1 : 0;
      },
      progress);
  result.tokens = static_cast<int64_t>(changes.size());
  const auto count = static_cast<double>(changes.size());
  SampledTokens sampled;
  sampled.add_text(windows);
  const Estimate change = estimate(changes, sampled);
  result.source_nll /= count;
  result.written_nll /= count;
  result.change_nll = change.mean;
  result.change_stderr = change.std_error;
  result.change_ppl_percent = 100 * std::expm1(change.mean);
  result.kl = kl / count;
  result.agreement_percent = 100 * static_cast<double>(agreed) / count;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace ordinal
