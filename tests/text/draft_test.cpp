// draft_test.cpp: guesses from the text itself, and that they change nothing but the number of passes.
#include "text/draft.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "letters.h"
#include "reference/random_model.h"
#include "support.h"
#include "text/generator.h"

using namespace ordinal;
using Ids = std::vector<TokenId>;

namespace {

constexpr int64_t kLength = 64;

// Few tokens, so that texts repeat themselves.
std::shared_ptr<const Model> make_model(uint64_t seed, int64_t vocab_size) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.vocab_size = vocab_size;
  random.config.max_seq_len = kLength;
  random.config.eos_ids = {0};
  random.seed = seed;
  if (seed % 2 == 0) {
    random.position_rows = kLength;
    random.position = "learned";
  }
  return Model::bind(write_model_in_memory(test::random_model(random), "random"));
}

Ids repetitive(uint64_t seed, int64_t length, int64_t vocab_size) {
  const Ids part = test::random_ids(seed, 5, vocab_size);
  Ids prompt;
  while (std::ssize(prompt) < length) prompt.push_back(part[prompt.size() % part.size()]);
  return prompt;
}

struct Told {
  Generation result;
  Ids tokens;
  std::string text;
  int64_t slides = 0;
};

Told generate_told(const std::shared_ptr<const Model>& model, const Ids& prompt, GenerateOptions options,
                   int64_t drafts, SessionOptions session_options = {}) {
  const test::Letters tokenizer(model->config().vocab_size, model->config().vocab_size);
  options.draft_tokens = drafts;
  Session session(model, std::move(session_options));
  Told told;
  GenerateEvents events;
  events.token = [&](int64_t, TokenId id) { told.tokens.push_back(id); };
  events.text = [&](int64_t, std::string_view text) { told.text += text; };
  events.slide = [&](int64_t, int64_t, int64_t) { ++told.slides; };
  told.result = generate(session, &tokenizer, prompt, options, events).at(0);
  return told;
}

void check_same(const Told& a, const Told& b) {
  CHECK(a.result.ids == b.result.ids);
  CHECK(a.result.text == b.result.text);
  CHECK(a.result.finish == b.result.finish);
  CHECK(a.tokens == b.tokens);
  CHECK(a.text == b.text);
  CHECK(a.slides == b.slides);
  CHECK(a.result.timings.decode_tokens == b.result.timings.decode_tokens);
  CHECK(a.result.timings.prefill_tokens == b.result.timings.prefill_tokens);
  REQUIRE(a.result.logprobs.size() == b.result.logprobs.size());
  for (size_t i = 0; i < a.result.logprobs.size(); ++i) {
    CHECK(a.result.logprobs[i].logprob == b.result.logprobs[i].logprob);  // every bit
    CHECK(a.result.logprobs[i].best == b.result.logprobs[i].best);
  }
}

void check_counts(const GenerateTimings& t) {
  CHECK(t.draft_accepted <= t.draft_proposed);
  CHECK(t.decode_tokens == t.passes + t.draft_accepted);
}

}  // namespace

TEST_CASE("draft: proposes what followed the latest of the longest earlier occurrences") {
  const auto proposed = [](const Ids& text, int64_t most, int64_t room) {
    LookupDraft draft(most);
    draft.append(text);
    return draft.propose(room);
  };
  CHECK(proposed({1, 2, 3, 4, 5, 1, 2, 3}, 4, 9) == Ids{4, 5, 1, 2});
  CHECK(proposed({1, 2, 3, 4, 5, 1, 2, 3}, 2, 9) == Ids{4, 5});
  CHECK(proposed({1, 2, 3, 4, 5, 1, 2, 3}, 4, 1) == Ids{4});
  CHECK(proposed({1, 2, 3, 4, 5, 1, 2, 3}, 4, 0).empty());
  CHECK(proposed({1, 2, 3, 4, 5, 1, 2, 3}, 4, -1).empty());
  CHECK(proposed({1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1, 9) == Ids{7});  // three alike, further back
  CHECK(proposed({2, 3, 7, 2, 3, 8, 6, 2, 3}, 1, 9) == Ids{8});        // of two alike the later
  CHECK(proposed({1, 2, 3, 4, 3}, 4, 9).empty());                      // one alike is not enough
  CHECK(proposed({1, 2, 1, 2}, 4, 9) == Ids{1, 2, 1, 2});              // on and on
  CHECK(proposed({5, 5, 5}, 4, 9) == Ids{5, 5, 5, 5});
  for (const Ids& text : {Ids{}, Ids{1}, Ids{1, 1}, Ids{1, 2}, Ids{1, 2, 3}}) CHECK(proposed(text, 4, 9).empty());
}

TEST_CASE("draft: proposals grow while they are right, and get short and rare while they are wrong") {
  LookupDraft draft(16);
  draft.append(Ids{1, 2, 3, 4, 1, 2, 3, 4, 1, 2});
  std::vector<size_t> sizes;
  for (int i = 0; i < 4; ++i) {
    const auto size = static_cast<int64_t>(draft.propose(100).size());
    draft.learn(size, size);
    sizes.push_back(static_cast<size_t>(size));
  }
  CHECK(sizes == std::vector<size_t>{4, 8, 16, 16});
  draft.learn(16, 2);
  CHECK(draft.propose(100).size() == 3);

  int64_t wasted = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto size = static_cast<int64_t>(draft.propose(100).size());
    draft.learn(size, 0);
    wasted += size;
  }
  CHECK(wasted < 30);  // of 1000 steps
  while (draft.propose(100).empty()) {
  }
  draft.learn(1, 1);  // it pays again
  CHECK(draft.propose(100).size() == 2);
}

TEST_CASE("draft: the text is the same, to the last bit, with any number of drafts") {
  int64_t accepted = 0, rejected = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const int64_t vocab_size = seed % 3 == 0 ? 5 : 20;
    const std::shared_ptr<const Model> model = make_model(seed, vocab_size);
    for (const float temperature : {0.0f, 0.3f, 1.0f, 2.0f}) {
      CAPTURE(seed);
      CAPTURE(temperature);
      GenerateOptions options;
      options.max_new_tokens = 30;
      options.sampler.temperature = temperature;
      options.sampler.seed = seed * 977;
      options.logprobs = 2;
      options.ignore_eos = seed % 4 != 0;
      if (seed % 5 == 1) options.sampler.repetition_penalty = 1.2f;
      if (seed % 5 == 2) options.sampler.frequency_penalty = 0.2f, options.sampler.penalty_window = 7;
      if (seed % 5 == 3) options.sampler.presence_penalty = -0.5f, options.sampler.top_p = 0.9f;
      const Ids prompt = repetitive(seed, 11 + static_cast<int64_t>(seed), vocab_size);
      const Told plain = generate_told(model, prompt, options, 0);
      CHECK(plain.result.timings.draft_proposed == 0);
      for (const int64_t drafts : {1, 3, 8, 100}) {
        SessionOptions session_options;
        session_options.chunk = drafts == 3 ? 4 : 256;
        const Told drafted = generate_told(model, prompt, options, drafts, session_options);
        check_same(drafted, plain);
        const GenerateTimings& t = drafted.result.timings;
        check_counts(t);
        accepted += t.draft_accepted;
        rejected += t.draft_proposed - t.draft_accepted;
      }
    }
  }
  CHECK(accepted > 200);
  CHECK(rejected > 200);
}

TEST_CASE("draft: a text that repeats itself takes fewer passes than tokens") {
  const std::shared_ptr<const Model> model = make_model(3, 5);
  GenerateOptions options;
  options.max_new_tokens = 45;
  options.sampler.temperature = 0.0f;
  options.sampler.logit_bias = {{2, 1000.0f}};
  const Told drafted = generate_told(model, repetitive(3, 10, 5), options, 8);
  CHECK(drafted.result.ids == Ids(45, 2));
  CHECK(drafted.result.timings.passes <= 11);
  check_counts(drafted.result.timings);
  // A chunk of one row leaves no room for drafts.
  SessionOptions single;
  single.chunk = 1;
  CHECK(generate_told(model, repetitive(3, 10, 5), options, 8, single).result.timings.draft_proposed == 0);
}

TEST_CASE("draft: limits, stop strings, end tokens and the end of the context come where they came") {
  int64_t accepted = 0;
  std::vector<Finish> ends;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const std::shared_ptr<const Model> model = make_model(seed, 5);
    const Ids prompt = repetitive(seed, 12, 5);
    const auto check = [&](GenerateOptions options, SessionOptions session_options = {}) {
      options.sampler.seed = seed;
      for (const float temperature : {0.0f, 0.5f}) {
        options.sampler.temperature = temperature;
        const Told plain = generate_told(model, prompt, options, 0, session_options);
        const Told drafted = generate_told(model, prompt, options, 8, session_options);
        check_same(drafted, plain);
        check_counts(drafted.result.timings);
        accepted += drafted.result.timings.draft_accepted;
        ends.push_back(plain.result.finish);
      }
    };
    GenerateOptions options;
    options.sampler.temperature = 0.5f;
    for (int64_t n = 0; n < 14; ++n) {
      options.max_new_tokens = n;
      options.ignore_eos = n % 2 == 0;
      check(options);
    }
    options.max_new_tokens = 40;
    for (const char* stop : {"a", "bb", "cdc", "ddd", "eb", "bca"}) {
      options.stop = {stop, "never"};
      check(options);
    }
    options.stop.clear();
    options.ignore_eos = true;
    options.max_new_tokens = 500;
    SessionOptions small;
    for (small.capacity = 12; small.capacity < 24; ++small.capacity) {
      options.overflow = Overflow::stop;
      check(options, small);
    }
    options.overflow = Overflow::slide;
    options.max_new_tokens = 70;
    for (const int64_t keep : {0, 3, 11}) {
      options.keep = keep;
      for (small.capacity = 12; small.capacity < 21; small.capacity += 4) check(options, small);
    }
  }
  CHECK(accepted > 200);
  for (const Finish end : {Finish::length, Finish::stop, Finish::eot, Finish::context})
    CHECK(std::ranges::count(ends, end) > 0);
}

TEST_CASE("draft: cancelled within a pass, the text ends after the same token") {
  const std::shared_ptr<const Model> model = make_model(3, 5);
  for (const int stop_after : {1, 5, 6, 7, 12}) {
    GenerateOptions options;
    options.max_new_tokens = 40;
    options.sampler.temperature = 0.0f;
    options.sampler.logit_bias = {{2, 1000.0f}};
    options.draft_tokens = 8;
    std::atomic<bool> cancel{false};
    int drawn = 0;
    GenerateEvents events;
    events.cancel = &cancel;
    events.token = [&](int64_t, TokenId) { cancel = ++drawn == stop_after; };
    Session session(model);
    const Generation result = generate(session, nullptr, repetitive(3, 10, 5), options, events).at(0);
    CHECK(result.finish == Finish::interrupted);
    CHECK(std::ssize(result.ids) == stop_after);
  }
}

TEST_CASE("draft: several samples draft side by side, each the text that it is without") {
  const std::shared_ptr<const Model> model = make_model(3, 5);
  GenerateOptions options;
  options.samples = 5;
  options.max_new_tokens = 30;
  options.sampler.temperature = 0.7f;
  Session session(model);
  const std::vector<Generation> plain = generate(session, nullptr, repetitive(3, 10, 5), options);
  options.draft_tokens = 6;
  const std::vector<Generation> drafted = generate(session, nullptr, repetitive(3, 10, 5), options);
  int64_t proposed = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(drafted[i].ids == plain[i].ids);
    proposed += drafted[i].timings.draft_proposed;
  }
  CHECK(proposed > 0);
}

TEST_CASE("draft: not fewer than none") {
  const std::shared_ptr<const Model> model = make_model(1, 5);
  GenerateOptions options;
  CHECK(test::mentions(test::error_of([&] { generate_told(model, {1}, options, -1); }), {"draft"}));
}
