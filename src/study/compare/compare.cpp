// compare.cpp: see compare.h. The schemes run side by side over the same windows, so every difference is paired.
#include "study/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "ordinal/error.h"
#include "position/scheme.h"
#include "study/compare/probes.h"
#include "study/compare/standing.h"
#include "study/intervals.h"
#include "study/scoring.h"

namespace ordinal {
namespace {

constexpr int64_t kLossPlaces = 32;  // of loss by position

// A scheme that can run, where it stands in the result.
struct Runner {
  size_t scheme;
  Session session;
};

struct Pass {
  int64_t length;
  bool sliding;
};

// What one scheme gathers in one pass.
struct Tally {
  std::vector<double> nll, delta;
  std::vector<double> loss;
  std::vector<int64_t> counts;
};

// Sessions of the schemes that reach `length`; for the others a row that says why not.
std::vector<Runner> make_runners(const std::shared_ptr<const Model>& model, Compared& result, const Pass& pass,
                                 int n_threads) {
  std::vector<Runner> runners;
  for (size_t i = 0; i < result.schemes.size(); ++i) {
    const ComparedScheme& scheme = result.schemes[i];
    std::string refused = scheme.standing == Standing::refused ? scheme.reason : "";
    if (refused.empty()) try {
        runners.push_back(
            {i, Session(model, {.position = scheme.position, .capacity = pass.length, .n_threads = n_threads})});
      } catch (const Error& error) {
        refused = error.summary();
      }
    if (!refused.empty())
      result.rows.push_back({.position = scheme.position,
                             .length = pass.length,
                             .protocol = pass.sliding ? "sliding" : "whole",
                             .refused = refused});
  }
  return runners;
}

// Whether the weights were trained for what a row measures: an exact scheme is as its twin inside the trained length
// only.
bool is_trained(Standing standing, bool inside) {
  return standing == Standing::trained || standing == Standing::jointly || (standing == Standing::exact && inside);
}

// Scores the text once under all runners. With `matrix` also every pair of schemes against each other.
void run_pass(std::vector<Runner>& runners, const TokenStream& stream, const Pass& pass, bool matrix, Compared& result,
              const OnProgress& progress) {
  const auto n_tokens = static_cast<int64_t>(stream.tokens.size());
  const int64_t stride = pass.sliding ? std::max<int64_t>(1, pass.length / 2) : pass.length;
  const std::vector<Window> windows = plan_windows(Cut::rolling, n_tokens, pass.length, stride);
  SampledTokens sampled;
  sampled.add_text(windows);
  const bool has_native = runners.front().scheme == 0;
  const size_t count = runners.size();
  const int64_t step = std::max<int64_t>(1, pass.length / kLossPlaces);
  std::vector<Tally> tallies(count);
  for (Tally& tally : tallies) {
    tally.loss.resize((pass.length + step - 1) / step);
    tally.counts.resize(tally.loss.size());
  }
  const size_t sources = matrix ? count : has_native ? 1 : 0;
  std::vector<std::vector<double>> kl(sources, std::vector<double>(count)), top1 = kl;
  std::vector<TokenId> best(count);
  std::vector<double> nll(count);
  int64_t bytes = 0;
  const auto sink = [&](const Prediction& p) {
    const auto at = static_cast<size_t>(p.target);
    bytes += stream.bytes[at];
    const auto place = static_cast<size_t>((p.target - p.window.first - 1) / step);
    for (size_t s = 0; s < count; ++s) {
      best[s] = argmax(p.logits[s]);
      nll[s] = p.nll(s, stream.tokens[at]);
      Tally& tally = tallies[s];
      tally.nll.push_back(nll[s]);
      tally.loss[place] += nll[s];
      ++tally.counts[place];
      if (has_native) tally.delta.push_back(nll[s] - nll[0]);
    }
    // From the native scheme, which is the first, or from all.
    for (size_t a = 0; a < sources; ++a)
      for (size_t b = 0; b < count; ++b) {
        if (a != b) kl[a][b] += kl_divergence(p.logits[a], p.log_sums[a], p.logits[b], p.log_sums[b]);
        top1[a][b] += best[a] == best[b] ? 1 : 0;
      }
  };
  std::vector<Session> sessions;
  for (Runner& runner : runners) sessions.push_back(std::move(runner.session));
  const std::vector<double> seconds = score_windows(sessions, stream.tokens, windows, std::nullopt, sink, progress);

  int64_t fed = 0;
  for (const Window& window : windows) fed += window.count;
  const auto scored = static_cast<double>(tallies.front().nll.size());
  for (size_t s = 0; s < count; ++s) {
    Tally& tally = tallies[s];
    const ComparedScheme& scheme = result.schemes[runners[s].scheme];
    const Estimate loss = estimate(tally.nll, sampled);
    ComparedRow row;
    row.position = scheme.position;
    row.trained = is_trained(scheme.standing, pass.length <= result.trained_length);
    row.length = pass.length;
    row.protocol = pass.sliding ? "sliding" : "whole";
    row.tokens = static_cast<int64_t>(tally.nll.size());
    row.nll = loss.mean;
    row.std_error = loss.std_error;
    row.ppl = std::exp(loss.mean);
    row.bits_per_byte = loss.mean * scored / std::log(2.0) / static_cast<double>(bytes);
    if (has_native && s > 0) {
      const Estimate delta = estimate(tally.delta, sampled);
      row.delta_nll = delta.mean;
      row.delta_low = delta.low;
      row.delta_high = delta.high;
      row.kl = kl[0][s] / scored;
      row.top1_agreement = top1[0][s] / scored;
    }
    if (!pass.sliding)
      for (size_t i = 0; i < tally.loss.size(); ++i)
        row.loss_by_position.push_back(tally.loss[i] / static_cast<double>(tally.counts[i]));
    row.loss_step = step;
    row.ms_per_token = 1e3 * seconds[s] / static_cast<double>(fed);
    result.rows.push_back(std::move(row));
  }
  if (!matrix) return;
  result.matrix_length = pass.length;
  for (size_t a = 0; a < count; ++a) {
    result.matrix.push_back(result.schemes[runners[a].scheme].position);
    ComparedScheme& scheme = result.schemes[runners[a].scheme];
    scheme.ms_per_token = 1e3 * seconds[a] / static_cast<double>(fed);
    scheme.cache_bytes = sessions[a].cache_bytes();
    for (size_t b = 0; b < count; ++b) {
      kl[a][b] /= scored;
      top1[a][b] /= scored;
    }
  }
  result.kl = std::move(kl);
  result.top1 = std::move(top1);
}

// Nats per token when each is predicted by its frequency in the text itself.
double unigram_nll(const TokenStream& stream) {
  std::map<TokenId, int64_t> counts;
  for (size_t i = 1; i < stream.tokens.size(); ++i) ++counts[stream.tokens[i]];
  const auto total = static_cast<double>(stream.tokens.size() - 1);
  double sum = 0;
  for (const auto& [token, count] : counts)
    sum -= static_cast<double>(count) * std::log(static_cast<double>(count) / total);
  return sum / total;
}

// The schemes asked for, native first, none twice.
void add_schemes(const Model& model, const std::vector<std::string>& specs, int64_t longest, Compared& result) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& spec) {
    Stand stand = stand_of(model, spec, longest);
    ComparedScheme scheme;
    scheme.position = stand.scheme ? stand.scheme->spec() : spec;
    if (!seen.insert(scheme.position).second) return;
    scheme.standing = stand.standing;
    scheme.reason = std::move(stand.reason);
    if (stand.scheme) {
      scheme.kind = stand.scheme->facts().kind;
      scheme.remarks = stand.scheme->facts().remarks;
      for (const SchemeTensor& tensor : stand.scheme->facts().tensors)
        scheme.table_bytes += model.file().find(tensor.name)->bytes;
    }
    result.schemes.push_back(std::move(scheme));
  };
  add("native");
  for (const std::string& spec : specs) {
    check_position_spec(spec);  // text that is no spec at all is the user's slip, not a row
    add(spec);
  }
}

}  // namespace

std::vector<std::string> default_positions(const Model& model) {
  const ModelNotes& notes = model.file().notes();
  std::vector<std::string> specs = {notes.position};
  specs.insert(specs.end(), notes.trained_positions.begin(), notes.trained_positions.end());
  if (notes.trained_positions.size() == 1) std::ranges::move(schemes_without_tensors(), std::back_inserter(specs));
  return specs;
}

std::vector<int64_t> default_lengths(const Model& model, int64_t text_tokens) {
  const int64_t trained = model.config().max_seq_len;
  std::vector<int64_t> lengths;
  for (const int64_t length : {trained / 4, trained / 2, trained, 2 * trained, 4 * trained})
    if (length >= 2 && length < text_tokens) lengths.push_back(length);
  if (lengths.empty()) lengths.push_back(text_tokens - 1);
  return lengths;
}

Compared compare(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                 const CompareOptions& options, const OnProgress& progress) {
  const ModelConfig& c = model->config();
  const auto n_tokens = static_cast<int64_t>(stream.tokens.size());
  Compared result;
  result.native = model->file().notes().position;
  result.trained_positions = model->file().notes().trained_positions;
  result.trained_length = c.max_seq_len;
  result.text = stream.name;
  result.text_tokens = n_tokens;
  for (const int32_t bytes : stream.bytes) result.text_bytes += bytes;
  for (const TensorView& tensor : model->file().tensors()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    result.parameters += count;
  }
  result.seed = options.seed;
  result.lengths = options.lengths.empty() ? default_lengths(*model, n_tokens) : options.lengths;
  std::ranges::sort(result.lengths);
  result.lengths.erase(std::ranges::unique(result.lengths).begin(), result.lengths.end());
  for (const int64_t length : result.lengths)
    if (length < 1 || length >= n_tokens)
      throw Error("a length to compare at is out of range",
                  "1 to " + std::to_string(n_tokens - 1) + ", one less than the text has tokens",
                  std::to_string(length), "a longer text (-f), or smaller --lengths");
  add_schemes(*model, options.positions.empty() ? default_positions(*model) : options.positions, result.lengths.back(),
              result);
  result.unigram_nll = unigram_nll(stream);

  std::vector<Pass> passes;
  int64_t matrix_length = result.lengths.front();
  for (const int64_t length : result.lengths) {
    passes.push_back({length, false});
    if (length > c.max_seq_len) passes.push_back({length, true});
    if (length <= c.max_seq_len) matrix_length = length;
  }
  const ProbePlan probes = plan_probes(*model, stream, result.lengths, options);
  const int64_t scored = n_tokens - 1;
  const int64_t total = scored * static_cast<int64_t>(passes.size()) + probes.tokens;
  int64_t done = 0;
  const auto report_done = [&](int64_t now, int64_t) {
    if (progress) progress(done + now, total);
  };
  for (const Pass& pass : passes) {
    std::vector<Runner> runners = make_runners(model, result, pass, options.n_threads);
    if (!runners.empty())
      run_pass(runners, stream, pass, !pass.sliding && pass.length == matrix_length, result, report_done);
    done += scored;
  }
  run_probes(model, tokenizer, stream, probes, options, result, report_done);
  return result;
}

}  // namespace ordinal
