// allocations_test.cpp: a session takes its memory when it is made; evaluating asks for none.
#include "position/allocations.h"

#include <memory>
#include <string>
#include <vector>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "support.h"

namespace {

using ordinal::Dtype;
using ordinal::Session;
using ordinal::TokenId;

std::shared_ptr<const ordinal::Model> model_of(const std::string& position, bool gated, Dtype dtype) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.max_seq_len = 200;
  random.config.gated_mlp = gated;
  random.position = position;
  random.position_rows = position == "learned" ? 200 : 0;
  ordinal::WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  return ordinal::Model::bind(ordinal::write_model_in_memory(test::random_model(random), "random model", options));
}

// What `action` asks for.
template <class Action>
int64_t asked(Action&& action) {
  const int64_t before = test::allocations();
  action();
  return test::allocations() - before;
}

struct Case {
  const char* position;
  bool gated;
  Dtype dtype, kv_dtype;
  int n_threads;
};
constexpr Case kCases[] = {{"learned", false, Dtype::f32, Dtype::f32, 1},
                           {"alibi", false, Dtype::q8_0, Dtype::f32, 2},
                           {"rope:pairing=half", true, Dtype::q4_0, Dtype::f16, 3},
                           {"none", true, Dtype::bf16, Dtype::bf16, 2},
                           {"rope;with=rerope:window=40", true, Dtype::f32, Dtype::f16, 2},
                           {"rope;with=dca:chunk=30,limit=50;with=logn:length=60", false, Dtype::q8_0, Dtype::f32, 3}};

TEST_CASE("model: evaluating asks for no memory, from the first token on") {
  for (const Case& c : kCases) {
    CAPTURE(std::string(c.position));
    const auto model = model_of(c.position, c.gated, c.dtype);
    const std::vector<TokenId> ids = test::random_ids(21, 190, 77);
    const std::span<const TokenId> text(ids);
    const ordinal::SessionOptions options{.n_threads = c.n_threads, .chunk = 32, .kv_dtype = c.kv_dtype};
    Session session(model, options), rows(model, options);
    // A prompt of several chunks, then token by token over many panels of keys.
    CHECK(asked([&] { session.evaluate(text.first(100)); }) == 0);
    CHECK(asked([&] {
            for (size_t i = 100; i < text.size(); ++i) session.evaluate(text.subspan(i, 1));
          }) == 0);
    CHECK(asked([&] {
            session.rewind(3);
            session.evaluate(text.subspan(3, 70));
          }) == 0);
    float sum = 0;
    const Session::LogitsSink sink = [&](int64_t, std::span<const float> logits) { sum += logits[0]; };
    CHECK(asked([&] { rows.evaluate_all(text, sink); }) == 0);
    Session fork = session.fork();
    CHECK(asked([&] { fork.evaluate(text.subspan(73, 60)); }) == 0);
  }
}

TEST_CASE("model: sessions that share passes ask for memory the first time only") {
  const auto model = model_of("alibi", false, Dtype::q8_0);
  const std::vector<TokenId> ids = test::random_ids(22, 150, 77);
  const std::span<const TokenId> text(ids);
  std::vector<Session> sessions;
  for (const int64_t capacity : {40, 150, 90}) {  // the leading one is the shortest
    sessions.emplace_back(model, ordinal::SessionOptions{.capacity = capacity, .n_threads = 2, .chunk = 16});
  }
  std::vector<Session::Part> parts;
  const auto all = [&](size_t first, size_t count) {
    parts.clear();
    for (Session& session : sessions) parts.push_back({&session, text.subspan(first, count)});
    return std::span<const Session::Part>(parts);
  };
  Session::evaluate_together(all(0, 3));
  sessions[1].evaluate(text.subspan(3, 120));
  sessions[1].rewind(3);
  for (size_t i = 3; i < 10; ++i) {
    const auto step = all(i, 1);
    CHECK(asked([&] { Session::evaluate_together(step); }) == 0);
  }
  const auto prompt = all(10, 20);  // 60 rows in passes of 16
  CHECK(asked([&] { Session::evaluate_together(prompt); }) == 0);
  sessions.pop_back();
  const auto fewer = all(30, 5);
  CHECK(asked([&] { Session::evaluate_together(fewer); }) == 0);
}

}  // namespace
