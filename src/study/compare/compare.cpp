// compare.cpp: see compare.h.
#include "study/compare/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ordinal/error.h"
#include "position/scheme.h"
#include "study/compare/passes.h"
#include "study/compare/presets.h"
#include "study/compare/probes.h"
#include "study/compare/standing.h"
#include "study/scoring.h"

namespace ordinal {
namespace {

// What predicting each token by its frequency in the texts themselves costs, and how much that flatters itself: a
// frequency counted on what it predicts is too good by about half a nat in all for each kind of token, and worse by as
// much for another text.
void measure_frequencies(std::span<const TokenStream> texts, Compared& result) {
  std::map<TokenId, int64_t> counts;
  int64_t total = 0, most = 0;
  for (const TokenStream& text : texts)
    for (size_t i = 1; i < text.tokens.size(); ++i) ++counts[text.tokens[i]], ++total;
  double sum = 0;
  for (const auto& [token, count] : counts) {
    sum -= static_cast<double>(count) * std::log(static_cast<double>(count) / static_cast<double>(total));
    most = std::max(most, count);
  }
  result.unigram_nll = sum / static_cast<double>(total);
  result.unigram_slack = static_cast<double>(counts.size() - 1) / static_cast<double>(total);
  result.recall_chance = static_cast<double>(most) / static_cast<double>(total);
}

// The model's own scheme first, then the reference, then what was asked for; none twice.
void add_schemes(const Model& model, const CompareOptions& options, Compared& result) {
  const int64_t inside = std::min(result.lengths.back(), result.trained_length);
  std::set<std::string> seen;
  const auto add = [&](const std::string& spec) {
    Stand stand = stand_of(model, spec, inside);
    ComparedScheme scheme;
    scheme.position = stand.scheme ? stand.scheme->spec() : spec;
    const std::string position = scheme.position;
    if (!seen.insert(position).second) return position;
    scheme.standing = stand.standing;
    scheme.question = stand.question;
    scheme.reason = std::move(stand.reason);
    if (stand.scheme) {
      scheme.kind = stand.scheme->facts().kind;
      scheme.remarks = stand.scheme->facts().remarks;
      for (const SchemeTensor& tensor : stand.scheme->facts().tensors)
        scheme.table_bytes += model.file().find(tensor.name)->bytes;
    }
    result.schemes.push_back(std::move(scheme));
    return position;
  };
  result.native = add("native");
  result.reference = add(options.reference);
  for (const std::string& spec : chosen_positions(model, options.positions, result.lengths)) add(spec);
}

void check_lengths(std::span<const TokenStream> texts, Compared& result) {
  std::ranges::sort(result.lengths);
  result.lengths.erase(std::ranges::unique(result.lengths).begin(), result.lengths.end());
  const auto shortest = std::ranges::min_element(texts, {}, [](const TokenStream& text) { return text.tokens.size(); });
  const auto most = static_cast<int64_t>(shortest->tokens.size()) - 1;
  for (const int64_t length : result.lengths)
    if (length < 1 || length > most)
      throw Error("a length to compare at is out of range",
                  "1 to " + std::to_string(most) + ", one less than " +
                      (texts.size() > 1 ? shortest->name + ", the shortest text, has tokens" : "the text has tokens"),
                  std::to_string(length), "a longer text (-f), or smaller --lengths");
}

// The passes in their order: what others are compared with comes first.
std::vector<Pass> passes_of(const Compared& result) {
  std::vector<Pass> passes;
  bool past = false;
  for (const int64_t length : result.lengths) {
    if (length > result.trained_length && !past) {
      past = true;
      passes.push_back({.length = result.trained_length, .protocol = kRecent});
    }
    passes.push_back({.length = length, .protocol = kWhole});
    if (past) passes.push_back({.length = length, .protocol = kSliding});
  }
  // The matrix is of the longest length inside, and of the shortest when there is none.
  Pass* inside = &*std::ranges::find(passes, kWhole, &Pass::protocol);
  for (Pass& pass : passes)
    if (pass.protocol == kWhole && pass.length <= result.trained_length) inside = &pass;
  inside->matrix = true;
  return passes;
}

std::vector<int64_t> lengths_to_use(const Model& model, std::span<const TokenStream> texts,
                                    const CompareOptions& options) {
  if (!options.lengths.empty()) return options.lengths;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (const TokenStream& text : texts) shortest = std::min(shortest, static_cast<int64_t>(text.tokens.size()));
  return default_lengths(model, shortest);
}

// One text after the other, for tasks that only draw from them.
TokenStream all_in_one(std::span<const TokenStream> texts) {
  TokenStream all = texts.front();
  for (const TokenStream& text : texts.subspan(1)) {
    const size_t skip = text.start ? 1 : 0;
    all.tokens.insert(all.tokens.end(), text.tokens.begin() + skip, text.tokens.end());
    all.bytes.insert(all.bytes.end(), text.bytes.begin() + skip, text.bytes.end());
    all.words.insert(all.words.end(), text.words.begin() + skip, text.words.end());
  }
  return all;
}

}  // namespace

Compared outline(const Model& model, std::span<const TokenStream> texts, const CompareOptions& options) {
  Compared result;
  result.trained_positions = model.file().notes().trained_positions;
  result.trained_length = model.config().max_seq_len;
  for (const TokenStream& text : texts) {
    ComparedText& row = result.texts.emplace_back();
    row.name = text.name;
    row.tokens = static_cast<int64_t>(text.tokens.size());
    for (const int32_t bytes : text.bytes) row.bytes += bytes;
    result.text += (result.text.empty() ? "" : ", ") + text.name;
    result.text_tokens += row.tokens;
    result.text_bytes += row.bytes;
  }
  for (const TensorView& tensor : model.file().tensors()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    result.parameters += count;
  }
  result.seed = options.seed;
  result.lengths = lengths_to_use(model, texts, options);
  check_lengths(texts, result);
  add_schemes(model, options, result);
  return result;
}

std::vector<int64_t> default_lengths(const Model& model, int64_t text_tokens) {
  const int64_t trained = model.config().max_seq_len;
  std::vector<int64_t> lengths;
  for (const int64_t length : {trained / 4, trained / 2, trained, 2 * trained, 4 * trained})
    if (length >= 2 && length < text_tokens) lengths.push_back(length);
  if (lengths.empty()) lengths.push_back(text_tokens - 1);
  return lengths;
}

Compared compare(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                 std::span<const TokenStream> texts, const CompareOptions& options, const OnProgress& progress) {
  Compared result = outline(*model, texts, options);
  measure_frequencies(texts, result);
  const TokenStream all = all_in_one(texts);
  const std::vector<Pass> passes = passes_of(result);
  const ProbePlan probes = plan_probes(*model, &tokenizer, all, result.lengths, options);
  const int64_t scored = result.text_tokens - static_cast<int64_t>(texts.size());
  const int64_t total = scored * static_cast<int64_t>(passes.size()) + probes.tokens;
  int64_t done = 0;
  const auto report_done = [&](int64_t now, int64_t) {
    if (progress) progress(done + now, total);
  };
  const PassInput input{
      .model = model, .texts = texts, .n_threads = options.n_threads, .keep_tokens = options.keep_tokens};
  Earlier earlier;
  for (const Pass& pass : passes) {
    run_pass(input, pass, earlier, result, report_done);
    if (pass.protocol == kWhole && pass.length > result.trained_length) add_recent_row(earlier, pass.length, result);
    done += scored;
  }
  run_probes(model, tokenizer, all, probes, options, result, report_done);
  return result;
}

double estimate_seconds(const std::shared_ptr<const Model>& model, std::span<const TokenStream> texts,
                        const CompareOptions& options) {
  constexpr int64_t kTrial = 64;  // tokens; the second of two runs counts, the first wakes the machine
  const Compared plan = outline(*model, texts, options);
  const TokenStream& text = texts.front();
  const int64_t last = model->make_scheme("native", kTrial)->max_positions();
  const auto count = std::min({kTrial, last, static_cast<int64_t>(text.tokens.size())});
  Session session(model, {.position = "native", .capacity = count, .n_threads = options.n_threads});
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {
    const auto start = std::chrono::steady_clock::now();
    session.rewind(0);
    session.evaluate_all(std::span(text.tokens).first(count), [](int64_t, std::span<const float>) {});
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int64_t schemes = 0;
  for (const ComparedScheme& scheme : plan.schemes) schemes += scheme.standing == Standing::refused ? 0 : 1;
  double tokens = 0;
  for (const Pass& pass : passes_of(plan))
    tokens += static_cast<double>(tokens_fed(texts, pass) * (pass.protocol == kRecent ? 1 : schemes));
  constexpr int64_t kDecode = 4;  // a token by itself takes as long as so many of a text
  const ProbePlan probes = plan_probes(*model, nullptr, all_in_one(texts), plan.lengths, options);
  for (const ProbeTask& task : probes.tasks) tokens += static_cast<double>(std::ssize(task.tokens) * schemes);
  tokens +=
      static_cast<double>((probes.sample.before + kDecode * (probes.sample.drawn + options.new_tokens)) * schemes);
  return tokens * seconds / static_cast<double>(count);
}

}  // namespace ordinal
