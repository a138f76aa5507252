// ranks_test.cpp: a model shared out over ranks gives the bits of one process, and each rank keeps its share only.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/config_fields.h"
#include "kernels/kernels.h"
#include "model/share.h"
#include "ordinal/session.h"
#include "position/allocations.h"
#include "position/contract_specs.h"
#include "reference/random_model.h"
#include "support.h"
#include "thread_ranks.h"

namespace {

using ordinal::Dtype;
using ordinal::Session;
using ordinal::SessionOptions;
using ordinal::TokenId;
using RankNumbers = std::vector<float>;
using RankedModel = std::shared_ptr<const ordinal::Model>;

constexpr int kRankCounts[] = {2, 3, 5, 8};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRankModels = 12;  // instrumented code is slow
#else
constexpr int kRankModels = 120;
#endif

bool equal_bits(const RankNumbers& a, const RankNumbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A text in two calls, a step, and back: the logits of all rows, then of single ones.
RankNumbers logits_on(const RankedModel& model, const SessionOptions& options, std::span<const TokenId> ids) {
  Session session(model, options);
  RankNumbers all;
  const auto keep = [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); };
  session.evaluate_all(ids.first(ids.size() / 2), keep);
  session.evaluate_all(ids.subspan(ids.size() / 2), keep);
  session.rewind(static_cast<int64_t>(ids.size()) - 2);
  keep(0, session.evaluate(ids.last(2)));
  session.rewind(static_cast<int64_t>(ids.size()) - 1);
  Session fork = session.fork();
  keep(0, fork.evaluate(ids.last(1)));
  return all;
}

// On every rank of every count of ranks.
void check_ranks(const RankedModel& model, const SessionOptions& options, std::span<const TokenId> ids,
                 std::span<const int> counts = kRankCounts) {
  const RankNumbers expected = logits_on(model, options, ids);
  for (const int count : counts) {
    std::vector<RankNumbers> found(static_cast<size_t>(count));
    test::on_ranks(count, [&](int rank) { found[static_cast<size_t>(rank)] = logits_on(model, options, ids); });
    for (int rank = 0; rank < count; ++rank)
      CHECK_MESSAGE(equal_bits(found[static_cast<size_t>(rank)], expected), "rank ", rank, " of ", count);
  }
}

RankedModel ranks_model(const ordinal::ModelDraft& draft, Dtype dtype) {
  ordinal::WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  return ordinal::Model::bind(ordinal::write_model_in_memory(draft, "random model", options));
}

test::RandomModel odd_model(int64_t n_heads, int64_t n_kv_heads, int64_t head_dim) {
  test::RandomModel random;
  ordinal::ModelConfig& c = random.config;
  c = test::small_config();
  c.vocab_size = 301;
  c.d_model = 90;
  c.d_ff = 203;
  c.n_heads = n_heads;
  c.n_kv_heads = n_kv_heads;
  c.head_dim = head_dim;
  c.max_seq_len = 64;
  test::scale_by_head_dim(c);
  random.position = "rope:pairing=half";
  return random;
}

TEST_CASE("ranks: logits have the bits of one process for every kind of weights") {
  for (size_t kind = 0; kind < ordinal::kDtypes.size(); ++kind) {
    CAPTURE(ordinal::kDtypes[kind].name);
    const auto draft = test::random_model(odd_model(6, 2, 20));
    check_ranks(ranks_model(draft, static_cast<Dtype>(kind)), {.n_threads = 1, .chunk = 16},
                test::random_ids(1, 40, draft.config.vocab_size));
  }
}

TEST_CASE("ranks: heads that do not divide evenly, and fewer of them than ranks") {
  struct Heads {
    int64_t n, kv, dim;
  };
  for (const Heads& heads : {Heads{1, 1, 32}, {3, 1, 12}, {7, 7, 10}, {12, 4, 16}, {8, 2, 34}}) {
    CAPTURE(heads.n);
    CAPTURE(heads.kv);
    const auto draft = test::random_model(odd_model(heads.n, heads.kv, heads.dim));
    for (const Dtype kv_dtype : {Dtype::f32, Dtype::f16})
      check_ranks(ranks_model(draft, Dtype::f32), {.n_threads = 1, .kv_dtype = kv_dtype},
                  test::random_ids(2, 30, draft.config.vocab_size));
  }
}

TEST_CASE("ranks: logits have the bits of one process for random combinations of all facts") {
  for (int made = 0; made < kRankModels; ++made) {
    test::Random random(static_cast<uint64_t>(4000 + made));
    test::RandomModel model = odd_model(6, random.below(2) == 0 ? 6 : 2, 8);
    ordinal::ModelConfig& c = model.config;
    test::set_random_facts(c, random, 70);
    model.norm_bias = random.below(2) == 0;
    model.attn_bias = random.below(2) == 0;
    model.seed = static_cast<uint64_t>(made + 1);
    INFO(ordinal::config_json(c));
    const int counts[] = {2 + made % 4};
    check_ranks(ranks_model(test::random_model(model), Dtype::f32), {.n_threads = 1},
                test::random_ids(3, 21, c.vocab_size), counts);
  }
}

TEST_CASE("ranks: logits have the bits of one process under every position scheme") {
  const RankedModel model = test::model_with_everything(6, 2), per_head = test::model_with_everything(6, 6);
  const auto ids = test::random_ids(4, 20, model->config().vocab_size);
  const int counts[] = {2, 4};
  test::for_every_spec(
      [&](const std::string& spec) { check_ranks(model, {.position = spec, .n_threads = 1}, ids, counts); });
  for (const char* spec :
       {"rope;heads=0.3,1.0-2:none", "alibi;heads=0.0-2,2.5:t5_bias", "rope;heads=1.4:rope:theta=50"}) {
    CAPTURE(spec);
    check_ranks(per_head, {.position = spec, .n_threads = 1}, ids, counts);
  }
}

TEST_CASE("ranks: threads inside of ranks change nothing") {
  const auto draft = test::random_model(odd_model(6, 2, 64));
  const int counts[] = {2};
  check_ranks(ranks_model(draft, Dtype::q8_0), {.n_threads = 2, .chunk = 32},
              test::random_ids(5, 60, draft.config.vocab_size), counts);
}

TEST_CASE("ranks: sessions that share passes have the bits of one process, whatever each of them has stored") {
  const auto draft = test::random_model(odd_model(6, 2, 16));
  const RankedModel model = ranks_model(draft, Dtype::f32);
  const auto ids = test::random_ids(6, 60, draft.config.vocab_size);
  const auto together = [&] {
    std::vector<Session> sessions;
    for (const char* spec : {"native", "alibi", "rope;with=rerope:window=6"})
      sessions.emplace_back(model, SessionOptions{.position = spec, .n_threads = 1, .chunk = 13});
    RankNumbers all;
    for (const int64_t count : {20, 1, 1}) {
      std::vector<Session::Part> parts;
      for (size_t i = 0; i < sessions.size(); ++i)
        parts.push_back({&sessions[i], std::span(ids).subspan(i * 7, static_cast<size_t>(count)), count > 1 ? 3 : 1});
      for (const auto row : Session::evaluate_together(parts)) all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  const RankNumbers expected = together();
  for (const int count : kRankCounts) {
    std::vector<RankNumbers> found(static_cast<size_t>(count));
    test::on_ranks(count, [&](int rank) { found[static_cast<size_t>(rank)] = together(); });
    for (const RankNumbers& numbers : found) CHECK(equal_bits(numbers, expected));
  }
}

TEST_CASE("ranks: an observer sees on each rank what it sees in one process") {
  for (const auto qk_norm : {ordinal::QkNorm::none, ordinal::QkNorm::width}) {
    test::RandomModel random = odd_model(6, 2, 16);
    random.config.qk_norm = qk_norm;
    const RankedModel model = ranks_model(test::random_model(random), Dtype::f32);
    const auto ids = test::random_ids(7, 9, random.config.vocab_size);
    using Seen = std::map<std::string, RankNumbers>;
    const auto watch = [&] {
      Seen seen;
      Session session(model, {.n_threads = 1, .observer = [&](const ordinal::Observed& o) {
                                RankNumbers& rows = seen[std::string(o.name) + " " + std::to_string(o.layer) + " " +
                                                         std::to_string(o.head) + " " + std::to_string(o.row)];
                                for (int64_t r = 0; r < o.rows.rows; ++r)
                                  rows.insert(rows.end(), o.rows[r].begin(), o.rows[r].end());
                              }});
      session.evaluate(ids);
      return seen;
    };
    const Seen expected = watch();
    CHECK(expected.size() > 200);
    for (const int count : {2, 5}) {
      std::vector<Seen> found(static_cast<size_t>(count));
      test::on_ranks(count, [&](int rank) { found[static_cast<size_t>(rank)] = watch(); });
      for (const Seen& seen : found) {
        CHECK(seen.size() == expected.size());
        for (const auto& [name, numbers] : expected) CHECK_MESSAGE(equal_bits(seen.at(name), numbers), name);
      }
    }
  }
}

TEST_CASE("ranks: each keeps its share of weights and caches, and sends what the formula says") {
  test::RandomModel random = odd_model(8, 4, 32);
  random.config.d_model = 256;
  random.config.d_ff = 1024;
  random.config.vocab_size = 1024;
  const RankedModel model = ranks_model(test::random_model(random), Dtype::f32);
  ordinal::Ranks alone;
  const ordinal::ModelShare whole(model->config(), alone);
  const int64_t weights = ordinal::weight_bytes_of(*model, whole);
  const int64_t cache = Session(model, {.n_threads = 1}).cache_bytes();
  const auto ids = test::random_ids(8, 41, random.config.vocab_size);
  for (const int count : {2, 4}) {
    std::vector<int64_t> mine(static_cast<size_t>(count)), sent(mine.size()), numbers(mine.size());
    test::on_ranks(count, [&](int rank) {
      const ordinal::ModelShare share(model->config(), ordinal::ranks());
      Session session(model, {.n_threads = 1, .chunk = 16});
      mine[static_cast<size_t>(rank)] = ordinal::weight_bytes_of(*model, share);
      CHECK(session.cache_bytes() == cache);
      CHECK(ordinal::ledger().cache_bytes * count == cache);
      session.evaluate(std::span(ids).first(40));
      session.evaluate(std::span(ids).last(1));
      session.rewind(30);
      session.evaluate_all(std::span(ids).first(5), [](int64_t, std::span<const float>) {});
      sent[static_cast<size_t>(rank)] = ordinal::ledger().bytes_sent;
      numbers[static_cast<size_t>(rank)] = ordinal::ledger().numbers;
    });
    int64_t all = 0;
    for (const int64_t bytes : mine) CHECK(bytes * count == weights);
    for (const int64_t bytes : sent) all += bytes;
    for (const int64_t number : numbers) CHECK(number == numbers.front());
    CHECK(all == 4 * numbers.front() * (count - 1));
  }
}

TEST_CASE("ranks: evaluating asks for no memory on any rank") {
  const auto draft = test::random_model(odd_model(6, 2, 16));
  const auto ids = test::random_ids(9, 60, draft.config.vocab_size);
  std::vector<int64_t> asked(3);
  std::vector<RankedModel> models;  // one each, as processes have: what a model keeps for passes is shared otherwise
  while (models.size() < asked.size()) models.push_back(ranks_model(draft, Dtype::q8_0));
  test::on_ranks(3, [&](int rank) {
    const RankedModel& model = models[static_cast<size_t>(rank)];
    Session session(model, {.n_threads = 1, .chunk = 16});
    const auto settle = [] {  // the count is of the whole process
      static constexpr std::array<int64_t, 3> kNone{};
      std::byte nothing{};
      ordinal::ranks().gather(&nothing, kNone);
    };
    settle();
    const int64_t before = test::allocations();
    session.evaluate(std::span(ids).first(50));
    for (const TokenId& id : std::span(ids).last(10)) session.evaluate({&id, 1});
    asked[static_cast<size_t>(rank)] = test::allocations() - before;
    settle();
  });
  for (const int64_t count : asked) CHECK(count == 0);
}

}  // namespace
