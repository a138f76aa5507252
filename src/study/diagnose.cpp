// diagnose.cpp: see diagnose.h.
#include "study/diagnose.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "ordinal/error.h"
#include "study/intervals.h"
#include "study/scoring.h"

namespace ordinal {
namespace {

constexpr int64_t kWindow = 128;    // positions matter within a paragraph already
constexpr int64_t kQuickest = 128;  // fewer tokens rank by chance
constexpr size_t kFinalists = 8;

using Candidate = DiagnosisCandidate;

// What is tried for each scheme: every fact that files and converters disagree on (POSITIONS.md's traps).
std::vector<Candidate> spellings(const ModelConfig& c) {
  std::vector<Candidate> all = {{"native", "as the file says"}, {"none", "no positions"}};
  const std::string root = significant(std::sqrt(static_cast<double>(c.d_model)), 9);
  const std::string inverse = significant(1 / std::sqrt(static_cast<double>(c.d_model)), 9);
  for (const char* layout : {"interleaved", "concat"})
    for (const char* spacing : {"paper", "t2t"})
      for (const char* first : {"0", "1", "2"})
        all.push_back({std::string("sinusoidal:layout=") + layout + ",spacing=" + spacing + ",first=" + first,
                       "layout, spacing, first position"});
  for (const std::string& scale : {root, inverse}) all.push_back({"sinusoidal:scale=" + scale, "scale"});
  for (const char* offset : {"0", "1", "2"}) all.push_back({std::string("learned:offset=") + offset, "offset"});
  for (const char* pairing : {"half", "interleaved"}) {
    for (const char* theta : {"10000", "100000", "500000", "1000000"})
      all.push_back({std::string("rope:theta=") + theta + ",pairing=" + pairing, "pairing, theta"});
    for (const int64_t part : {2, 4})
      if (c.head_dim / part >= 2 && c.head_dim / part % 2 == 0)
        all.push_back({std::string("rope:pairing=") + pairing + ",rotary_dim=" + std::to_string(c.head_dim / part),
                       "rotary_dim"});
    for (const char* factor : {"2", "4", "8"})
      all.push_back({std::string("rope:pairing=") + pairing + ",scaling=linear,factor=" + factor, "scaling"});
  }
  for (const char* spec : {"alibi", "alibi:slopes=naive", "alibi:max_bias=4", "alibi:max_bias=16"})
    all.push_back({spec, "slopes"});
  for (const char* spec : {"t5_bias", "t5_bias:max_distance=64", "t5_bias:max_distance=256", "relative_bias", "shaw",
                           "shaw:values=0", "xl"})
    all.push_back({spec, "tables"});
  return all;
}

// The native rope with one fact changed: its other facts may be right.
void add_variants_of_native(const Model& model, std::vector<Candidate>& all) {
  const std::string& native = model.file().notes().position;
  if (native.find(';') != std::string::npos || !native.starts_with("rope")) return;
  const PositionSpec spec = parse_position_spec(native);
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = "rope:" + key + "=" + value;
    for (const auto& [other, its] : spec.params)
      if (other != key) text += "," + other + "=" + its;
    return text;
  };
  for (const char* pairing : {"half", "interleaved"}) all.push_back({with("pairing", pairing), "pairing"});
  for (const char* theta : {"10000", "100000", "500000", "1000000"}) all.push_back({with("theta", theta), "theta"});
}

// Losses of the candidates token by token, [candidates][tokens], and how the tokens hang together.
struct Losses {
  std::vector<std::vector<double>> values;
  SampledTokens sampled;
};
Losses losses(const std::shared_ptr<const Model>& model, const TokenStream& stream,
              const std::vector<Candidate>& candidates, int64_t tokens, int n_threads,
              const std::function<void(int64_t)>& progress) {
  const int64_t count = std::min(tokens + 1, static_cast<int64_t>(stream.tokens.size()));
  const auto part = std::span(stream.tokens).first(count);
  const int64_t window = std::min({kWindow, model->config().max_seq_len, count - 1});
  const std::vector<Window> windows = plan_windows(Cut::rolling, count, window, window);
  Losses made{.values = std::vector<std::vector<double>>(candidates.size()), .sampled = {}};
  made.sampled.add_text(windows);
  for (size_t i = 0; i < candidates.size(); ++i) {
    Session session(model, {.position = candidates[i].spec, .capacity = window, .n_threads = n_threads});
    score_windows({&session, 1}, part, windows, std::nullopt,
                  [&](const Prediction& p) { made.values[i].push_back(p.nll(0, part[p.target])); }, {});
    progress(count - 1);
  }
  return made;
}

}  // namespace

std::vector<Candidate> diagnosis_candidates(const Model& model) {
  std::vector<Candidate> all = spellings(model.config());
  add_variants_of_native(model, all);
  std::vector<Candidate> usable;
  std::set<std::string> seen;
  for (const Candidate& candidate : all) {
    try {
      const auto scheme = model.make_scheme(candidate.spec, std::min(kWindow, model.config().max_seq_len));
      if (scheme->max_positions() < std::min(kWindow, model.config().max_seq_len)) continue;
      if (seen.insert(scheme->spec()).second) usable.push_back({scheme->spec(), candidate.fact});
    } catch (const Error&) {
      // its tensors are not there, or it does not fit these heads
    }
  }
  return usable;
}

std::vector<DiagnosisRow> diagnose(const std::shared_ptr<const Model>& model, const TokenStream& stream, int64_t tokens,
                                   int n_threads, const OnProgress& progress) {
  const std::vector<Candidate> candidates = diagnosis_candidates(*model);
  const int64_t quick = std::min(tokens, std::max(kQuickest, tokens / 4));
  const auto finalists = std::min(candidates.size(), kFinalists + 1);
  const int64_t total = static_cast<int64_t>(candidates.size()) * quick + static_cast<int64_t>(finalists) * tokens;
  int64_t done = 0;
  const auto step = [&](int64_t count) {
    done += count;
    if (progress) progress(std::min(done, total), total);
  };
  const auto results = [&](const std::vector<Candidate>& of, int64_t count) {
    const auto [values, sampled] = losses(model, stream, of, count, n_threads, step);
    std::vector<DiagnosisRow> made;
    for (size_t i = 0; i < of.size(); ++i) {
      std::vector<double> delta;
      for (size_t t = 0; t < values[i].size(); ++t) delta.push_back(values[i][t] - values[0][t]);
      const Estimate paired = estimate(delta, sampled);
      made.push_back({of[i].spec, of[i].fact, static_cast<int64_t>(values[i].size()), estimate(values[i], sampled).mean,
                      paired.mean, i == 0 ? 0 : paired.std_error});
    }
    return made;
  };
  std::vector<DiagnosisRow> first = results(candidates, quick);  // the native scheme is the first candidate
  const std::string native = first.front().position;
  std::ranges::stable_sort(first, {}, &DiagnosisRow::nll);
  std::vector<Candidate> chosen = {{native, "as the file says"}};
  for (const DiagnosisRow& d : first)
    if (d.position != native && chosen.size() < finalists) chosen.push_back({d.position, d.fact});
  std::vector<DiagnosisRow> ranked = results(chosen, tokens);
  std::ranges::stable_sort(ranked, {}, &DiagnosisRow::nll);
  for (DiagnosisRow& d : first)
    if (std::ranges::find(chosen, d.position, &Candidate::spec) == chosen.end()) ranked.push_back(std::move(d));
  return ranked;
}

}  // namespace ordinal
