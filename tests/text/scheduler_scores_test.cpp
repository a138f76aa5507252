// scheduler_scores_test.cpp: prompts that are scored and contexts of requests' own, among others, against each alone.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "letters.h"
#include "reference/random_model.h"
#include "support.h"
#include "text/scheduler.h"

using namespace ordinal;

namespace {

constexpr int64_t kScoredIds = 77, kTrained = 64;

const std::shared_ptr<const Model>& scored_model() {
  static const std::shared_ptr<const Model> made = [] {
    test::RandomModel random;
    random.config = test::small_config();
    random.config.max_seq_len = kTrained;
    random.config.eos_ids = {13};
    random.position = "rope";
    return Model::bind(write_model_in_memory(test::random_model(random), "random"));
  }();
  return made;
}

const test::Letters& alphabet() {
  static const test::Letters made(kScoredIds, 5);
  return made;
}

GenerateRequest wanted(int64_t id, int64_t prompt, int64_t n) {
  GenerateRequest request;
  request.id = id;
  request.prompt = test::random_ids(static_cast<uint64_t>(900 + id), prompt, kScoredIds);
  request.options.max_new_tokens = n;
  request.options.ignore_eos = true;
  request.options.sampler.seed = static_cast<uint64_t>(id);
  request.options.logprobs = 2;
  return request;
}

// What the model held of every token of a prompt, by one call over all of it; the best by sorting all.
std::vector<TokenLogprob> scores_alone(const GenerateRequest& request) {
  Session session(scored_model(), {.position = request.position.empty() ? "native" : request.position,
                                   .capacity = request.options.context});
  std::vector<TokenLogprob> scores;
  session.evaluate_all(request.prompt, [&](int64_t row, std::span<const float> logits) {
    if (row + 1 == std::ssize(request.prompt)) return;
    const TokenId next = request.prompt[static_cast<size_t>(row) + 1];
    TokenLogprob& score = scores.emplace_back(TokenLogprob{next, log_probability(logits, next), {}});
    for (TokenId id = 0; id < kScoredIds; ++id) score.best.emplace_back(id, log_probability(logits, id));
    std::ranges::stable_sort(score.best, [](const auto& a, const auto& b) { return a.second > b.second; });
    score.best.resize(static_cast<size_t>(request.options.prompt_logprobs));
  });
  return scores;
}

std::map<int64_t, Generation> run_all(const std::vector<GenerateRequest>& requests, int64_t parallel, int64_t chunk) {
  Session session(scored_model(), {.chunk = chunk});
  Scheduler scheduler(session, &alphabet(), parallel);
  std::map<int64_t, Generation> results;
  for (GenerateRequest request : requests) {
    request.events.finished = [&](int64_t id, const Generation& result) { results[id] = result; };
    scheduler.submit(std::move(request));
    scheduler.step();
  }
  scheduler.run();
  return results;
}

}  // namespace

TEST_CASE("scheduler: the log-probabilities of a prompt are those of one call over all of it") {
  std::vector<GenerateRequest> requests;
  for (const int64_t length : {1, 2, 9, 40, 40, 64}) {
    GenerateRequest& request = requests.emplace_back(wanted(std::ssize(requests), length, length == 40 ? 5 : 0));
    request.options.prompt_logprobs = std::ssize(requests) % 4;
    request.position = length == 9 ? "alibi" : "";
    if (requests.size() == 5) request.prompt = requests[3].prompt;  // a cache holds all of it, and that is no use
    if (length == 40) requests.push_back(wanted(std::ssize(requests), 12, 30));
  }
  for (const int64_t chunk : {1, 7, 256})
    for (const int64_t parallel : {1, 4}) {
      CAPTURE(chunk);
      CAPTURE(parallel);
      std::map<int64_t, Generation> results = run_all(requests, parallel, chunk);
      for (const GenerateRequest& request : requests) {
        CAPTURE(request.id);
        const std::vector<TokenLogprob>& found = results[request.id].prompt_logprobs;
        if (request.options.prompt_logprobs < 0) {
          CHECK(found.empty());
          continue;
        }
        const std::vector<TokenLogprob> expected = scores_alone(request);
        REQUIRE(found.size() == expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          CHECK(found[i].id == expected[i].id);
          CHECK(found[i].logprob == expected[i].logprob);
          REQUIRE(found[i].best.size() == expected[i].best.size());
          for (size_t k = 0; k < found[i].best.size(); ++k) {
            CHECK(found[i].best[k].first == expected[i].best[k].first);
            CHECK(found[i].best[k].second == doctest::Approx(expected[i].best[k].second).epsilon(1e-12));
          }
        }
      }
    }
}

TEST_CASE("scheduler: a request may have a context of its own, which is what a session of that length gives") {
  // The angles of this scheme depend on how long the context is; the same text stands in contexts of three lengths.
  std::vector<GenerateRequest> requests;
  for (const int64_t context : {0, 20, 200, 64, 200})
    for (const char* position : {"", "rope:scaling=dynamic,factor=4"}) {
      GenerateRequest& request = requests.emplace_back(wanted(std::ssize(requests), 16, 30));
      request.prompt = requests.front().prompt;
      request.options.context = context;
      request.position = position;
    }
  std::map<int64_t, Generation> results = run_all(requests, 3, 256);
  for (const GenerateRequest& request : requests) {
    CAPTURE(request.id);
    Session session(scored_model(), {.position = request.position.empty() ? "native" : request.position,
                                     .capacity = request.options.context});
    const Generation expected = generate(session, &alphabet(), request.prompt, request.options).at(0),
                     &found = results[request.id];
    CHECK(found.ids == expected.ids);
    CHECK(found.finish == (request.options.context == 20 ? Finish::context : Finish::length));
    REQUIRE(found.logprobs.size() == expected.logprobs.size());
    for (size_t i = 0; i < found.logprobs.size(); ++i) CHECK(found.logprobs[i].logprob == expected.logprobs[i].logprob);
  }
  CHECK(results[1].logprobs[0].logprob != results[5].logprobs[0].logprob);  // or the length would not matter
}

TEST_CASE("scheduler: each new token's log-probability is told as it is drawn") {
  GenerateRequest request = wanted(1, 6, 12);
  std::vector<double> told;
  std::vector<TokenId> drawn;
  request.events.logprob = [&](int64_t, const TokenLogprob& logprob) { told.push_back(logprob.logprob); };
  request.events.token = [&](int64_t, TokenId id) {
    drawn.push_back(id);
    CHECK(told.size() == drawn.size());
  };
  const Generation result = run_all({request}, 1, 256)[1];
  CHECK(drawn == result.ids);
  REQUIRE(told.size() == result.logprobs.size());
  for (size_t i = 0; i < told.size(); ++i) CHECK(told[i] == result.logprobs[i].logprob);
}

TEST_CASE("scheduler: a context that cannot be, or a scored prompt that may be cut, is refused") {
  Session session(scored_model());
  Scheduler scheduler(session, &alphabet(), 1);
  GenerateRequest request = wanted(1, 21, 1);
  request.options.context = 20;
  CHECK(test::mentions(test::error_of([&] { scheduler.submit(request); }), {"longer than the context"}));
  request.options.context = -1;
  CHECK(test::mentions(test::error_of([&] { scheduler.submit(request); }), {"the context is out of range"}));
  request.options.context = 0;
  request.options.prompt_logprobs = kScoredIds + 1;
  CHECK(test::mentions(test::error_of([&] { scheduler.submit(request); }), {"log-probabilities"}));
  request.options.prompt_logprobs = 0;
  request.options.overflow = Overflow::slide;
  CHECK(test::mentions(test::error_of([&] { scheduler.submit(request); }), {"does not slide"}));
}
