// own_scheme_test.cpp: a session under a scheme that a program brings itself, which is in no list.
#include <cmath>
#include <memory>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "support.h"

namespace {

using ordinal::Session;

// alibi for eight heads, written once more: the penalty of Press et al. 2022 at slopes 1/2, 1/4, ... 1/256.
class Penalty final : public ordinal::PositionScheme {
 public:
  Penalty() = default;
  Penalty(const std::string& spec, int64_t end) : PositionScheme({.spec = spec, .kind = "relative"}), end_(end) {}

  int64_t max_positions() const override { return end_; }

  void add_to_scores(const ordinal::AttentionSite& site, std::span<const float>,
                     std::span<float> scores) const override {
    const float slope = std::exp2(-static_cast<float>(site.head + 1));
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] -= slope * static_cast<float>(site.query_position - site.key_positions[j]);
  }

 private:
  int64_t end_ = kUnlimited;
};

std::shared_ptr<const ordinal::Model> eight_heads() {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.n_heads = random.config.n_kv_heads = 8;
  random.position = "rope";
  return ordinal::Model::bind(ordinal::write_model_in_memory(test::random_model(random), "eight heads"));
}

TEST_CASE("session: a scheme of the program's own gives the bits of the same one by its spec") {
  const auto model = eight_heads();
  const auto ids = test::random_ids(3, 19, model->config().vocab_size);
  Session listed(model, {.position = "alibi"}), own(model, {.scheme = std::make_shared<Penalty>()});
  const auto expected = listed.evaluate(ids), found = own.evaluate(ids);
  CHECK(test::same_bits({found.begin(), found.end()}, {expected.begin(), expected.end()}));
  CHECK(own.scheme().spec().empty());
  Session forked = own.fork();
  CHECK(&forked.scheme() == &own.scheme());
  Session native(model);
  const auto other = native.evaluate(ids);
  CHECK_FALSE(test::same_bits({found.begin(), found.end()}, {other.begin(), other.end()}));
}

TEST_CASE("session: a scheme and a spec together are refused, unless the spec is the scheme's own") {
  const auto model = eight_heads();
  const auto named = std::make_shared<Penalty>("penalty", ordinal::PositionScheme::kUnlimited);
  CHECK_NOTHROW(Session(model, {.position = "penalty", .scheme = named}));
  CHECK_NOTHROW(Session(model, {.scheme = named}));
  CHECK(test::mentions(test::error_of([&] { Session(model, {.position = "alibi", .scheme = named}); }),
                       {"'penalty'", "alibi"}));
  CHECK_THROWS_AS(Session(model, {.position = "", .scheme = named}), ordinal::Error);
}

TEST_CASE("session: the last position of a program's own scheme binds as any other does") {
  const auto model = eight_heads();
  const auto ending = std::make_shared<Penalty>("penalty", 5);
  CHECK(Session(model, {.scheme = ending}).capacity() == 5);
  CHECK(test::mentions(test::error_of([&] { Session(model, {.scheme = ending, .capacity = 6}); }), {"penalty", "5"}));
}

}  // namespace
