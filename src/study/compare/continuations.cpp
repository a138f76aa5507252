// continuations.cpp: see continuations.h.
#include "study/compare/continuations.h"

#include <algorithm>

#include "ordinal/sampler.h"

namespace ordinal {
namespace {

constexpr int64_t kDrawnInside = 24, kDrawnPast = 120;  // tokens on both sides of the trained length
constexpr int64_t kShownBefore = 16;                    // tokens of the text before, to be shown
constexpr float kTemperature = 0.8f;

// Feeds `tokens`, then what `next` makes of each prediction, until `most` are drawn or the scheme ends.
template <class Next>
void go_on(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, std::span<const TokenId> tokens,
           int64_t most, const CompareOptions& options, const std::string& position, DrawnText& drawn,
           const Next& next) {
  const auto given = static_cast<int64_t>(tokens.size());
  const int64_t capacity = std::min(given + most, model->make_scheme(position, given + most)->max_positions());
  if (most < 1 || given < 1 || capacity <= given) return;
  Session session(model, {.position = position, .capacity = capacity, .n_threads = options.n_threads});
  std::vector<TokenId> fed(tokens.begin(), tokens.end());
  TokenId previous = fed.back();
  while (session.length() + static_cast<int64_t>(fed.size()) <= capacity && std::ssize(drawn.ids) < most) {
    const std::span<const float> logits = session.evaluate(fed);
    const TokenId id = next(logits);
    drawn.ids.push_back(id);
    drawn.pieces.push_back(tokenizer.decode_next(previous, id, true));
    drawn.surprisal.push_back(-log_probability(logits, id));
    fed = {id};
    previous = id;
  }
}

}  // namespace

SamplePlan plan_sample(const Model& model, const TokenStream& stream, const CompareOptions& options) {
  if (options.new_tokens < 1) return {};
  const int64_t trained = model.config().max_seq_len, inside = std::min(kDrawnInside, trained / 4);
  // A text that is shorter is continued from its middle, and further.
  const int64_t before = std::min(trained - inside, static_cast<int64_t>(stream.tokens.size()) / 2);
  return before < 1 ? SamplePlan{} : SamplePlan{.before = before, .drawn = trained - before + kDrawnPast};
}

void continue_prompt(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                     const CompareOptions& options, ComparedScheme& scheme) {
  DrawnText likeliest;
  go_on(model, tokenizer, options.prompt, options.new_tokens, options, scheme.position, likeliest,
        [](std::span<const float> logits) { return argmax(logits); });
  scheme.continuation_ids = std::move(likeliest.ids);
  scheme.continuation = std::move(likeliest.pieces);
  scheme.continuation_surprisal = std::move(likeliest.surprisal);
}

void draw_sample(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                 const SamplePlan& plan, const CompareOptions& options, ComparedScheme& scheme) {
  Sampler sampler({.temperature = kTemperature, .seed = options.seed}, model->config().vocab_size);
  go_on(model, tokenizer, std::span(stream.tokens).first(static_cast<size_t>(plan.before)), plan.drawn, options,
        scheme.position, scheme.sample, [&](std::span<const float> logits) { return sampler.sample(logits); });
}

void note_sample_start(const Tokenizer& tokenizer, const TokenStream& stream, const SamplePlan& plan,
                       Compared& result) {
  result.sample_begins = plan.before;
  result.sample_temperature = kTemperature;
  const int64_t first = std::max<int64_t>(stream.start ? 1 : 0, plan.before - kShownBefore);
  for (int64_t i = first; i < plan.before; ++i)
    result.sample_before.push_back(tokenizer.decode_next(i > 0 ? stream.tokens[i - 1] : -1, stream.tokens[i], true));
}

}  // namespace ordinal
