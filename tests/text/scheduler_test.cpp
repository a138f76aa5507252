// scheduler_test.cpp: requests that come and go, against each of them alone.
#include "text/scheduler.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "letters.h"
#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr int64_t kIds = 77, kRoom = 64;

const std::shared_ptr<const Model>& shared_model() {
  static const std::shared_ptr<const Model> made = [] {
    test::RandomModel random;
    random.config = test::small_config();
    random.config.max_seq_len = kRoom;
    random.config.eos_ids = {13};
    random.position_rows = kRoom;
    random.position = "learned";
    return Model::bind(write_model_in_memory(test::random_model(random), "random"));
  }();
  return made;
}

const test::Letters& letters() {
  static const test::Letters made(kIds, 5);
  return made;
}

GenerateRequest asked(int64_t id, int64_t prompt, int64_t n) {
  GenerateRequest request;
  request.id = id;
  request.prompt = test::random_ids(static_cast<uint64_t>(500 + id), prompt, kIds);
  request.options.max_new_tokens = n;
  request.options.ignore_eos = true;
  request.options.sampler.temperature = 0.9f;
  request.options.sampler.seed = static_cast<uint64_t>(id);
  request.options.logprobs = 1;
  return request;
}

Generation alone(const GenerateRequest& request, int64_t chunk = 256) {
  Session session(shared_model(), {.position = request.position.empty() ? "native" : request.position, .chunk = chunk});
  GenerateOptions options = request.options;
  options.draft_tokens = 0;
  return generate(session, &letters(), request.prompt, options).at(0);
}

// A scheduler whose results are kept by id.
struct Kept {
  explicit Kept(int64_t parallel, SessionOptions options = {})
      : session(shared_model(), std::move(options)), scheduler(session, &letters(), parallel) {}

  void submit(GenerateRequest request) {
    request.events.finished = [this](int64_t id, const Generation& result) { results[id] = result; };
    scheduler.submit(std::move(request));
  }
  void check_same(const GenerateRequest& request) {
    CAPTURE(request.id);
    REQUIRE(results.contains(request.id));
    const Generation expected = alone(request), &found = results[request.id];
    CHECK(found.ids == expected.ids);
    CHECK(found.text == expected.text);
    CHECK(found.finish == expected.finish);
    REQUIRE(found.logprobs.size() == expected.logprobs.size());
    for (size_t i = 0; i < found.logprobs.size(); ++i) CHECK(found.logprobs[i].logprob == expected.logprobs[i].logprob);
  }

  Session session;
  std::map<int64_t, Generation> results;
  Scheduler scheduler;
};

}  // namespace

TEST_CASE("scheduler: requests that join while others run get what they get alone") {
  for (const int64_t parallel : {1, 2, 5})
    for (const int64_t chunk : {1, 6, 256}) {
      CAPTURE(parallel);
      CAPTURE(chunk);
      Kept kept(parallel, {.chunk = chunk});
      std::vector<GenerateRequest> requests;
      for (int64_t i = 0; i < 9; ++i) {
        requests.push_back(asked(i, 1 + 5 * i, 20 - 2 * i));
        requests.back().options.draft_tokens = i % 3;
      }
      for (const GenerateRequest& request : requests) {
        kept.submit(request);
        for (int64_t steps = 0; steps < request.id; ++steps) kept.scheduler.step();
      }
      kept.scheduler.run();
      for (const GenerateRequest& request : requests) kept.check_same(request);
      CHECK(kept.scheduler.waiting() == 0);
      CHECK(kept.scheduler.at_work() == 0);
      CHECK(!kept.scheduler.step());
    }
}

TEST_CASE("scheduler: position schemes stand side by side in one pass") {
  Kept kept(6);
  std::vector<GenerateRequest> requests;
  for (const char* position : {"", "rope", "alibi", "none", "rope:theta=500", "learned", "rope", "alibi"}) {
    requests.push_back(asked(std::ssize(requests), 12, 15));
    requests.back().prompt =
        requests.front().prompt;  // the same text, which other schemes' caches must not be taken for
    requests.back().position = position;
    kept.submit(requests.back());
  }
  kept.scheduler.run();
  for (const GenerateRequest& request : requests) kept.check_same(request);
  CHECK(kept.results[1].logprobs[0].logprob != kept.results[3].logprobs[0].logprob);
}

TEST_CASE("scheduler: a long prompt stops the others' text for no more than a chunk a step") {
  Kept kept(2, {.chunk = 8});
  GenerateRequest grows = asked(1, 3, 30), reads = asked(2, 40, 1);
  int64_t drawn = 0, read = 0;
  grows.events.token = [&](int64_t, TokenId) { ++drawn; };
  reads.events.prompt = [&](int64_t done, int64_t) { read = done; };
  kept.submit(grows);
  kept.scheduler.step();
  kept.submit(reads);
  while (read < 40) {
    const int64_t before_drawn = drawn, before_read = read;
    kept.scheduler.step();
    CHECK(drawn == before_drawn + 1);
    CHECK(read <= before_read + 7);  // a row of the pass is the other's
    CHECK(read > before_read);
  }
  kept.scheduler.run();
  kept.check_same(grows);
  kept.check_same(reads);
}

TEST_CASE("scheduler: cancelled in the queue, in the prompt or in the text, a request ends alone") {
  Kept kept(2, {.chunk = 4});
  const GenerateRequest in_text = asked(1, 2, 40), in_prompt = asked(2, 30, 5), queued = asked(3, 5, 5),
                        stays = asked(4, 9, 12);
  for (const GenerateRequest& request : {in_text, in_prompt, queued, stays}) kept.submit(request);
  for (int step = 0; step < 4; ++step) kept.scheduler.step();
  for (const int64_t id : {1, 2, 3, 99}) kept.scheduler.cancel(id);
  kept.scheduler.step();
  for (const int64_t id : {1, 2, 3}) {
    CAPTURE(id);
    REQUIRE(kept.results.contains(id));
    CHECK(kept.results[id].finish == Finish::interrupted);
  }
  const std::vector<TokenId> whole = alone(in_text).ids;
  CHECK(kept.results[1].ids.size() >= 2);
  CHECK(std::ranges::equal(kept.results[1].ids, std::span(whole).first(kept.results[1].ids.size())));
  CHECK(kept.results[2].ids.empty());
  kept.scheduler.run();
  kept.check_same(stays);
}

TEST_CASE("scheduler: an error ends its request alone, and is told to it or thrown when the step is over") {
  Kept kept(3);
  GenerateRequest throws = asked(1, 4, 20), told = asked(2, 4, 20);
  const GenerateRequest stays = asked(3, 4, 20);
  const auto trip = [](int64_t after) {
    return [after, count = int64_t{0}](int64_t, TokenId) mutable {
      if (++count == after) throw std::runtime_error("the sink is full");
    };
  };
  throws.events.token = trip(5);
  told.events.token = trip(3);
  std::string heard;
  told.failed = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& what) {
      heard = what.what();
    }
  };
  for (const GenerateRequest& request : {throws, told, stays}) kept.submit(request);
  CHECK_THROWS_WITH(kept.scheduler.run(), "the sink is full");
  CHECK(heard == "the sink is full");
  kept.scheduler.run();
  CHECK(!kept.results.contains(1));
  CHECK(!kept.results.contains(2));
  kept.check_same(stays);

  // What cannot be, in a scheme of its own, is found when it joins.
  GenerateRequest bad = asked(4, 4, 4);
  bad.position = "rope:theta=-1";
  bool failed = false;
  bad.failed = [&](std::exception_ptr) { failed = true; };
  kept.submit(bad);
  kept.submit(asked(5, 4, 4));
  kept.scheduler.run();
  CHECK(failed);
  kept.check_same(asked(5, 4, 4));
}

TEST_CASE("scheduler: a request may be submitted from an event") {
  Kept kept(1);
  GenerateRequest first = asked(1, 4, 6);
  const GenerateRequest second = asked(2, 5, 6);
  first.events.token = [&, done = false](int64_t, TokenId) mutable {
    if (!std::exchange(done, true)) kept.submit(second);
  };
  kept.submit(first);
  kept.scheduler.run();
  kept.check_same(second);
}
