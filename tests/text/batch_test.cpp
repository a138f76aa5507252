// batch_test.cpp: many prompts at once against each of them alone.
#include "text/scheduler.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "letters.h"
#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr int64_t kBatchVocab = 77, kBatchContext = 40;

const std::shared_ptr<const Model>& batch_model() {
  static const std::shared_ptr<const Model> made = [] {
    test::RandomModel random;
    random.config = test::small_config();
    random.config.eos_ids = {13};
    random.position_rows = kBatchContext;
    random.position = "learned";
    return Model::bind(write_model_in_memory(test::random_model(random), "random"));
  }();
  return made;
}

const test::Letters& batch_tokenizer() {
  static const test::Letters made(kBatchVocab, 5);
  return made;
}

GenerateRequest request_of(std::vector<TokenId> prompt, int64_t n, float temperature, uint64_t seed) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.options.max_new_tokens = n;
  request.options.sampler.temperature = temperature;
  request.options.sampler.seed = seed;
  request.options.logprobs = 2;
  return request;
}

// Prompts of every length, some equal, some with a beginning in common, with options of their own.
std::vector<GenerateRequest> mixed(uint64_t seed, int64_t count, Overflow overflow = Overflow::stop) {
  test::Random random(seed);
  std::vector<GenerateRequest> requests;
  const std::vector<TokenId> family = test::random_ids(seed, 30, kBatchVocab);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<TokenId> prompt(family.begin(), family.begin() + random.below(30));
    const std::vector<TokenId> own =
        test::random_ids(seed + static_cast<uint64_t>(i), 1 + random.below(kBatchContext - 30), kBatchVocab);
    if (prompt.size() % 3 != 0 || prompt.empty()) prompt.insert(prompt.end(), own.begin(), own.end());
    GenerateRequest& request = requests.emplace_back(
        request_of(std::move(prompt), random.below(30), static_cast<float>(random.below(4)) * 0.5f, random.bits()));
    request.options.overflow = overflow;
    request.options.keep = overflow == Overflow::slide ? random.below(5) : 0;
    request.options.sampler.top_k = random.below(3) * 20;
    request.options.sampler.repetition_penalty = random.below(2) == 0 ? 1.0f : 1.3f;
    request.options.sampler.penalty_window = random.below(2) == 0 ? -1 : 5;
    request.options.draft_tokens = random.below(3) * 2;
    if (random.below(2) == 0) request.options.stop = {"aba", "eee", "dc"};
  }
  return requests;
}

Generation batch_alone(const GenerateRequest& request, SessionOptions options = {}) {
  Session session(batch_model(), options);
  return generate(session, &batch_tokenizer(), request.prompt, request.options).at(0);
}

std::vector<Generation> together(const std::vector<GenerateRequest>& requests, int64_t parallel,
                                 SessionOptions options = {}) {
  Session session(batch_model(), options);
  std::vector<Generation> results;
  GenerateEvents events;
  events.finished = [&](int64_t index, const Generation& result) {
    CHECK(index == static_cast<int64_t>(results.size()));
    results.push_back(result);
  };
  const int64_t count = generate_batch(session, &batch_tokenizer(), requests, parallel, events);
  CHECK(count == static_cast<int64_t>(requests.size()));
  return results;
}

void check_same(const Generation& a, const Generation& b) {
  CHECK(a.seed == b.seed);
  CHECK(a.ids == b.ids);
  CHECK(a.text == b.text);
  CHECK(a.finish == b.finish);
  REQUIRE(a.logprobs.size() == b.logprobs.size());
  for (size_t i = 0; i < a.logprobs.size(); ++i) {
    CHECK(a.logprobs[i].logprob == b.logprobs[i].logprob);  // every bit
    CHECK(a.logprobs[i].best == b.logprobs[i].best);
  }
  CHECK(a.timings.decode_tokens == b.timings.decode_tokens);
}

}  // namespace

TEST_CASE("batch: each result is, bit for bit, what the prompt alone gives, in order") {
  for (const Overflow overflow : {Overflow::stop, Overflow::slide})
    for (const uint64_t seed : {1, 2, 3}) {
      SessionOptions options;
      options.chunk = seed == 1 ? 7 : 256;
      const std::vector<GenerateRequest> requests = mixed(seed, 23, overflow);
      std::vector<Generation> expected;
      std::set<Finish> ends;
      for (const GenerateRequest& request : requests) {
        expected.push_back(batch_alone(request, options));
        ends.insert(expected.back().finish);
      }
      CHECK(ends.size() >= (overflow == Overflow::stop ? 3 : 2));  // sliding, the context never ends a text
      for (const int64_t parallel : {int64_t{1}, int64_t{3}, int64_t{8}, int64_t{100}}) {
        CAPTURE(parallel);
        const std::vector<Generation> found = together(requests, parallel, options);
        REQUIRE(found.size() == expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          CAPTURE(i);
          check_same(found[i], expected[i]);
        }
      }
    }
}

TEST_CASE("batch: prompts that are too long are cut when sliding, and refused when not") {
  std::vector<GenerateRequest> requests = mixed(4, 3, Overflow::slide);
  requests[1].prompt = test::random_ids(5, kBatchContext + 25, kBatchVocab);
  const std::vector<Generation> found = together(requests, 2);
  for (size_t i = 0; i < 3; ++i) check_same(found[i], batch_alone(requests[i]));
  requests[1].options.overflow = Overflow::stop;
  requests[1].options.keep = 0;
  CHECK(test::mentions(test::error_of([&] { together(requests, 2); }), {"longer than the context"}));
}

TEST_CASE("batch: what prompts begin with is evaluated once") {
  const auto evaluated = [](const std::vector<GenerateRequest>& requests, int64_t parallel) {
    int64_t tokens = 0;
    for (const Generation& result : together(requests, parallel)) tokens += result.timings.prefill_tokens;
    return tokens;
  };
  const std::vector<TokenId> same = test::random_ids(6, 30, kBatchVocab);
  for (const int64_t parallel : {int64_t{1}, int64_t{4}, int64_t{16}}) {
    const std::vector<GenerateRequest> equal(9, request_of(same, 3, 1.0f, 1));
    CHECK(evaluated(equal, parallel) == 29 + 9);  // each evaluates its last token for the logits

    std::vector<GenerateRequest> related;
    for (int64_t i = 0; i < 9; ++i) {
      std::vector<TokenId> prompt(same.begin(), same.begin() + 20);
      prompt.insert(prompt.end(), 3, static_cast<TokenId>(i));
      related.push_back(request_of(prompt, 3, 1.0f, 1));
    }
    CHECK(evaluated(related, parallel) == 20 + 9 * 3);

    // Two families: nothing common to all, but a prompt that is being evaluated is worth waiting for.
    std::vector<GenerateRequest> families;
    for (int64_t i = 0; i < 8; ++i) {
      std::vector<TokenId> prompt(static_cast<size_t>(20), static_cast<TokenId>(40 + i % 2));
      prompt.push_back(static_cast<TokenId>(i));
      families.push_back(request_of(prompt, 3, 1.0f, 1));
    }
    if (parallel > 1) CHECK(evaluated(families, parallel) == 2 * 20 + 8);
  }
}

TEST_CASE("batch: no requests, and a number at once that makes no sense") {
  CHECK(together({}, 8).empty());
  for (const int64_t parallel : {int64_t{0}, int64_t{-3}})
    CHECK(test::mentions(test::error_of([&] { together({}, parallel); }), {"at once"}));
}

TEST_CASE("batch: a request that cannot be is refused before anything is evaluated") {
  const auto refused = [](auto change, const std::string& word) {
    std::vector<GenerateRequest> requests = mixed(7, 3);
    change(requests[2]);
    Session session(batch_model());
    GenerateEvents events;
    events.token = [](int64_t, TokenId) { FAIL("a token was drawn"); };
    CHECK(test::mentions(test::error_of([&] { generate_batch(session, &batch_tokenizer(), requests, 2, events); }),
                         {word}));
    CHECK(session.length() == 0);
  };
  refused([](GenerateRequest& r) { r.prompt.clear(); }, "prompt is empty");
  refused([](GenerateRequest& r) { r.options.draft_tokens = -2; }, "draft");
  refused([](GenerateRequest& r) { r.options.samples = 2; }, "one continuation");
  refused([](GenerateRequest& r) { r.options.max_new_tokens = -1; }, "new tokens");
  refused([](GenerateRequest& r) { r.options.sampler.top_p = 2.0f; }, "top-p");
  const std::vector<GenerateRequest> requests = {request_of({1}, 1, 0.0f, 1)};
  std::vector<GenerateRequest> stopping = requests;
  stopping[0].options.stop = {"a"};
  Session session(batch_model());
  CHECK(test::mentions(test::error_of([&] { generate_batch(session, nullptr, stopping, 1); }), {"tokenizer"}));
  CHECK(generate_batch(session, nullptr, requests, 1) == 1);
}

TEST_CASE("batch: cancelled, it hands over the results that are whole, in order") {
  const std::vector<GenerateRequest> requests = mixed(8, 12, Overflow::slide);
  for (const int64_t stop_after : {0, 1, 7, 30, 60}) {
    std::atomic<bool> cancel{stop_after == 0};
    int64_t drawn = 0;
    std::vector<Generation> results;
    GenerateEvents events;
    events.cancel = &cancel;
    events.token = [&](int64_t, TokenId) { cancel = ++drawn >= stop_after; };
    events.finished = [&](int64_t, const Generation& result) { results.push_back(result); };
    Session session(batch_model());
    const int64_t count = generate_batch(session, &batch_tokenizer(), requests, 3, events);
    CHECK(count == static_cast<int64_t>(results.size()));
    CHECK(count < 12);
    for (size_t i = 0; i < results.size(); ++i) check_same(results[i], batch_alone(requests[i]));
  }
}
