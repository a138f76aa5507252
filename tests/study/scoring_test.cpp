// scoring_test.cpp: windows as four conventions cut them, and scores against a plain sum over one long session.
#include "study/scoring.h"

#include <cmath>
#include <set>

#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

std::shared_ptr<const Model> plain_model() {
  test::RandomModel model;
  model.config = test::small_config();
  return Model::bind(write_model_in_memory(test::random_model(model), "small"));
}

// Minus the log-probability of `token`, in double, the slow way.
double plain_nll(std::span<const float> logits, TokenId token) {
  double best = -1e300, sum = 0;
  for (const float logit : logits) best = std::max(best, static_cast<double>(logit));
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  return best + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

// Every token that some window scores, each once.
std::set<int64_t> scored_by(const std::vector<Window>& windows) {
  std::set<int64_t> tokens;
  for (const Window& w : windows)
    for (int64_t t = w.scored_from; t <= w.first + w.count; ++t) CHECK(tokens.insert(t).second);
  return tokens;
}

}  // namespace

TEST_CASE("windows: rolling scores every token but the first once, whatever the stride") {
  for (const int64_t n : {2, 3, 7, 8, 9, 64, 65, 100})
    for (const int64_t ctx : {1, 2, 8, 64, 200})
      for (int64_t stride = 1; stride <= ctx; stride += 1 + stride / 2) {
        CAPTURE(n);
        CAPTURE(ctx);
        CAPTURE(stride);
        const std::vector<Window> windows = plan_windows(Cut::rolling, n, ctx, stride);
        CHECK(scored_by(windows).size() == static_cast<size_t>(n - 1));
        for (const Window& w : windows) {
          CHECK(w.count >= 1);
          CHECK(w.count <= ctx);
          CHECK(w.scored_from > w.first);  // something stands before every scored token
          CHECK(w.first + w.count <= n - 1);
        }
      }
}

TEST_CASE("windows: strided is the recipe of Hugging Face's documentation, weights included") {
  // The recipe, written down as it is told: windows [begin, end), the new tokens of each scored inside it.
  for (const int64_t n : {2, 5, 16, 17, 18, 40})
    for (const auto& [ctx, stride] : std::vector<std::pair<int64_t, int64_t>>{{8, 8}, {8, 4}, {8, 3}, {16, 1}}) {
      CAPTURE(n);
      CAPTURE(ctx);
      CAPTURE(stride);
      const std::vector<Window> windows = plan_windows(Cut::strided, n, ctx, stride);
      size_t i = 0;
      int64_t previous_end = 0;
      for (int64_t begin = 0; begin < n; begin += stride) {
        const int64_t end = std::min(begin + ctx, n), fresh = end - previous_end;
        const int64_t scored = std::min(fresh, end - begin - 1);  // labels are shifted inside the window
        if (scored > 0) {
          REQUIRE(i < windows.size());
          CHECK(windows[i].first == begin);
          CHECK(windows[i].count == end - begin - 1);
          CHECK(windows[i].scored() == scored);
          CHECK(windows[i].weight * static_cast<double>(scored) == doctest::Approx(static_cast<double>(fresh - 1)));
          ++i;
        }
        previous_end = end;
        if (end == n) break;
      }
      CHECK(i == windows.size());
    }
}

TEST_CASE("windows: half scores the second half of whole windows and drops the rest") {
  const std::vector<Window> windows = plan_windows(Cut::half, 35, 10, 10);
  REQUIRE(windows.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(windows[i].first == static_cast<int64_t>(10 * i));
    CHECK(windows[i].count == 9);
    CHECK(windows[i].scored_from == static_cast<int64_t>(10 * i + 6));
    CHECK(windows[i].scored() == 4);  // 10 - 1 - 10/2
  }
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::half, 19, 10, 10); }), {"20 tokens", "19"}));
}

TEST_CASE("windows: harness reaches back so that the last window is whole") {
  const std::vector<Window> windows = plan_windows(Cut::harness, 26, 10, 10);  // 25 predictions
  REQUIRE(windows.size() == 3);
  CHECK(windows[2].first == 15);
  CHECK(windows[2].count == 10);
  CHECK(windows[2].scored_from == 21);
  CHECK(scored_by(windows).size() == 25);
  CHECK(plan_windows(Cut::harness, 5, 10, 10).front().count == 4);
}

TEST_CASE("windows: bad sizes are told with what would do") {
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::rolling, 1, 8, 8); }), {"2 tokens or more"}));
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::rolling, 10, 0, 0); }), {"1 token or more"}));
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::strided, 10, 1, 1); }), {"2 tokens or more"}));
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::rolling, 10, 8, 9); }), {"1 to 8", "9"}));
  CHECK(test::mentions(test::error_of([] { plan_windows(Cut::rolling, 10, 8, 0); }), {"1 to 8", "0"}));
}

TEST_CASE("scores: each is what a fresh session says after the window's tokens before it") {
  const auto model = plain_model();
  const std::vector<TokenId> tokens = test::random_ids(3, 60, model->config().vocab_size);
  std::vector<Session> sessions;
  sessions.emplace_back(model, SessionOptions{.position = "none", .capacity = 16, .observer = {}});
  sessions.emplace_back(model, SessionOptions{.position = "alibi", .capacity = 16, .observer = {}});
  for (const std::optional<TokenId> put_first : {std::optional<TokenId>(), std::optional<TokenId>(5)}) {
    std::vector<std::vector<double>> seen(2);
    const std::vector<Window> windows = plan_windows(Cut::rolling, 60, 16, 5);
    score_windows(sessions, tokens, windows, put_first,
                  [&](const Prediction& p) {
                    for (size_t s = 0; s < 2; ++s) seen[s].push_back(p.nll(s, tokens[static_cast<size_t>(p.target)]));
                  },
                  {});
    for (size_t s = 0; s < 2; ++s) {
      size_t i = 0;
      Session fresh(model, {.position = s == 0 ? "none" : "alibi", .capacity = 16, .observer = {}});
      for (const Window& w : windows)
        for (int64_t t = w.scored_from; t <= w.first + w.count; ++t, ++i) {
          std::vector<TokenId> before(tokens.begin() + w.first, tokens.begin() + t);
          if (put_first) before.front() = *put_first;
          fresh.rewind(0);
          const double expected = plain_nll(fresh.evaluate(before), tokens[static_cast<size_t>(t)]);
          REQUIRE(std::abs(seen[s][i] - expected) < 2e-6 * (1 + expected));
        }
      CHECK(i == seen[s].size());
    }
  }
}

TEST_CASE("scores: progress counts scored tokens, and may stop the run") {
  const auto model = plain_model();
  const std::vector<TokenId> tokens = test::random_ids(3, 40, model->config().vocab_size);
  std::vector<Session> sessions;
  sessions.emplace_back(model, SessionOptions{.position = "none", .capacity = 8, .observer = {}});
  const std::vector<Window> windows = plan_windows(Cut::rolling, 40, 8, 8);
  int64_t last = 0;
  score_windows(
      sessions, tokens, windows, std::nullopt, [](const Prediction&) {},
      [&](int64_t done, int64_t total) {
        CHECK(total == 39);
        last = done;
      });
  CHECK(last == 39);
  CHECK_THROWS_AS(
      score_windows(
          sessions, tokens, windows, std::nullopt, [](const Prediction&) {}, [](int64_t, int64_t) { throw 1; }),
      int);
}

TEST_CASE("scores: models of vocabularies of different sizes are refused") {
  test::RandomModel other;
  other.config = test::small_config();
  ++other.config.vocab_size;
  std::vector<Session> sessions;
  sessions.emplace_back(plain_model(), SessionOptions{.position = "none", .capacity = 8, .observer = {}});
  sessions.emplace_back(Model::bind(ordinal::write_model_in_memory(test::random_model(other), "other")),
                        SessionOptions{.position = "none", .capacity = 8, .observer = {}});
  const std::vector<TokenId> tokens = {1, 2, 3};
  const std::string error = test::error_of([&] {
    score_windows(sessions, tokens, plan_windows(Cut::rolling, 3, 8, 8), std::nullopt, [](const Prediction&) {}, {});
  });
  CHECK(test::mentions(error, {"different vocabularies"}));
}

TEST_CASE("divergence: zero of a thing from itself, and the textbook sum otherwise") {
  const std::vector<float> p = {0.5f, -1.0f, 2.0f, 0.0f}, q = {1.5f, 0.25f, -2.0f, 3.0f};
  const auto log_sum = [](const std::vector<float>& x) {
    double sum = 0;
    for (const float v : x) sum += std::exp(static_cast<double>(v));
    return std::log(sum);
  };
  double expected = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double of_p = std::exp(static_cast<double>(p[i]) - log_sum(p));
    expected += of_p * (static_cast<double>(p[i]) - log_sum(p) - static_cast<double>(q[i]) + log_sum(q));
  }
  CHECK(kl_divergence(p, log_sum(p), q, log_sum(q)) == doctest::Approx(expected).epsilon(1e-6));
  CHECK(kl_divergence(p, log_sum(p), p, log_sum(p)) < 1e-7);
}

TEST_CASE("argmax: the first of equals") {
  CHECK(argmax(std::vector<float>{1, 3, 3, 2}) == 1);
  CHECK(argmax(std::vector<float>{-5}) == 0);
}
