// bits_test.cpp: the promise that a token's logits have the same bits for any chunk, thread count and instruction set,
// cached or recomputed, alone or beside other sessions.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "ordinal/session.h"
#include "reference/random_model.h"
#include "support.h"

namespace {

using ordinal::Dtype;
using ordinal::Session;
using ordinal::TokenId;
using Logits = std::vector<float>;  // all rows of a text, one after another

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kTokens = 75;  // instrumented code is slow
#else
constexpr int64_t kTokens = 300;
#endif

// 3 layers, 5 query heads of 40 on `n_kv_heads`, 777 tokens; numbers that f32, f16 and bf16 all hold.
ordinal::ModelDraft middle_draft(int64_t n_kv_heads, const std::string& position) {
  test::RandomModel model;
  model.config.vocab_size = 777;
  model.config.max_seq_len = 320;
  model.config.d_model = 200;
  model.config.n_layers = 3;
  model.config.n_heads = 5;
  model.config.n_kv_heads = n_kv_heads;
  model.config.head_dim = 40;
  model.config.d_ff = 531;
  test::scale_by_head_dim(model.config);
  if (n_kv_heads == 1) {
    model.config.norm = ordinal::NormKind::rms_norm;
    model.config.activation = ordinal::Activation::silu;
    model.config.gated_mlp = true;
    model.config.tied_output = false;
  }
  model.position = position;
  model.position_rows = position == "learned" ? 320 : 0;
  model.coarse = true;
  return test::random_model(model);
}

std::shared_ptr<const ordinal::Model> stored(const ordinal::ModelDraft& draft, Dtype dtype) {
  ordinal::WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  return ordinal::Model::bind(ordinal::write_model_in_memory(draft, "random model", options));
}

Session session_of(const std::shared_ptr<const ordinal::Model>& model, Dtype kv_dtype = Dtype::f32) {
  ordinal::SessionOptions options;
  options.n_threads = 2;
  options.kv_dtype = kv_dtype;
  return Session(model, options);
}

Logits logits_of(Session& session, std::span<const TokenId> ids) {
  Logits all;
  session.evaluate_all(ids,
                       [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  return all;
}

// Uses another kernel table while it lives.
class WithKernels {
 public:
  explicit WithKernels(const ordinal::Kernels& table) : before_(ordinal::kernels()) {
    ordinal::use_kernels_for_test(table);
  }
  ~WithKernels() { ordinal::use_kernels_for_test(before_); }
  WithKernels(const WithKernels&) = delete;
  WithKernels& operator=(const WithKernels&) = delete;

 private:
  const ordinal::Kernels& before_;
};

// A model, a text, and the logits that every other way of computing them must match.
struct Promise {
  Promise(std::shared_ptr<const ordinal::Model> of, std::vector<TokenId> with, Dtype keys = Dtype::f32)
      : model(std::move(of)), ids(std::move(with)), kv_dtype(keys), vocab(model->config().vocab_size) {
    Session session = new_session();
    expected = logits_of(session, ids);
    REQUIRE(expected.size() == ids.size() * static_cast<size_t>(vocab));
    REQUIRE(std::all_of(expected.begin(), expected.end(), [](float value) { return std::isfinite(value); }));
  }

  Session new_session(int64_t chunk = 256, int n_threads = 2) const {
    ordinal::SessionOptions options;
    options.chunk = chunk;
    options.n_threads = n_threads;
    options.kv_dtype = kv_dtype;
    return Session(model, options);
  }

  std::span<const TokenId> text(int64_t first, int64_t count) const {
    return std::span(ids).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  }
  // Whether `found` are the logits of tokens `first` and on.
  bool kept(std::span<const float> found, int64_t first) const {
    const auto begin = expected.begin() + first * vocab;
    return test::same_bits({found.begin(), found.end()}, {begin, begin + static_cast<int64_t>(found.size())});
  }

  std::shared_ptr<const ordinal::Model> model;
  std::vector<TokenId> ids;
  Dtype kv_dtype;
  int64_t vocab;
  Logits expected;
};

void check_threads_and_chunks(const Promise& promise) {
  const int64_t count = static_cast<int64_t>(promise.ids.size());
  for (const int n_threads : {1, 2, 3, 8})
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{64}, count}) {
      CAPTURE(n_threads);
      CAPTURE(chunk);
      Session session = promise.new_session(chunk, n_threads);
      // A token a pass is slow where threads outnumber processors: part of the text must do.
      CHECK(promise.kept(logits_of(session, promise.text(0, chunk == 1 ? std::min<int64_t>(count, 100) : count)), 0));
    }
}

void check_instruction_sets(const Promise& promise) {
  const int64_t count = static_cast<int64_t>(promise.ids.size());
  REQUIRE(!ordinal::available_kernels().empty());
  for (const ordinal::Kernels* table : ordinal::available_kernels()) {
    CAPTURE(table->name);
    const WithKernels use(*table);
    Session whole = promise.new_session(count), pieces = promise.new_session(23), steps = promise.new_session(1);
    CHECK(promise.kept(logits_of(whole, promise.ids), 0));
    CHECK(promise.kept(logits_of(pieces, promise.text(0, count / 2)), 0));
    CHECK(promise.kept(logits_of(steps, promise.text(0, 40)), 0));
  }
}

void check_last_of_evaluate(const Promise& promise) {
  Session session = promise.new_session();
  int64_t done = 0;
  for (const int64_t piece : {1, 2, 13, 12, 31, 1}) {
    const auto last = session.evaluate(promise.text(done, piece));
    done += piece;
    CHECK(promise.kept(last, done - 1));
  }
}

void check_rewind(const Promise& promise) {
  const int64_t count = static_cast<int64_t>(promise.ids.size());
  Session session = promise.new_session();
  session.evaluate(promise.ids);
  for (const int64_t length : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{32}, int64_t{33}, count - 1}) {
    CAPTURE(length);
    session.rewind(length);
    CHECK(promise.kept(logits_of(session, promise.text(length, count - length)), length));
  }
  // Other tokens in between leave no trace.
  session.rewind(17);
  logits_of(session, promise.text(40, 30));
  session.rewind(17);
  CHECK(promise.kept(logits_of(session, promise.text(17, count - 17)), 17));
}

void check_fork(const Promise& promise) {
  const int64_t count = static_cast<int64_t>(promise.ids.size());
  Session origin = promise.new_session();
  origin.evaluate(promise.text(0, 30));
  Session fork = origin.fork();
  CHECK(fork.length() == 30);
  logits_of(origin, promise.text(0, 20));  // goes on with other tokens
  CHECK(promise.kept(logits_of(fork, promise.text(30, count - 30)), 30));
  origin.rewind(30);
  CHECK(promise.kept(logits_of(origin, promise.text(30, count - 30)), 30));
}

// Sessions at lengths 0, 1, 29 and 50 take 7, 1, 3 and 20 rows in one pass.
void check_together(const Promise& promise) {
  const int64_t past[] = {0, 1, 29, 50}, rows[] = {7, 1, 3, 20};
  for (const int n_threads : {1, 3}) {
    std::vector<Session> sessions;
    for (const int64_t length : past) {
      sessions.push_back(promise.new_session(256, n_threads));
      if (length > 0) sessions.back().evaluate(promise.text(0, length));
    }
    std::vector<Session::Part> parts;
    for (size_t i = 0; i < sessions.size(); ++i) parts.push_back({&sessions[i], promise.text(past[i], rows[i])});
    const auto logits = Session::evaluate_together(parts);
    REQUIRE(logits.size() == parts.size());
    for (size_t i = 0; i < sessions.size(); ++i) {
      CAPTURE(i);
      CHECK(sessions[i].length() == past[i] + rows[i]);
      CHECK(promise.kept(logits[i], past[i] + rows[i] - 1));
    }
    // What the shared pass left in the caches is what each session would have written alone.
    for (size_t i = 0; i < sessions.size(); ++i)
      CHECK(promise.kept(logits_of(sessions[i], promise.text(past[i] + rows[i], 5)), past[i] + rows[i]));
  }
}

void check_capacity_and_observer(const Promise& promise) {
  ordinal::SessionOptions options;
  options.capacity = static_cast<int64_t>(promise.ids.size());
  options.n_threads = 2;
  options.kv_dtype = promise.kv_dtype;
  int64_t told = 0;
  options.observer = [&](const ordinal::Observed& observed) {
    if (observed.name == "attn_mix") ++told;  // not one of those that come from several threads
  };
  Session session(promise.model, options);
  CHECK(promise.kept(logits_of(session, promise.ids), 0));
  CHECK(told > 0);
}

void check_everything(const Promise& promise) {
  check_threads_and_chunks(promise);
  check_instruction_sets(promise);
  check_last_of_evaluate(promise);
  check_rewind(promise);
  check_fork(promise);
  check_together(promise);
  check_capacity_and_observer(promise);
}

TEST_CASE("model: logits have the same bits however they are computed (shared keys and values, rope)") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    CAPTURE(dtype_info(dtype).name);
    check_everything({stored(middle_draft(1, "rope:pairing=half"), dtype), test::random_ids(3, kTokens, 777)});
  }
}

TEST_CASE("model: logits have the same bits however they are computed (keys and values per head, learned)") {
  check_everything({stored(middle_draft(5, "learned"), Dtype::f32), test::random_ids(4, kTokens, 777)});
}

// Windows shorter and longer than a tile and a panel, beside a layer that sees all; and what else a family may ask for.
TEST_CASE("model: logits have the same bits however they are computed (windows, caps, norms, parallel)") {
  for (const auto& [windows, n_kv_heads] :
       {std::pair{std::vector<int64_t>{37, 0, 5}, 5}, {std::vector<int64_t>{1, 100, 12}, 1}}) {
    ordinal::ModelDraft draft = middle_draft(n_kv_heads, "rope:pairing=half");
    ordinal::ModelConfig& c = draft.config;
    c.window = windows;
    c.norm_place = ordinal::NormPlace::both;
    c.residual = ordinal::Residual::parallel;
    c.residual_scale = 0.7f;
    c.attention_softcap = 5.0f;
    c.qkv_clip = 1.5f;
    c.qk_norm = n_kv_heads == 1 ? ordinal::QkNorm::width : ordinal::QkNorm::head;
    c.embedding_norm = true;
    c.d_embedding = 120;
    c.logit_scale = 0.5f;
    c.logit_softcap = 20.0f;
    c.activation = ordinal::Activation::relu_squared;
    draft = test::random_model({.config = c, .position = draft.notes.position, .coarse = true});
    check_everything({stored(draft, Dtype::f32), test::random_ids(10, kTokens, 777)});
  }
}

TEST_CASE("model: logits have the same bits however they are computed (keys and values of 16 bits)") {
  const auto per_head = stored(middle_draft(5, "learned"), Dtype::f32);
  const auto shared = stored(middle_draft(1, "rope:pairing=half"), Dtype::q8_0);
  for (const Dtype kv_dtype : {Dtype::f16, Dtype::bf16}) {
    CAPTURE(dtype_info(kv_dtype).name);
    check_everything({per_head, test::random_ids(7, std::min<int64_t>(kTokens, 110), 777), kv_dtype});
    check_everything({shared, test::random_ids(8, 75, 777), kv_dtype});
  }
}

TEST_CASE("model: keys and values of 16 bits take half the memory and change the logits a little") {
  const Promise f32(stored(middle_draft(5, "learned"), Dtype::f32), test::random_ids(9, 90, 777));
  const int64_t bytes = f32.new_session().cache_bytes();
  for (const auto& [kv_dtype, most] : {std::pair{Dtype::f16, 0.02f}, {Dtype::bf16, 0.2f}}) {
    CAPTURE(dtype_info(kv_dtype).name);
    Session session = session_of(f32.model, kv_dtype);
    CHECK(session.cache_bytes() * 2 == bytes);
    const Logits found = logits_of(session, f32.ids);
    float largest = 0;
    for (size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(found[i] - f32.expected[i]));
    CHECK(largest > 0);
    CHECK(largest < most);  // logits are of several units
  }
  CHECK(test::mentions(test::error_of([&] { session_of(f32.model, Dtype::q8_0); }), {"f32, f16 or bf16"}));
}

TEST_CASE("model: numbers that every kind holds give the same bits in every kind") {
  const ordinal::ModelDraft draft = middle_draft(1, "rope:pairing=interleaved");
  const Promise f32(stored(draft, Dtype::f32), test::random_ids(5, 60, 777));
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    CAPTURE(dtype_info(dtype).name);
    Session session = session_of(stored(draft, dtype));
    CHECK(f32.kept(logits_of(session, f32.ids), 0));
  }
}

TEST_CASE("model: the shipped models keep the promise too") {
  bool found = false;
  const std::string folder = test::repository("models");
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".ordinal") continue;
      found = true;
      CAPTURE(entry.path().string());
      const auto model = ordinal::Model::open(entry.path().string());
      const int64_t count = std::min<int64_t>(100, model->config().max_seq_len);
      check_everything({model, test::random_ids(6, count, model->config().vocab_size)});
    }
  if (!found) MESSAGE("skipped: no model in ", folder);
}

}  // namespace
