// passes.cpp: see passes.h. The schemes run side by side over the same windows, so every difference is paired.
#include "study/compare/passes.h"

#include <algorithm>
#include <cmath>

#include "ordinal/error.h"
#include "study/compare/standing.h"
#include "study/intervals.h"
#include "study/scoring.h"

namespace ordinal {
namespace {

constexpr size_t kNoScheme = static_cast<size_t>(-1);

// A scheme that can run, where it stands in the result, and what it gathers.
struct Runner {
  size_t scheme;
  Standing standing;
  Session session;
  std::vector<double> nll = {};  // of every scored token
  std::vector<double> loss_sums = std::vector<double>(SampledTokens::kStrata, 0.0);
  double seconds = 0;
};

// What the predictions of the sources were against those of all runners, summed.
struct Agreement {
  std::vector<size_t> sources;          // runners
  std::vector<std::vector<double>> kl;  // [sources][runners]
  std::vector<std::vector<double>> top1;
};

// Sessions of the schemes that reach the pass's length; for the others a row that says why not.
std::vector<Runner> make_runners(const PassInput& input, const Pass& pass, Compared& result) {
  std::vector<Runner> runners;
  for (size_t i = 0; i < result.schemes.size(); ++i) {
    const ComparedScheme& scheme = result.schemes[i];
    if (pass.protocol == kRecent && scheme.position != result.native) continue;
    std::string refused = scheme.standing == Standing::refused ? scheme.reason : "";
    if (refused.empty()) try {
        const Stand stand = stand_of(*input.model, scheme.position, pass.length);
        runners.push_back(
            {i, stand.standing,
             Session(input.model,
                     {.position = scheme.position, .capacity = pass.length, .n_threads = input.n_threads})});
      } catch (const Error& error) {
        refused = error.summary();
      }
    if (!refused.empty() && pass.protocol != kRecent)
      result.rows.push_back({.position = scheme.position,
                             .standing = Standing::refused,
                             .length = pass.length,
                             .protocol = std::string(pass.protocol),
                             .refused = refused});
  }
  return runners;
}

std::vector<Window> windows_of(const TokenStream& text, const Pass& pass) {
  const int64_t stride = pass.protocol == kWhole ? pass.length : std::max<int64_t>(1, pass.length / 2);
  return plan_windows(Cut::rolling, static_cast<int64_t>(text.tokens.size()), pass.length, stride);
}

// Scores one text under all runners and adds up.
void score_text(const TokenStream& text, std::span<const Window> windows, int64_t step, std::vector<Runner>& runners,
                Agreement& agreement, const OnProgress& progress) {
  std::vector<TokenId> best(runners.size());
  const auto sink = [&](const Prediction& p) {
    const TokenId token = text.tokens[p.target];
    const auto place = static_cast<size_t>((p.target - p.window.first - 1) / step);
    for (size_t s = 0; s < runners.size(); ++s) {
      const double nll = p.nll(s, token);
      runners[s].nll.push_back(nll);
      runners[s].loss_sums[place] += nll;
      best[s] = argmax(p.logits[s]);
    }
    for (size_t i = 0; i < agreement.sources.size(); ++i)
      for (size_t b = 0, a = agreement.sources[i]; b < runners.size(); ++b) {
        if (a != b) agreement.kl[i][b] += kl_divergence(p.logits[a], p.log_sums[a], p.logits[b], p.log_sums[b]);
        agreement.top1[i][b] += best[a] == best[b] ? 1 : 0;
      }
  };
  std::vector<Session> sessions;
  for (Runner& runner : runners) sessions.push_back(std::move(runner.session));
  const std::vector<double> seconds = score_windows(sessions, text.tokens, windows, std::nullopt, sink, progress);
  for (size_t s = 0; s < runners.size(); ++s) {
    runners[s].session = std::move(sessions[s]);
    runners[s].seconds += seconds[s];
  }
}

Estimate difference(std::span<const double> a, std::span<const double> b, const SampledTokens& sampled) {
  std::vector<double> values(a.size());
  std::ranges::transform(a, b, values.begin(), std::minus());
  return estimate_over_windows(values, sampled);
}

Estimate turned(const Estimate& e) {
  return {.mean = -e.mean, .std_error = e.std_error, .low = -e.high, .high = -e.low, .clusters = e.clusters};
}

void set_difference(ComparedRow& row, const Estimate& delta) {
  row.delta_nll = delta.mean;
  if (delta.has_interval()) row.delta_low = delta.low, row.delta_high = delta.high;
}

void add_pairs(const Pass& pass, const std::vector<Runner>& runners, const SampledTokens& sampled, Compared& result) {
  PairedLosses paired{
      .length = pass.length, .protocol = std::string(pass.protocol), .positions = {}, .differences = {}};
  for (const Runner& runner : runners) paired.positions.push_back(result.schemes[runner.scheme].position);
  const Estimate same{.mean = 0, .std_error = 0, .low = 0, .high = 0, .clusters = 0};
  paired.differences.assign(runners.size(), std::vector<Estimate>(runners.size(), same));
  for (size_t p = 0; p < runners.size(); ++p)
    for (size_t q = 0; q < p; ++q) {
      paired.differences[p][q] = difference(runners[p].nll, runners[q].nll, sampled);
      paired.differences[q][p] = turned(paired.differences[p][q]);
    }
  result.paired.push_back(std::move(paired));
}

void keep_tokens(const PassInput& input, const Pass& pass, const std::vector<Runner>& runners, Compared& result) {
  TokenLosses::Pass kept;
  kept.length = pass.length, kept.protocol = pass.protocol;
  for (size_t t = 0; t < input.texts.size(); ++t)
    for (const Window& window : windows_of(input.texts[t], pass))
      for (int64_t target = window.scored_from; target <= window.first + window.count; ++target) {
        kept.text.push_back(static_cast<int32_t>(t));
        kept.target.push_back(static_cast<int32_t>(target));
        kept.place.push_back(static_cast<int32_t>(target - window.first));
        kept.id.push_back(input.texts[t].tokens[target]);
      }
  for (const Runner& runner : runners) {
    kept.positions.push_back(result.schemes[runner.scheme].position);
    kept.nll.emplace_back(runner.nll.begin(), runner.nll.end());
  }
  result.token_losses.passes.push_back(std::move(kept));
}

// What a row holds of the scheme alone.
ComparedRow plain_row(const Runner& runner, const Pass& pass, const SampledTokens& sampled, int64_t bytes, int64_t fed,
                      const Compared& result) {
  const Estimate loss = estimate(runner.nll, sampled);
  ComparedRow row;
  row.position = result.schemes[runner.scheme].position;
  row.standing = runner.standing;
  row.length = pass.length, row.protocol = pass.protocol;
  row.tokens = static_cast<int64_t>(runner.nll.size());
  row.nll = loss.mean;
  row.std_error = loss.std_error;
  row.ppl = std::exp(loss.mean);
  row.bits_per_byte = loss.mean * static_cast<double>(row.tokens) / std::log(2.0) / static_cast<double>(bytes);
  row.ms_per_token = 1e3 * runner.seconds / static_cast<double>(fed);
  return row;
}

void add_places(ComparedRow& row, const Runner& runner, const SampledTokens& sampled, int64_t step) {
  std::vector<int64_t> counts(SampledTokens::kStrata);
  for (const int32_t stratum : sampled.strata()) ++counts[stratum];
  for (size_t i = 0; i < counts.size() && counts[i] > 0; ++i)
    row.loss_by_position.push_back(runner.loss_sums[i] / static_cast<double>(counts[i]));
  row.loss_step = step;
}

}  // namespace

int64_t tokens_fed(std::span<const TokenStream> texts, const Pass& pass) {
  int64_t fed = 0;
  for (const TokenStream& text : texts)
    for (const Window& window : windows_of(text, pass)) fed += window.count;
  return fed;
}

void run_pass(const PassInput& input, const Pass& pass, Earlier& earlier, Compared& result,
              const OnProgress& progress) {
  std::vector<Runner> runners = make_runners(input, pass, result);
  if (runners.empty()) return;
  const auto runner_of = [&](const std::string& position) {
    for (size_t s = 0; s < runners.size(); ++s)
      if (result.schemes[runners[s].scheme].position == position) return s;
    return kNoScheme;
  };
  const size_t reference = runner_of(result.reference);
  Agreement agreement;
  for (size_t s = 0; s < runners.size(); ++s)
    if (pass.matrix || s == reference) agreement.sources.push_back(s);
  agreement.kl.assign(agreement.sources.size(), std::vector<double>(runners.size(), 0.0));
  agreement.top1 = agreement.kl;

  const int64_t step = std::max<int64_t>(1, (pass.length + SampledTokens::kStrata - 1) / SampledTokens::kStrata);
  SampledTokens sampled;
  int64_t bytes = 0, done = 0;
  for (const TokenStream& text : input.texts) {
    const std::vector<Window> windows = windows_of(text, pass);
    sampled.add_text(windows);
    for (size_t i = 1; i < text.bytes.size(); ++i) bytes += text.bytes[i];
    score_text(text, windows, step, runners, agreement,
               [&](int64_t now, int64_t total) { progress(done + now, total); });
    done += static_cast<int64_t>(text.tokens.size()) - 1;
  }
  const auto scored = static_cast<double>(sampled.size());
  for (size_t i = 0; i < agreement.sources.size(); ++i)
    for (size_t b = 0; b < runners.size(); ++b) agreement.kl[i][b] /= scored, agreement.top1[i][b] /= scored;

  if (input.keep_tokens) keep_tokens(input, pass, runners, result);
  const int64_t fed = tokens_fed(input.texts, pass);
  if (pass.protocol == kRecent) {
    earlier.recent_row = plain_row(runners.front(), pass, sampled, bytes, fed, result);
    earlier.recent = std::move(runners.front().nll);
    return;
  }
  add_pairs(pass, runners, sampled, result);
  const bool past = pass.length > result.trained_length;
  for (size_t s = 0; s < runners.size(); ++s) {
    ComparedRow row = plain_row(runners[s], pass, sampled, bytes, fed, result);
    std::vector<double> delta(runners[s].nll.size());
    const auto against = [&](const std::vector<double>& base, std::string_view position, std::string_view protocol) {
      std::ranges::transform(runners[s].nll, base, delta.begin(), std::minus());
      row.against = position, row.against_protocol = protocol;
      set_difference(row, estimate_over_windows(delta, sampled));
      if (sampled.texts() > 1) row.over_texts = estimate_over_texts(delta, sampled);
      if (pass.protocol != kWhole) return;
      row.delta_by_position = estimate_by_stratum(delta, sampled);
      if (sampled.is_one_window())
        for (Estimate& place : row.delta_by_position) place = {.mean = place.mean, .clusters = 1};
    };
    if (reference == kNoScheme && past && !earlier.recent.empty()) against(earlier.recent, result.native, kRecent);
    if (reference != kNoScheme && s != reference) {
      against(runners[reference].nll, result.reference, pass.protocol);
      const auto source =
          static_cast<size_t>(std::ranges::find(agreement.sources, reference) - agreement.sources.begin());
      row.kl = agreement.kl[source][s];
      row.top1_agreement = agreement.top1[source][s];
    }
    if (past && !earlier.recent.empty()) row.to_inside = difference(runners[s].nll, earlier.recent, sampled);
    if (const auto before = earlier.inside.find(row.position); past && before != earlier.inside.end())
      row.to_trained = difference(runners[s].nll, before->second, sampled);
    if (pass.protocol == kWhole) add_places(row, runners[s], sampled, step);
    result.rows.push_back(std::move(row));
  }
  if (!pass.matrix) return;
  result.matrix_length = pass.length;
  for (Runner& runner : runners) {
    ComparedScheme& scheme = result.schemes[runner.scheme];
    result.matrix.push_back(scheme.position);
    scheme.ms_per_token = 1e3 * runner.seconds / static_cast<double>(fed);
    scheme.cache_bytes = runner.session.cache_bytes();
    earlier.inside[scheme.position] = std::move(runner.nll);
  }
  result.kl = std::move(agreement.kl);
  result.top1 = std::move(agreement.top1);
}

void add_recent_row(const Earlier& earlier, int64_t length, Compared& result) {
  if (earlier.recent.empty()) return;
  ComparedRow row = earlier.recent_row;
  row.length = length;
  for (const ComparedRow& other : result.rows)
    if (other.position == result.reference && other.length == length && other.protocol == kWhole && other.to_inside) {
      row.against = result.reference, row.against_protocol = other.protocol;
      set_difference(row, turned(*other.to_inside));
    }
  result.rows.push_back(std::move(row));
}

}  // namespace ordinal
