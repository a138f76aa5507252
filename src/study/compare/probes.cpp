// probes.cpp: see probes.h.
#include "study/compare/probes.h"

#include <algorithm>
#include <random>

#include "ordinal/error.h"
#include "study/intervals.h"
#include "study/scoring.h"

namespace ordinal {
namespace {

constexpr int64_t kOrderWindows = 12, kCopyWindows = 4, kFindWindows = 8;  // at most, of each task
constexpr int64_t kCue = 6, kKey = 4;
constexpr int64_t kAttentionTokens = 1024;  // of the text, for distances
constexpr int64_t kPassKeyWindows = 4;      // of each depth
constexpr size_t kMapTokens = 40;           // for maps

using Random = std::mt19937_64;  // the same numbers everywhere; the distributions of <random> are not

int64_t below(Random& random, int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); }

void shuffle(std::span<TokenId> tokens, Random& random) {
  for (auto i = static_cast<int64_t>(tokens.size()) - 1; i > 0; --i) std::swap(tokens[i], tokens[below(random, i + 1)]);
}

// A token drawn as often as the text has it, start and end tokens aside.
TokenId draw(const TokenStream& stream, Random& random) {
  for (;;) {
    const auto at = static_cast<size_t>(below(random, static_cast<int64_t>(stream.tokens.size())));
    if (stream.bytes[at] > 0) return stream.tokens[at];
  }
}

// Appends a window; its last `scored` tokens are scored.
void append(ProbeTask& task, const std::vector<TokenId>& tokens, int64_t scored) {
  const auto first = static_cast<int64_t>(task.tokens.size()), count = static_cast<int64_t>(tokens.size());
  task.windows.push_back({.first = first, .count = count - 1, .scored_from = first + count - scored});
  task.tokens.insert(task.tokens.end(), tokens.begin(), tokens.end());
  task.scored_each = scored;
}

// The text from `first` on, `count` tokens, after the start token if there is one.
std::vector<TokenId> piece_of(const TokenStream& stream, int64_t first, int64_t count) {
  std::vector<TokenId> tokens;
  if (stream.start) tokens.push_back(*stream.start);
  while (static_cast<int64_t>(tokens.size()) < count)
    tokens.push_back(stream.tokens[static_cast<size_t>(first++) % stream.tokens.size()]);
  return tokens;
}

void add_order_tasks(ProbePlan& plan, const TokenStream& stream, int64_t length, Random& random) {
  ProbeTask plain{.name = "in order", .length = length};
  ProbeTask shuffled{.name = "shuffled", .length = length};
  const auto n = static_cast<int64_t>(stream.tokens.size());
  const int64_t scored = std::max<int64_t>(1, length / 4);
  for (int64_t i = 0; i < std::clamp<int64_t>(n / length, 1, kOrderWindows); ++i) {
    std::vector<TokenId> tokens = piece_of(stream, i * length, length);
    append(plain, tokens, scored);
    const auto before = static_cast<size_t>(length - scored);
    if (before > 1) shuffle(std::span(tokens).subspan(1, before - 1), random);
    append(shuffled, tokens, scored);
  }
  plan.tasks.push_back(std::move(plain));
  plan.tasks.push_back(std::move(shuffled));
}

void add_recall_tasks(ProbePlan& plan, const TokenStream& stream, int64_t length, Random& random) {
  ProbeTask copy{.name = "copy", .length = length};
  const int64_t half = (length - (stream.start ? 1 : 0)) / 2;
  for (int64_t i = 0; i < kCopyWindows && half > 0; ++i) {
    std::vector<TokenId> tokens = piece_of(stream, 0, stream.start ? 1 : 0), drawn;
    for (int64_t k = 0; k < half; ++k) drawn.push_back(draw(stream, random));
    for (int twice = 0; twice < 2; ++twice) tokens.insert(tokens.end(), drawn.begin(), drawn.end());
    append(copy, tokens, half);
  }
  if (!copy.windows.empty()) plan.tasks.push_back(std::move(copy));

  ProbeTask find{.name = "find", .length = length};
  for (int64_t i = 0; i < kFindWindows && length >= 4 * (kCue + kKey); ++i) {
    std::vector<TokenId> tokens = piece_of(stream, below(random, static_cast<int64_t>(stream.tokens.size())), length);
    // Somewhere in the first quarter, and once more, cue and key, at the end.
    const auto place = static_cast<ptrdiff_t>(1 + below(random, length / 4 - kCue - kKey + 1));
    for (ptrdiff_t k = 0; k < kCue + kKey; ++k) {
      const TokenId token = draw(stream, random);
      tokens[place + k] = token;
      tokens[tokens.size() - static_cast<size_t>(kCue + kKey - k)] = token;
    }
    append(find, tokens, kKey);
  }
  if (!find.windows.empty()) plan.tasks.push_back(std::move(find));
}

// A number in a text, as in the test that is known under this name (Mohtashami, Jaggi 2023, arXiv:2305.16300).
void add_passkey_tasks(ProbePlan& plan, const Tokenizer& tokenizer, const TokenStream& stream, int64_t length,
                       Random& random) {
  const auto ids_of = [&](const std::string& text) { return tokenizer.encode(text, {}); };
  for (const double depth : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    ProbeTask task{.name = "passkey", .length = length, .depth = depth};
    for (int64_t i = 0; i < kPassKeyWindows; ++i) {
      const std::vector<TokenId> cue = ids_of(" The pass key is");
      const std::vector<TokenId> key = ids_of(" " + std::to_string(10000 + below(random, 90000)));
      const std::vector<TokenId> end = ids_of(".");
      const auto said = static_cast<int64_t>(cue.size() + key.size()), before = length - said;
      const int64_t needle = said + static_cast<int64_t>(end.size());
      if (before < 2 * needle) return;
      std::vector<TokenId> tokens = piece_of(stream, below(random, static_cast<int64_t>(stream.tokens.size())), before);
      const auto place = static_cast<ptrdiff_t>(std::max(1.0, depth * static_cast<double>(before - needle)));
      auto at = std::ranges::copy(cue, tokens.begin() + place).out;
      at = std::ranges::copy(key, at).out;
      std::ranges::copy(end, at);
      tokens.insert(tokens.end(), cue.begin(), cue.end());
      tokens.insert(tokens.end(), key.begin(), key.end());
      append(task, tokens, static_cast<int64_t>(key.size()));
    }
    plan.tasks.push_back(std::move(task));
  }
}

struct Answer {
  std::vector<double> nll;  // of every scored token
  int64_t right = 0;
  int64_t windows_right = 0;  // of which every token is
  bool whole_so_far = true;
};

// How each scheme that reaches the task's length does; none for the others.
std::vector<std::optional<Answer>> answers_to(const ProbeTask& task, const std::shared_ptr<const Model>& model,
                                              const Compared& result, int n_threads, const OnProgress& progress) {
  std::vector<std::optional<Answer>> answers(result.schemes.size());
  std::vector<Session> sessions;
  std::vector<size_t> place;
  for (size_t i = 0; i < result.schemes.size(); ++i) {
    if (result.schemes[i].standing == Standing::refused) continue;
    try {
      sessions.emplace_back(
          model,
          SessionOptions{.position = result.schemes[i].position, .capacity = task.length, .n_threads = n_threads});
    } catch (const Error&) {
      continue;  // it ends before; the rows of the loss say so
    }
    place.push_back(i);
    answers[i].emplace();
  }
  if (sessions.empty()) return answers;
  const auto sink = [&](const Prediction& p) {
    const TokenId token = task.tokens[p.target];
    for (size_t s = 0; s < place.size(); ++s) {
      Answer& answer = *answers[place[s]];
      const bool right = argmax(p.logits[s]) == token;
      answer.nll.push_back(p.nll(s, token));
      answer.right += right ? 1 : 0;
      answer.whole_so_far = right && (answer.whole_so_far || p.target == p.window.scored_from);
      if (p.target == p.window.first + p.window.count) answer.windows_right += answer.whole_so_far ? 1 : 0;
    }
  };
  score_windows(sessions, task.tokens, task.windows, std::nullopt, sink, progress);
  return answers;
}

// Writes down how scheme `i` did. `in_order`: how all did before the tokens were shuffled, once that is known.
void note_answer(const ProbeTask& task, const std::optional<Answer>& answer,
                 const std::vector<std::optional<Answer>>& in_order, size_t i, Compared& result) {
  ComparedScheme& scheme = result.schemes[i];
  if (task.name == "in order" || task.name == "shuffled") {
    if (!answer) return;
    const bool shuffled = task.name == "shuffled";
    SampledTokens sampled;
    sampled.add_text(task.windows);
    (shuffled ? scheme.shuffled : scheme.in_order) = estimate(answer->nll, sampled).mean;
    if (!shuffled || !in_order[i]) return;
    std::vector<double> added(answer->nll.size());
    std::ranges::transform(answer->nll, in_order[i]->nll, added.begin(), std::minus());
    scheme.order = estimate_over_windows(added, sampled);
    return;
  }
  RecallRow row{.position = scheme.position, .task = task.name, .length = task.length, .depth = task.depth};
  if (answer) {
    const int64_t right = task.depth ? answer->windows_right : answer->right;
    row.tokens = task.depth ? std::ssize(task.windows) : std::ssize(answer->nll);
    row.accuracy = static_cast<double>(right) / static_cast<double>(row.tokens);
    const Share share = wilson_interval(right, row.tokens);
    row.low = share.low, row.high = share.high;
  }
  (task.depth ? result.passkey : result.recall).push_back(std::move(row));
}

// What attention maps are of: the prompt, or where that is short the text's beginning.
std::span<const TokenId> tokens_of_maps(const TokenStream& stream, const std::vector<TokenId>& prompt) {
  const std::span<const TokenId> tokens =
      2 * prompt.size() >= kMapTokens ? std::span(prompt) : std::span(stream.tokens);
  return tokens.first(std::min(tokens.size(), kMapTokens));
}

// Runs `tokens` in one pass and hands over every row of attention weights.
void watch_attention(const std::shared_ptr<const Model>& model, const std::string& position,
                     std::span<const TokenId> tokens, const std::function<void(const Observed& weights)>& look) {
  const auto count = static_cast<int64_t>(tokens.size());
  Session session(
      model,
      {.position = position, .capacity = count, .n_threads = 1, .chunk = count, .observer = [&](const Observed& seen) {
         if (seen.name == "weights") look(seen);
       }});
  session.evaluate(tokens);
}

void measure_attention(const std::shared_ptr<const Model>& model, const TokenStream& stream,
                       std::span<const TokenId> tokens, ComparedScheme& scheme) {
  const ModelConfig& c = model->config();
  const auto count = static_cast<size_t>(
      std::min<int64_t>({c.max_seq_len, static_cast<int64_t>(stream.tokens.size()), kAttentionTokens}));
  scheme.attention_distance.assign(c.n_layers, std::vector<double>(c.n_heads, 0.0));
  watch_attention(model, scheme.position, std::span(stream.tokens).first(count), [&](const Observed& seen) {
    const std::span<const float> weights = seen.rows[0];
    double distance = 0;
    for (size_t j = 0; j < weights.size(); ++j)
      distance += static_cast<double>(weights[j]) * static_cast<double>(weights.size() - 1 - j);
    scheme.attention_distance[seen.layer][seen.head] += distance / static_cast<double>(count);
  });
  const size_t shown =
      std::min(tokens.size(), static_cast<size_t>(model->make_scheme(scheme.position, c.max_seq_len)->max_positions()));
  if (shown == 0) return;
  scheme.attention.assign(c.n_layers, std::vector<std::vector<float>>(shown, std::vector<float>(shown, 0.0f)));
  watch_attention(model, scheme.position, tokens.first(shown), [&](const Observed& seen) {
    std::vector<float>& row = scheme.attention[seen.layer][seen.row];
    const std::span<const float> weights = seen.rows[0];
    for (size_t j = 0; j < weights.size(); ++j) row[j] += weights[j] / static_cast<float>(c.n_heads);
  });
}

}  // namespace

ProbePlan plan_probes(const Model& model, const Tokenizer* tokenizer, const TokenStream& stream,
                      const std::vector<int64_t>& lengths, const CompareOptions& options) {
  ProbePlan plan;
  Random random(options.seed);
  const auto n = static_cast<int64_t>(stream.tokens.size());
  const int64_t trained = std::min(model.config().max_seq_len, n - 1);
  if (trained >= 4) add_order_tasks(plan, stream, trained, random);
  std::vector<int64_t> recall = {trained};
  for (const int64_t length : lengths)
    if (length > trained) recall.push_back(length);
  const bool has_text = std::ranges::any_of(stream.bytes, [](int32_t bytes) { return bytes > 0; });
  for (const int64_t length : recall)
    if (has_text && length >= 4) add_recall_tasks(plan, stream, length, random);
  if (tokenizer != nullptr) try {
      for (const int64_t length : recall) add_passkey_tasks(plan, *tokenizer, stream, length, random);
    } catch (const Error&) {
      // a tokenizer of few characters has not these
    }
  for (const ProbeTask& task : plan.tasks) plan.tokens += static_cast<int64_t>(task.tokens.size());
  plan.sample = plan_sample(model, stream, options);
  return plan;
}

void run_task(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
              std::string_view name, int64_t length, const CompareOptions& options, Compared& result,
              const OnProgress& progress) {
  ProbePlan plan;
  Random random(options.seed);
  if (name == "passkey")
    add_passkey_tasks(plan, tokenizer, stream, length, random);
  else if (length >= 4)
    add_recall_tasks(plan, stream, length, random);
  std::erase_if(plan.tasks, [&](const ProbeTask& task) { return task.name != name; });
  if (plan.tasks.empty())
    throw Error("the length is too short for the task " + std::string(name), "a longer window",
                std::to_string(length) + " tokens");
  for (const ProbeTask& task : plan.tasks) {
    const auto answers = answers_to(task, model, result, options.n_threads, progress);
    for (size_t i = 0; i < result.schemes.size(); ++i) note_answer(task, answers[i], {}, i, result);
  }
}

void run_probes(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                const ProbePlan& plan, const CompareOptions& options, Compared& result, const OnProgress& progress) {
  int64_t done = 0;
  std::vector<std::optional<Answer>> in_order;
  for (const ProbeTask& task : plan.tasks) {
    std::vector<std::optional<Answer>> answers =
        answers_to(task, model, result, options.n_threads, [&](int64_t, int64_t) { progress(done, plan.tokens); });
    done += static_cast<int64_t>(task.tokens.size());
    progress(done, plan.tokens);
    for (size_t i = 0; i < result.schemes.size(); ++i) note_answer(task, answers[i], in_order, i, result);
    if (task.name == "in order") in_order = std::move(answers);
  }
  TokenId previous = -1;
  for (const TokenId id : tokens_of_maps(stream, options.prompt)) {
    result.attention_pieces.push_back(tokenizer.decode_next(previous, id, true));
    previous = id;
  }
  note_sample_start(tokenizer, stream, plan.sample, result);
  for (ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused) continue;
    progress(done, plan.tokens);
    measure_attention(model, stream, tokens_of_maps(stream, options.prompt), scheme);
    continue_prompt(model, tokenizer, options, scheme);
    draw_sample(model, tokenizer, stream, plan.sample, options, scheme);
    const std::vector<int32_t>& native = result.schemes.front().continuation_ids;
    const auto [mine, its] = std::ranges::mismatch(scheme.continuation_ids, native);
    if (mine != scheme.continuation_ids.end()) scheme.differs_at = mine - scheme.continuation_ids.begin();
  }
}

}  // namespace ordinal
