// scheduler_test.cpp: requests that come and go, against each of them alone.
#include "text/scheduler.h"

#include <algorithm>
#include <array>
#include <limits>
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

TEST_CASE("scheduler: a slot that served another scheme and then the session's own serves its own scheme on") {
  Kept kept(2);
  std::vector<GenerateRequest> requests;
  // One slot goes from the lent session to one of its own and back, twice, while the other is in use.
  for (const char* position : {"", "rope", "none", "rope", "none", "", "", "alibi", "rope", "", "", ""}) {
    requests.push_back(asked(std::ssize(requests), 6 + std::ssize(requests) % 3, 4 + std::ssize(requests) % 5));
    requests.back().position = position;
    kept.submit(requests.back());
    for (int64_t steps = 0; steps < 3; ++steps) kept.scheduler.step();
  }
  kept.scheduler.run();
  for (const GenerateRequest& request : requests) kept.check_same(request);
}

TEST_CASE("scheduler: a request that cannot be is refused when it is submitted, and leaves no trace") {
  Kept kept(2);
  const auto refused = [&](auto change, const std::string& word) {
    GenerateRequest request = asked(1, 4, 4);
    change(request);
    CHECK(test::mentions(test::error_of([&] { kept.submit(request); }), {word}));
    CHECK(kept.scheduler.waiting() == 0);
  };
  refused([](GenerateRequest& r) { r.prompt.clear(); }, "prompt is empty");
  refused([](GenerateRequest& r) { r.prompt[2] = kIds; }, "outside the vocabulary");
  refused([](GenerateRequest& r) { r.prompt[0] = -1; }, "outside the vocabulary");
  refused([](GenerateRequest& r) { r.prompt.resize(kRoom + 1, 5); }, "longer than the context");
  refused([](GenerateRequest& r) { r.position = "rope:theta=-1"; }, "theta");
  refused([](GenerateRequest& r) { r.position = "no_such_scheme"; }, "no_such_scheme");
  refused([](GenerateRequest& r) { r.options.samples = 2; }, "one continuation");
  const GenerateRequest good = asked(2, 5, 5);
  kept.submit(good);
  kept.scheduler.run();
  kept.check_same(good);
}

TEST_CASE("scheduler: under a scheme with an end the context is no longer than that, for the others as it was") {
  constexpr int64_t kLong = kRoom + 30;
  Kept kept(3, {.position = "rope", .capacity = kLong});
  GenerateRequest ends = asked(1, 50, 60), goes_on = asked(2, 50, 44);
  ends.position = "learned";  // a table of kRoom rows
  for (const GenerateRequest& request : {ends, goes_on}) kept.submit(request);
  kept.scheduler.run();
  kept.check_same(ends);
  CHECK(kept.results[1].finish == Finish::context);
  CHECK(std::ssize(kept.results[1].ids) == kRoom - 50 + 1);
  CHECK(kept.results[2].finish == Finish::length);
  ends.prompt = test::random_ids(9, kRoom + 1, kIds);
  CHECK(test::mentions(test::error_of([&] { kept.submit(ends); }), {"longer than the context"}));
}

TEST_CASE("scheduler: a window that slides is read chunk by chunk, and stops the others no longer than a prompt") {
  Kept kept(2, {.chunk = 8});
  GenerateRequest slides = asked(1, 60, 40), grows = asked(2, 3, 50);
  slides.options.overflow = Overflow::slide;
  slides.options.keep = 3;
  slides.options.draft_tokens = 3;
  int64_t drawn = 0, slid = 0;
  grows.events.token = [&](int64_t, TokenId) { ++drawn; };
  slides.events.slide = [&](int64_t, int64_t, int64_t) { ++slid; };
  for (const GenerateRequest& request : {grows, slides}) kept.submit(request);
  while (drawn < 50) {
    const int64_t before = drawn;
    kept.scheduler.step();
    CHECK(drawn == before + 1);
  }
  kept.scheduler.run();
  CHECK(slid >= 1);
  kept.check_same(grows);
  kept.check_same(slides);
}

TEST_CASE("scheduler: prompts are read in the order in which they came, whatever their slots") {
  Kept kept(3, {.chunk = 4});
  std::vector<int64_t> read_in_order;
  const auto prompt_of = [&](int64_t id) {
    return [&read_in_order, id](int64_t done, int64_t total) {
      if (done == total) read_in_order.push_back(id);
    };
  };
  GenerateRequest brief = asked(1, 2, 1), middle = asked(2, 30, 1), last = asked(3, 30, 1), late = asked(4, 30, 1);
  for (GenerateRequest* request : {&brief, &middle, &last, &late}) {
    request->events.prompt = prompt_of(request->id);
    kept.submit(*request);  // the late one gets the first slot, when the brief one has left it
  }
  kept.scheduler.run();
  CHECK(read_in_order == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("scheduler: a text that goes on a text is not evaluated again, though others came between") {
  Kept kept(3);
  const GenerateRequest first = asked(1, 20, 10);
  kept.submit(first);
  kept.scheduler.run();
  for (int64_t id = 2; id < 4; ++id) {  // one after another, in the two other slots
    kept.submit(asked(id, 5, 3));
    kept.scheduler.run();
  }
  GenerateRequest second = asked(7, 1, 6);
  second.prompt = first.prompt;
  second.prompt.insert(second.prompt.end(), kept.results[1].ids.begin(), kept.results[1].ids.end());
  second.prompt.push_back(7);
  kept.submit(second);
  kept.scheduler.run();
  kept.check_same(second);
  CHECK(kept.results[7].timings.prefill_tokens == 2);  // the last token of the first text, and the new one
}

TEST_CASE("scheduler: whatever event throws, at whatever stage, the others go on and each request ends once") {
  const auto trip = [](auto&&...) { throw std::runtime_error("not now"); };
  for (const char* stage : {"prompt", "token", "text", "slide", "finished", "cancelled", "queued"})
    for (const bool heard : {true, false}) {
      CAPTURE(stage);
      CAPTURE(heard);
      const std::string at = stage;
      Kept kept(2, {.chunk = 8});
      GenerateRequest throws = asked(1, 20, 60);
      const GenerateRequest stays = asked(2, 30, 20), after = asked(3, 25, 9);
      throws.options.overflow = Overflow::slide;
      int64_t failures = 0, thrown = 0;
      if (heard) throws.failed = [&](const std::exception_ptr&) { ++failures; };
      if (at == "prompt") throws.events.prompt = trip;
      if (at == "token") throws.events.token = trip;
      if (at == "text") throws.events.text = trip;
      if (at == "slide") throws.events.slide = trip;
      if (at == "finished" || at == "cancelled" || at == "queued") throws.events.finished = trip;
      if (at != "queued") kept.scheduler.submit(throws);
      kept.submit(stays);
      kept.submit(after);
      if (at == "queued") kept.scheduler.submit(throws);
      for (bool more = true; more;) {
        if (at == "cancelled" || at == "queued") kept.scheduler.cancel(1);
        try {
          more = kept.scheduler.step();
        } catch (const std::runtime_error& error) {
          CHECK(error.what() == std::string("not now"));
          ++thrown;
        }
      }
      CHECK(failures == (heard ? 1 : 0));
      CHECK(thrown == (heard ? 0 : 1));
      kept.check_same(stays);
      kept.check_same(after);
    }
}

TEST_CASE("scheduler: a request with no token left to draw ends alone, and its slot serves others") {
  Kept kept(1);
  GenerateRequest hopeless = asked(1, 12, 5);
  for (TokenId id = 0; id < kIds; ++id)
    hopeless.options.sampler.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  std::string heard;
  hopeless.failed = [&](std::exception_ptr error) { heard = test::error_of([&] { std::rethrow_exception(error); }); };
  GenerateRequest same = asked(2, 12, 5);
  same.prompt = hopeless.prompt;
  kept.submit(hopeless);
  kept.submit(same);
  kept.scheduler.run();
  CHECK(test::mentions(heard, {"no token is left"}));
  kept.check_same(same);
}

TEST_CASE("scheduler: cancelled from an event, a request ends before the next pass") {
  Kept kept(2);
  GenerateRequest stops = asked(1, 4, 40);
  const GenerateRequest stays = asked(2, 4, 10);
  stops.events.token = [&, drawn = 0](int64_t id, TokenId) mutable {
    if (++drawn == 7) kept.scheduler.cancel(id);
  };
  for (const GenerateRequest& request : {stops, stays}) kept.submit(request);
  kept.scheduler.run();
  CHECK(kept.results[1].finish == Finish::interrupted);
  CHECK(kept.results[1].ids.size() == 7);
  kept.check_same(stays);
}

TEST_CASE("scheduler: at any load, options of every kind give what they give alone") {
  test::Random random(77);
  for (int64_t round = 0; round < 12; ++round) {
    CAPTURE(round);
    Kept kept(1 + random.below(6), {.chunk = 1 + random.below(20)});
    std::vector<GenerateRequest> requests;
    const std::vector<TokenId> common = test::random_ids(static_cast<uint64_t>(round), 40, kIds);
    constexpr std::array<const char*, 5> kPositions = {"", "rope", "alibi", "sinusoidal", "learned"};
    for (int64_t i = 0; i < 20; ++i) {
      GenerateRequest& request = requests.emplace_back(asked(i, 1 + random.below(kRoom / 3), random.below(30)));
      request.prompt.insert(request.prompt.begin(), common.begin(), common.begin() + random.below(40));
      request.position = kPositions[static_cast<size_t>(random.below(2) * random.below(5))];
      GenerateOptions& options = request.options;
      options.draft_tokens = random.below(2) * random.below(9);
      options.ignore_eos = random.below(2) == 0;
      options.overflow = random.below(2) == 0 ? Overflow::slide : Overflow::stop;
      options.keep = options.overflow == Overflow::slide ? random.below(6) : 0;
      if (random.below(3) == 0) options.stop = {"ab", "eee", "dc"};
      options.sampler.temperature = static_cast<float>(random.below(3)) * 0.6f;
      options.sampler.top_k = random.below(2) * 9;
      options.sampler.presence_penalty = static_cast<float>(random.below(3)) * 0.4f;
      options.sampler.repetition_penalty = 1.0f + static_cast<float>(random.below(3)) * 0.2f;
      options.sampler.penalize = static_cast<Penalize>(random.below(3));
      kept.submit(request);
      for (int64_t steps = random.below(9); steps > 0; --steps) kept.scheduler.step();
    }
    kept.scheduler.run();
    for (const GenerateRequest& request : requests) kept.check_same(request);
  }
}
