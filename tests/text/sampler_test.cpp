// sampler_test.cpp: every option of the sampler, against its definition computed here another way.
#include "ordinal/sampler.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>
#include <set>

#include "support.h"

using ordinal::Candidate;
using ordinal::Penalize;
using ordinal::Sampler;
using ordinal::SamplerOptions;
using ordinal::TokenId;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<TokenId> ids_of(const std::vector<Candidate>& kept) {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : kept) ids.push_back(candidate.id);
  return ids;
}

std::vector<Candidate> candidates(const std::vector<float>& logits, const SamplerOptions& options) {
  return Sampler(options, static_cast<int64_t>(logits.size())).candidates(logits);
}

// Probabilities by id, zero for what is not kept.
std::vector<double> probabilities(const std::vector<float>& logits, const SamplerOptions& options) {
  std::vector<double> result(logits.size());
  for (const Candidate& candidate : candidates(logits, options))
    result[static_cast<size_t>(candidate.id)] = candidate.probability;
  return result;
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= tolerance);
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature = 1.0) {
  const double best = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (const float logit : logits) p.push_back(std::exp((static_cast<double>(logit) - best) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= total;
  return p;
}

// The filters as their papers put them, over a fully sorted list, with no regard for speed.
std::vector<TokenId> slow_kept(const std::vector<float>& logits, const SamplerOptions& o) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (o.top_k > 0 && static_cast<size_t>(o.top_k) < order.size()) order.resize(static_cast<size_t>(o.top_k));
  const auto share = [&] {
    std::vector<double> p;
    for (const size_t i : order) p.push_back(std::exp(static_cast<double>(logits[i]) / o.temperature));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& value : p) value /= total;
    return p;
  };
  if (o.typical_p < 1.0f) {
    const std::vector<double> p = share();
    double entropy = 0.0;
    for (const double value : p) entropy -= value * std::log(value);
    std::vector<size_t> by_distance(order.size());
    std::iota(by_distance.begin(), by_distance.end(), size_t{0});
    std::stable_sort(by_distance.begin(), by_distance.end(), [&](size_t a, size_t b) {
      return std::abs(-std::log(p[a]) - entropy) < std::abs(-std::log(p[b]) - entropy);
    });
    double reached = 0.0;
    std::vector<size_t> places;
    for (const size_t place : by_distance) {
      places.push_back(place);
      if ((reached += p[place]) >= o.typical_p) break;
    }
    std::sort(places.begin(), places.end());
    std::vector<size_t> kept;
    for (const size_t place : places) kept.push_back(order[place]);
    order = kept;
  }
  if (o.top_p < 1.0f) {
    const std::vector<double> p = share();
    double reached = 0.0;
    size_t count = 0;
    do reached += p[count++];
    while (reached < o.top_p && count < p.size());
    order.resize(count);
  }
  const std::vector<double> p = share();
  std::vector<TokenId> kept;
  for (size_t i = 0; i < order.size(); ++i)
    if (p[i] >= o.min_p * p[0]) kept.push_back(static_cast<TokenId>(order[i]));
  return kept;
}

// 0.5, 0.25, 0.15, 0.1
const std::vector<float> kFour = {-0.693147181f, -1.386294361f, -1.897119985f, -2.302585093f};

}  // namespace

TEST_CASE("sampler: temperature zero takes the best token, whatever the seed") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SamplerOptions options;
    options.temperature = 0.0f;
    options.seed = seed;
    Sampler sampler(options, 3);
    for (int draw = 0; draw < 3; ++draw) CHECK(sampler.sample(std::vector<float>{1.0f, 3.0f, 2.0f}) == 1);
  }
}

TEST_CASE("sampler: temperature zero gives ties to the lowest id") {
  SamplerOptions options;
  options.temperature = 0.0f;
  CHECK(Sampler(options, 4).sample(std::vector<float>{1.0f, 3.0f, 3.0f, 3.0f}) == 1);
  CHECK(Sampler(options, 2).sample(std::vector<float>{-0.0f, 0.0f}) == 0);
  CHECK(ids_of(candidates({1.0f, 3.0f, 3.0f, 3.0f}, options)) == std::vector<TokenId>{1});
}

TEST_CASE("sampler: a tiny temperature is greedy without overflow") {
  for (const float temperature : {1e-6f, 1e-38f, std::numeric_limits<float>::denorm_min()})
    for (uint64_t seed = 0; seed < 100; ++seed) {
      SamplerOptions options;
      options.temperature = temperature;
      options.seed = seed;
      CHECK(Sampler(options, 3).sample(std::vector<float>{1.0f, 3.0f, 2.0f}) == 1);
      CHECK(Sampler(options, 3).sample(std::vector<float>{1000.0f, 3000.0f, 2999.5f}) == 1);
    }
}

TEST_CASE("sampler: a huge temperature makes all tokens equal, and top-k still keeps the best") {
  SamplerOptions options;
  options.temperature = 1e30f;
  check_close(probabilities({1.0f, 3.0f, 2.0f}, options), {1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-5);
  options.top_k = 1;
  CHECK(ids_of(candidates({1.0f, 3.0f, 2.0f}, options)) == std::vector<TokenId>{1});
}

TEST_CASE("sampler: a temperature below zero, NaN or infinite is refused by name") {
  for (const float temperature : {-1.0f, kNan, kInf, -kInf}) {
    SamplerOptions options;
    options.temperature = temperature;
    CHECK(test::mentions(test::error_of([&] { Sampler(options, 3); }), {"temperature"}));
  }
}

TEST_CASE("sampler: probabilities are the softmax of logits over temperature") {
  test::Random random(1);
  for (const float temperature : {0.3f, 1.0f, 2.5f}) {
    std::vector<float> logits = random.normals(100, 4.0f);
    SamplerOptions options;
    options.temperature = temperature;
    check_close(probabilities(logits, options), softmax(logits, temperature), 1e-14);
  }
}

TEST_CASE("sampler: top-p keeps the smallest set that reaches p, and at least one token") {
  struct Item {
    float p;
    std::vector<TokenId> kept;
    std::vector<double> probabilities;
  };
  const std::vector<Item> items = {
      {0.4f, {0}, {1, 0, 0, 0}},
      {0.6f, {0, 1}, {2.0 / 3, 1.0 / 3, 0, 0}},
      {0.74f, {0, 1}, {2.0 / 3, 1.0 / 3, 0, 0}},
      {0.76f, {0, 1, 2}, {5.0 / 9, 2.5 / 9, 1.0 / 6, 0}},
      {0.95f, {0, 1, 2, 3}, {0.5, 0.25, 0.15, 0.1}},
      {1.0f, {0, 1, 2, 3}, {0.5, 0.25, 0.15, 0.1}},
      {0.0f, {0}, {1, 0, 0, 0}},
      {1e-9f, {0}, {1, 0, 0, 0}},
  };
  for (const Item& item : items) {
    SamplerOptions options;
    options.top_p = item.p;
    CHECK(ids_of(candidates(kFour, options)) == item.kept);
    check_close(probabilities(kFour, options), item.probabilities, 1e-5);
  }
}

TEST_CASE("sampler: top-p keeps the same tokens wherever they stand") {
  SamplerOptions options;
  options.top_p = 0.6f;
  const std::vector<float> logits = {-2.302585093f, -0.693147181f, -1.897119985f, -1.386294361f};
  CHECK(ids_of(candidates(logits, options)) == std::vector<TokenId>{1, 3});
  check_close(probabilities(logits, options), {0, 2.0 / 3, 0, 1.0 / 3}, 1e-5);
}

TEST_CASE("sampler: options out of range are refused by name") {
  const auto refused = [](auto change, const std::string& word) {
    SamplerOptions options;
    change(options);
    CHECK(test::mentions(test::error_of([&] { Sampler(options, 4); }), {word}));
  };
  refused([](SamplerOptions& o) { o.top_p = -0.1f; }, "top-p");
  refused([](SamplerOptions& o) { o.top_p = 1.5f; }, "top-p");
  refused([](SamplerOptions& o) { o.top_p = kNan; }, "top-p");
  refused([](SamplerOptions& o) { o.top_k = -1; }, "top-k");
  refused([](SamplerOptions& o) { o.typical_p = 1.01f; }, "typical");
  refused([](SamplerOptions& o) { o.typical_p = kNan; }, "typical");
  refused([](SamplerOptions& o) { o.min_p = -0.01f; }, "min-p");
  refused([](SamplerOptions& o) { o.min_p = kNan; }, "min-p");
  refused([](SamplerOptions& o) { o.repetition_penalty = 0.0f; }, "repetition penalty");
  refused([](SamplerOptions& o) { o.repetition_penalty = -1.0f; }, "repetition penalty");
  refused([](SamplerOptions& o) { o.repetition_penalty = kInf; }, "repetition penalty");
  refused([](SamplerOptions& o) { o.repetition_penalty = kNan; }, "repetition penalty");
  refused([](SamplerOptions& o) { o.presence_penalty = kNan; }, "presence penalty");
  refused([](SamplerOptions& o) { o.frequency_penalty = -kInf; }, "frequency penalty");
  refused([](SamplerOptions& o) { o.penalty_window = -2; }, "penalty window");
  refused([](SamplerOptions& o) { o.logit_bias = {{4, 1.0f}}; }, "ids 0 to 3");
  refused([](SamplerOptions& o) { o.logit_bias = {{-1, 1.0f}}; }, "ids 0 to 3");
  refused([](SamplerOptions& o) { o.logit_bias = {{0, kNan}}; }, "logit bias");
  refused([](SamplerOptions& o) { o.logit_bias = {{0, kInf}}; }, "logit bias");
  CHECK(test::mentions(test::error_of([] { Sampler(SamplerOptions(), 0); }), {"vocabulary"}));
}

TEST_CASE("sampler: a draw beyond the rounded sum takes the last kept token") {
  SamplerOptions options;
  const std::vector<Candidate> kept = candidates(kFour, options);
  CHECK(Sampler::pick(kept, 0.99999994) == 3);
  CHECK(Sampler::pick(kept, 0.0) == 0);
  const std::vector<Candidate> short_of_one = {{7, 0.3}, {2, 0.3}};
  CHECK(Sampler::pick(short_of_one, 0.29) == 7);
  CHECK(Sampler::pick(short_of_one, 0.3) == 2);
  CHECK(Sampler::pick(short_of_one, std::nextafter(1.0, 0.0)) == 2);
  test::error_of([] { Sampler::pick({}, 0.5); });
}

TEST_CASE("sampler: the repetition penalty lowers positive and negative logits, once a token") {
  SamplerOptions options;
  options.repetition_penalty = 1.5f;
  Sampler sampler(options, 4);
  sampler.observe(std::vector<TokenId>{0, 1, 0, 0, 3});
  const std::vector<float> after = sampler.adjusted(std::vector<float>{2.0f, -2.0f, 0.5f, 0.0f});
  const std::vector<float> expected = {1.3333333f, -3.0f, 0.5f, 0.0f};
  for (size_t i = 0; i < 4; ++i) CHECK(std::abs(after[i] - expected[i]) <= 1e-6f);

  options.repetition_penalty = 1.0f;
  Sampler unchanged(options, 2);
  unchanged.observe(std::vector<TokenId>{0, 1});
  CHECK(unchanged.adjusted(std::vector<float>{2.0f, -2.0f}) == std::vector<float>{2.0f, -2.0f});
}

TEST_CASE("sampler: presence is subtracted once, frequency as often as seen, bias comes first") {
  SamplerOptions options;
  options.logit_bias = {{0, 4.0f}, {2, -kInf}, {0, -1.0f}};
  options.repetition_penalty = 2.0f;
  options.presence_penalty = 0.5f;
  options.frequency_penalty = 0.25f;
  options.penalize = Penalize::all;
  Sampler sampler(options, 4);
  sampler.observe(std::vector<TokenId>{0, 0, 0, 1, 2});
  // 0: (-1 + 4 - 1) / 2 - 0.5 - 3 * 0.25    1: -1 * 2 - 0.5 - 0.25
  const std::vector<float> after = sampler.adjusted(std::vector<float>{-1.0f, -1.0f, 5.0f, 3.0f});
  CHECK(after == std::vector<float>{-0.25f, -2.75f, -kInf, 3.0f});
}

TEST_CASE("sampler: repetition sees the prompt, presence and frequency what is new, unless told otherwise") {
  SamplerOptions options;
  options.temperature = 0.0f;
  options.repetition_penalty = 2.0f;
  options.presence_penalty = 1.0f;
  options.frequency_penalty = 0.5f;
  const std::vector<float> logits = {8.0f, 4.0f, 2.0f};
  // The prompt has 1 and 2, then 0 is drawn: /2 for repetition, -1 - 0.5 for presence and frequency.
  const auto after = [&](Penalize penalize) {
    options.penalize = penalize;
    Sampler sampler(options, 3);
    sampler.observe(std::vector<TokenId>{1, 2});
    CHECK(sampler.sample(logits) == 0);
    return sampler.adjusted(logits);
  };
  CHECK(after(Penalize::usual) == std::vector<float>{2.5f, 2.0f, 1.0f});
  CHECK(after(Penalize::all) == std::vector<float>{2.5f, 0.5f, -0.5f});
  CHECK(after(Penalize::new_only) == std::vector<float>{2.5f, 4.0f, 2.0f});
}

TEST_CASE("sampler: the penalty window counts the last tokens only, those it drew among them") {
  SamplerOptions options;
  options.temperature = 0.0f;
  options.presence_penalty = 1.0f;
  options.penalize = Penalize::all;
  options.penalty_window = 2;
  Sampler sampler(options, 3);
  sampler.observe(std::vector<TokenId>{0, 1, 2});
  const std::vector<float> logits = {0.5f, 0.25f, 0.0f};
  CHECK(sampler.adjusted(logits) == std::vector<float>{0.5f, -0.75f, -1.0f});
  CHECK(sampler.sample(logits) == 0);
  CHECK(sampler.adjusted(logits) == std::vector<float>{-0.5f, 0.25f, -1.0f});

  options.penalty_window = 0;
  Sampler blind(options, 3);
  blind.observe(std::vector<TokenId>{0, 1, 2});
  CHECK(blind.adjusted(logits) == logits);
}

TEST_CASE("sampler: min-p drops what is below p times the best") {
  SamplerOptions options;
  options.min_p = 0.25f;  // of 0.5: 0.15 stays, 0.1 goes
  check_close(probabilities(kFour, options), {0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0}, 1e-6);
  options.min_p = 1.0f;
  CHECK(ids_of(candidates(std::vector<float>{1.0f, 2.0f, 2.0f}, options)) == std::vector<TokenId>{1, 2});
}

TEST_CASE("sampler: typical sampling keeps what is about as surprising as expected") {
  // p = 1/2, 1/4, 1/8, 1/16, 1/16: surprises 1 2 3 4 4 bits, entropy 1.875 bits, distances .875 .125 1.125 2.125 2.125.
  std::vector<float> logits;
  for (const double p : {0.5, 0.25, 0.125, 0.0625, 0.0625}) logits.push_back(static_cast<float>(std::log(p)));
  SamplerOptions options;
  options.typical_p = 0.2f;
  CHECK(ids_of(candidates(logits, options)) == std::vector<TokenId>{1});
  options.typical_p = 0.7f;
  CHECK(ids_of(candidates(logits, options)) == std::vector<TokenId>{0, 1});
  options.typical_p = 0.8f;
  CHECK(ids_of(candidates(logits, options)) == std::vector<TokenId>{0, 1, 2});
  options.typical_p = 0.0f;
  CHECK(ids_of(candidates(logits, options)) == std::vector<TokenId>{1});
}

TEST_CASE("sampler: top-k keeps k tokens and breaks ties by id") {
  SamplerOptions options;
  options.top_k = 3;
  CHECK(ids_of(candidates({1.0f, 5.0f, 1.0f, 2.0f, 1.0f}, options)) == std::vector<TokenId>{1, 3, 0});
  options.top_k = 9;
  CHECK(ids_of(candidates({1.0f, 5.0f, 1.0f}, options)) == std::vector<TokenId>{1, 0, 2});
}

TEST_CASE("sampler: any mix of filters keeps what the definitions keep, best first") {
  test::Random random(7);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto size = static_cast<size_t>(1 + random.below(round % 3 == 0 ? 2000 : 40));
    const std::vector<float> logits = random.normals(size, 3.0f);
    SamplerOptions options;
    options.temperature = static_cast<float>(0.2 + 2.0 * random.uniform());
    if (random.below(2)) options.top_k = 1 + random.below(static_cast<int64_t>(size) + 3);
    if (random.below(2)) options.typical_p = static_cast<float>(random.uniform());
    if (random.below(2)) options.top_p = static_cast<float>(random.uniform());
    if (random.below(2)) options.min_p = static_cast<float>(0.3 * random.uniform());
    const std::vector<Candidate> kept = candidates(logits, options);
    CHECK(ids_of(kept) == slow_kept(logits, options));
    double total = 0.0;
    for (size_t i = 0; i < kept.size(); ++i) {
      total += kept[i].probability;
      if (i > 0) CHECK(kept[i - 1].probability >= kept[i].probability);
    }
    CHECK(std::abs(total - 1.0) < 1e-12);
  }
}

TEST_CASE("sampler: a draw equals pick() on the full list, over a large vocabulary") {
  test::Random random(3);
  for (const auto& [top_p, top_k, spread] : std::vector<std::tuple<float, int64_t, float>>{
           {1.0f, 0, 2.0f}, {1.0f, 0, 0.01f}, {0.95f, 0, 2.0f}, {1.0f, 4000, 1.0f}, {0.9f, 50, 3.0f}}) {
    const std::vector<float> logits = random.normals(50257, spread);
    SamplerOptions options;
    options.top_p = top_p;
    options.top_k = top_k;
    options.seed = 99;
    Sampler sampler(options, 50257);
    const std::vector<Candidate> kept = sampler.candidates(logits);
    test::Random draws(99);  // splitmix64 written a second time
    for (int i = 0; i < 25; ++i) CHECK(sampler.sample(logits) == Sampler::pick(kept, draws.uniform()));
  }
}

TEST_CASE("sampler: draws follow the probabilities") {
  struct Setting {
    float temperature, top_p;
  };
  for (const Setting& setting : {Setting{1.0f, 1.0f}, Setting{0.5f, 1.0f}, Setting{1.0f, 0.8f}}) {
    SamplerOptions options;
    options.temperature = setting.temperature;
    options.top_p = setting.top_p;
    options.seed = 12345;
    const std::vector<double> p = probabilities(kFour, options);
    Sampler sampler(options, 4);
    std::vector<int> counts(4);
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(sampler.sample(kFour))];
    for (size_t id = 0; id < 4; ++id) {
      const double error = std::sqrt(p[id] * (1.0 - p[id]) / kDraws);
      CHECK(std::abs(counts[id] / static_cast<double>(kDraws) - p[id]) <= 4.0 * error);
    }
  }
}

TEST_CASE("sampler: first draws of neighbouring seeds follow the probabilities too") {
  std::vector<int> counts(4);
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SamplerOptions options;
    options.seed = seed;
    ++counts[static_cast<size_t>(Sampler(options, 4).sample(kFour))];
  }
  const std::vector<double> p = {0.5, 0.25, 0.15, 0.1};
  for (size_t id = 0; id < 4; ++id)
    CHECK(std::abs(counts[id] / 20000.0 - p[id]) <= 4.0 * std::sqrt(p[id] * (1.0 - p[id]) / 20000.0));
}

TEST_CASE("sampler: one seed gives one sequence, and another seed another") {
  const auto sequence = [](uint64_t seed) {
    SamplerOptions options;
    options.seed = seed;
    Sampler sampler(options, 50);
    test::Random random(5);
    std::vector<TokenId> ids;
    for (int i = 0; i < 50; ++i) ids.push_back(sampler.sample(random.normals(50)));
    return ids;
  };
  CHECK(sequence(1234) == sequence(1234));
  std::set<std::vector<TokenId>> distinct;
  for (uint64_t seed = 0; seed < 20; ++seed) distinct.insert(sequence(seed));
  CHECK(distinct.size() == 20);
}

TEST_CASE("sampler: the first draws of seed 0 are splitmix64's published ones") {
  // The generator's first outputs from 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f, f88bb8a8724c81ec:
  // 0.883, 0.431, 0.026, 0.970 of [0, 1).
  SamplerOptions options;
  Sampler sampler(options, 10);
  const std::vector<float> equal(10);
  for (const TokenId expected : {8, 4, 0, 9}) CHECK(sampler.sample(equal) == expected);
}

TEST_CASE("sampler: NaN and infinite logits are refused, -infinity is a token that never comes") {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerOptions options;
    options.temperature = temperature;
    Sampler sampler(options, 3);
    CHECK(test::mentions(test::error_of([&] { sampler.sample(std::vector<float>{1.0f, kNan, 2.0f}); }), {"nan"}));
    CHECK(test::mentions(test::error_of([&] { sampler.sample(std::vector<float>{1.0f, kInf, 2.0f}); }), {"infinity"}));
    CHECK(
        test::mentions(test::error_of([&] { sampler.sample(std::vector<float>{-kInf, -kInf, -kInf}); }), {"no token"}));
    for (int i = 0; i < 50; ++i) CHECK(sampler.sample(std::vector<float>{-kInf, 0.0f, -kInf}) == 1);
    CHECK(ids_of(sampler.candidates(std::vector<float>{-kInf, 0.0f, -kInf})) == std::vector<TokenId>{1});
    test::error_of([&] { sampler.sample(std::vector<float>{1.0f, 2.0f}); });
    test::error_of([&] { sampler.observe(std::vector<TokenId>{3}); });
    test::error_of([&] { sampler.observe(std::vector<TokenId>{-1}); });
  }
  SamplerOptions options;
  options.logit_bias = {{0, 3e38f}};
  Sampler overflowing(options, 1);
  test::error_of([&] { overflowing.sample(std::vector<float>{3e38f}); });
}

TEST_CASE("sampler: a vocabulary of one token works under every option") {
  SamplerOptions options;
  options.typical_p = 0.5f;
  options.top_p = 0.5f;
  options.min_p = 0.5f;
  options.top_k = 1;
  options.repetition_penalty = 1.3f;
  Sampler sampler(options, 1);
  for (int i = 0; i < 3; ++i) CHECK(sampler.sample(std::vector<float>{-4.0f}) == 0);
}

TEST_CASE("sampler: log-probabilities are natural logarithms of the softmax") {
  const std::vector<float> logits = {1.0f, 3.0f, 2.0f, -kInf, -1000.0f};
  const double total = std::exp(1.0) + std::exp(3.0) + std::exp(2.0);
  CHECK(std::abs(ordinal::log_probability(logits, 0) - (1.0 - std::log(total))) < 1e-14);
  CHECK(std::abs(ordinal::log_probability(logits, 4) - (-1000.0 - std::log(total))) < 1e-12);
  CHECK(ordinal::log_probability(logits, 3) == -std::numeric_limits<double>::infinity());
  CHECK(std::abs(ordinal::log_probability(std::vector<float>(1000000, 80.0f), 5) + std::log(1e6)) < 1e-12);
  test::error_of([&] { ordinal::log_probability(logits, 5); });
  test::error_of([&] { ordinal::log_probability(logits, -1); });
}

TEST_CASE("sampler: a draw from 50,000 tokens is quick" * doctest::test_suite("alone")) {
  test::Random random(11);
  const std::vector<float> logits = random.normals(50257, 3.0f);
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerOptions options;
    options.temperature = temperature;
    options.top_p = 0.95f;
    Sampler sampler(options, 50257);
    const std::clock_t start = std::clock();  // of this process: others may be using the machine
    for (int i = 0; i < 20; ++i) sampler.sample(logits);
    const double spent_ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CHECK(spent_ms / 20 < 50.0);  // about 1 ms in the release build; sanitizers may take ten times that
  }
}
