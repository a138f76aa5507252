// forward_test.cpp: the engine against the double-precision reference, on random models of every combination.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "format/config_fields.h"
#include "ordinal/session.h"
#include "reference/random_model.h"
#include "reference/reference_forward.h"
#include "support.h"

namespace {

using ordinal::Activation;
using ordinal::NormKind;
using ordinal::NormPlace;
using ordinal::TokenId;
using test::RandomModel;

// Logits here span some 20 units; float32 sums of a few hundred terms leave errors near 1e-5.
constexpr double kTolerance = 1e-4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStride = 11;  // instrumented code is slow: every 11th combination, which still meets every value
#else
constexpr int kStride = 1;
#endif

// Specs that differ in every parameter the schemes have.
const char* const kSpecs[] = {
    "none",
    "learned",
    "learned:offset=3",
    "sinusoidal",
    "sinusoidal:layout=concat,base=100,scale=0.5,first=1",
    "sinusoidal:layout=concat,spacing=t2t",
    "sinusoidal:spacing=t2t,first=2",
    "rope:pairing=half",
    "rope:pairing=interleaved",
    "rope:theta=500,pairing=half,rotary_dim=4",
    "rope:theta=500000,pairing=interleaved,rotary_dim=8",
    "rope:pairing=interleaved,scaling=linear,factor=2.5",
    "rope:pairing=half,scaling=linear,factor=4",
};
constexpr size_t kSpecCount = std::size(kSpecs);

std::string described(const RandomModel& model) {
  const ordinal::ModelConfig& c = model.config;
  std::string text = c.norm == NormKind::layer_norm ? "layer_norm" : "rms_norm";
  text += c.norm_place == NormPlace::pre ? " pre" : " post";
  text += " activation " + std::to_string(static_cast<int>(c.activation)) + (c.gated_mlp ? " gated" : " plain");
  text += " heads " + std::to_string(c.n_heads) + "/" + std::to_string(c.n_kv_heads);
  text += c.tied_output ? " tied" : " untied";
  for (const auto& [present, name] : std::map<const bool*, const char*>{{&model.norm_bias, " norm_bias"},
                                                                        {&model.attn_bias, " attn_bias"},
                                                                        {&model.attn_output_bias, " attn_output_bias"},
                                                                        {&model.ffn_bias, " ffn_bias"},
                                                                        {&model.output_norm, " output_norm"},
                                                                        {&model.output_bias, " output_bias"}})
    if (*present) text += name;
  return text + " seed " + std::to_string(model.seed);
}

std::shared_ptr<const ordinal::Model> bound(const ordinal::ModelDraft& draft) {
  return ordinal::Model::bind(ordinal::write_model_in_memory(draft, "random model"));
}

std::vector<std::vector<float>> all_logits(ordinal::Session& session, const std::vector<TokenId>& ids) {
  std::vector<std::vector<float>> logits;
  session.evaluate_all(ids, [&](int64_t, std::span<const float> row) { logits.emplace_back(row.begin(), row.end()); });
  return logits;
}

double largest_difference(const std::vector<std::vector<float>>& found, const reference::Matrix& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double worst = 0.0;
  for (size_t r = 0; r < found.size(); ++r) {
    if (found[r].size() != expected[r].size()) return INFINITY;
    for (size_t c = 0; c < found[r].size(); ++c) {
      const double difference = std::abs(found[r][c] - expected[r][c]);
      worst = difference <= worst ? worst : difference;  // NaN is kept
    }
  }
  return worst;
}

// Runs one model under one spec in both and compares every logit.
void compare(const RandomModel& model, const std::vector<std::string>& specs, int64_t n_tokens) {
  const ordinal::ModelDraft draft = test::random_model(model);
  const reference::Model expected_model(draft);
  const auto engine_model = bound(draft);
  const auto ids = test::random_ids(model.seed + 1, n_tokens, model.config.vocab_size);
  for (const std::string& spec : specs) {
    const auto scheme = reference::scheme_of(spec, expected_model.position_embd);
    const reference::Result expected = reference::forward(expected_model, scheme, ids);
    ordinal::SessionOptions options;
    options.position = spec;
    options.n_threads = 1;  // these models are too small to share out
    ordinal::Session session(engine_model, options);
    const double worst = largest_difference(all_logits(session, ids), expected.logits);
    CHECK_MESSAGE(worst <= kTolerance, worst, " ", spec, " ", described(model));
  }
}

TEST_CASE("model: logits agree with the reference for every combination of the config under every scheme") {
  int made = 0, compared = 0;
  for (const NormKind norm : {NormKind::layer_norm, NormKind::rms_norm})
    for (const NormPlace place : {NormPlace::pre, NormPlace::post})
      for (const Activation activation :
           {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu, Activation::silu})
        for (const bool gated : {false, true})
          for (const bool biased : {false, true})
            for (const bool tied : {false, true})
              for (const bool output_bias : {false, true})
                for (const int64_t kv_heads : {6, 3, 2, 1}) {
                  if (++made % kStride != 0) continue;
                  RandomModel model;
                  model.config = test::small_config();
                  model.config.vocab_size = 37;
                  model.config.d_model = 20;
                  model.config.n_heads = 6;
                  model.config.head_dim = 8;
                  model.config.d_ff = 27;
                  model.config.norm = norm;
                  model.config.norm_place = place;
                  model.config.activation = activation;
                  model.config.gated_mlp = gated;
                  model.config.tied_output = tied;
                  model.config.n_kv_heads = kv_heads;
                  model.norm_bias = biased;
                  model.attn_bias = model.attn_output_bias = model.ffn_bias = biased;
                  model.output_norm = place == NormPlace::pre || made % 3 == 0;
                  model.output_bias = output_bias;
                  model.position_rows = 45;
                  model.seed = static_cast<uint64_t>(made);
                  // Numbers rather than branches: these turn with the count.
                  model.config.embedding_scale = made % 5 == 0 ? 4.5f : 1.0f;
                  model.config.norm_epsilon = made % 7 == 0 ? 1e-2f : 1e-5f;
                  test::scale_by_head_dim(model.config);
                  if (made % 4 == 1) model.config.attention_scale = {1.0f, 1.0f};
                  if (made % 4 == 2) model.config.attention_scale = {0.4f, 0.2f};
                  compare(model, {kSpecs, kSpecs + kSpecCount}, 9);
                  ++compared;
                }
  MESSAGE(compared, " models under ", kSpecCount, " position specs");
  CHECK(made == 1024);
}

TEST_CASE("model: logits agree with the reference for random combinations of all facts") {
  constexpr int kModels = 400;
  for (int made = 0; made < kModels; made += kStride) {
    test::Random random(static_cast<uint64_t>(7000 + made));
    RandomModel model;
    model.config = test::small_config();
    model.config.d_model = 20;
    model.config.n_heads = 6;
    model.config.n_kv_heads = 6;
    model.config.head_dim = 8;
    model.config.d_ff = 27;
    test::scale_by_head_dim(model.config);
    test::set_random_facts(model.config, random, 14);
    if (random.below(2) == 0) model.config.n_kv_heads = 2;
    model.output_norm = random.below(2) == 0;
    model.norm_bias = random.below(2) == 0;
    model.attn_bias = random.below(2) == 0;
    model.position_rows = 45;
    model.seed = static_cast<uint64_t>(made + 1);
    INFO(ordinal::config_json(model.config));
    compare(model, {"none", "learned", "rope:pairing=half"}, 33);
  }
}

TEST_CASE("model: each fact changes the logits of a model that has it") {
  struct Fact {
    const char* name;
    void (*unset)(ordinal::ModelConfig&);
  };
  RandomModel model;
  model.config = test::small_config();
  model.config.residual_scale = 0.5f;
  model.config.attention_softcap = 2.0f;
  model.config.qkv_clip = 1.0f;
  model.config.logit_scale = 0.5f;
  model.config.logit_softcap = 3.0f;
  model.config.window = {3, 0};
  model.config.qk_norm = ordinal::QkNorm::head;
  const std::vector<Fact> facts = {{"residual_scale", [](auto& c) { c.residual_scale = 1.0f; }},
                                   {"attention_softcap", [](auto& c) { c.attention_softcap = 0.0f; }},
                                   {"qkv_clip", [](auto& c) { c.qkv_clip = 0.0f; }},
                                   {"logit_scale", [](auto& c) { c.logit_scale = 1.0f; }},
                                   {"logit_softcap", [](auto& c) { c.logit_softcap = 0.0f; }},
                                   {"window", [](auto& c) { c.window = {}; }},
                                   {"a longer window", [](auto& c) { c.window = {4, 0}; }},
                                   {"qk_norm", [](auto& c) { c.qk_norm = ordinal::QkNorm::width; }},
                                   {"qk_norm_kind", [](auto& c) { c.qk_norm_kind = NormKind::rms_norm; }}};
  const ordinal::ModelDraft draft = test::random_model(model);
  const auto ids = test::random_ids(3, 12, model.config.vocab_size);
  const auto last_logits = [&](const ordinal::ModelDraft& of) {
    ordinal::Session session(bound(of));
    const auto row = session.evaluate(ids);
    return std::vector<float>(row.begin(), row.end());
  };
  const std::vector<float> with = last_logits(draft);
  for (const Fact& fact : facts) {
    INFO(fact.name);
    ordinal::ModelDraft without = draft;
    fact.unset(without.config);
    CHECK_FALSE(test::same_bits(last_logits(without), with));
  }
}

TEST_CASE("model: each bias is optional by itself") {
  for (int bits = 0; bits < 16; ++bits) {
    RandomModel model;
    model.config = test::small_config();
    model.config.gated_mlp = bits % 2 == 0;
    model.norm_bias = (bits & 1) != 0;
    model.attn_bias = (bits & 2) != 0;
    model.attn_output_bias = (bits & 4) != 0;
    model.ffn_bias = (bits & 8) != 0;
    model.seed = static_cast<uint64_t>(100 + bits);
    compare(model, {"none"}, 12);
  }
}

TEST_CASE("model: odd sizes agree with the reference") {
  struct Sizes {
    int64_t vocab_size, d_model, n_layers, n_heads, n_kv_heads, head_dim, d_ff, n_tokens;
  };
  const Sizes table[] = {
      {77, 36, 2, 3, 3, 12, 50, 40},     // the small model, its whole length
      {1, 1, 1, 1, 1, 1, 1, 3},          // the least of everything
      {2, 2, 3, 1, 1, 1, 1, 5},          // norms over two numbers
      {33, 31, 2, 1, 1, 33, 65, 33},     // one past whole panels
      {32, 32, 2, 1, 1, 32, 32, 32},     // whole panels
      {31, 33, 2, 31, 1, 2, 31, 31},     // many heads on one key/value head
      {100, 50, 4, 10, 5, 7, 3, 65},     // an MLP narrower than anything
      {300, 64, 1, 25, 25, 3, 96, 70},   // 25 heads of 3
      {640, 130, 2, 4, 2, 70, 257, 97},  // several panels in every product
  };
  for (const Sizes& sizes : table) {
    RandomModel model;
    model.config = test::small_config();
    model.config.vocab_size = sizes.vocab_size;
    model.config.max_seq_len = sizes.n_tokens;
    model.config.d_model = sizes.d_model;
    model.config.n_layers = sizes.n_layers;
    model.config.n_heads = sizes.n_heads;
    model.config.n_kv_heads = sizes.n_kv_heads;
    model.config.head_dim = sizes.head_dim;
    model.config.d_ff = sizes.d_ff;
    model.position_rows = sizes.n_tokens;
    test::scale_by_head_dim(model.config);
    compare(model, {"none", "learned"}, sizes.n_tokens);
    if (sizes.head_dim % 2 == 0) compare(model, {"rope:pairing=half", "rope:pairing=interleaved"}, sizes.n_tokens);
    if (sizes.d_model % 2 == 0) compare(model, {"sinusoidal"}, sizes.n_tokens);
    model.config.norm = NormKind::rms_norm;
    model.config.gated_mlp = true;
    model.config.tied_output = false;
    compare(model, {"none"}, sizes.n_tokens);
  }
}

TEST_CASE("model: a text that starts at a later position agrees with the reference") {
  RandomModel model;
  model.config = test::small_config();
  model.position_rows = 60;
  const ordinal::ModelDraft draft = test::random_model(model);
  const reference::Model expected_model(draft);
  const auto engine_model = bound(draft);
  const auto ids = test::random_ids(5, 20, 77);
  for (const char* spec : {"none", "learned", "learned:offset=3", "sinusoidal", "rope:pairing=interleaved"}) {
    CAPTURE(spec);
    const auto scheme = reference::scheme_of(spec, expected_model.position_embd);
    const auto expected = reference::forward(expected_model, scheme, ids, 37).logits;
    ordinal::SessionOptions options;
    options.position = spec;
    options.first_position = 37;
    options.capacity = 20;
    ordinal::Session session(engine_model, options);
    CHECK(largest_difference(all_logits(session, ids), expected) <= kTolerance);
    // A token at a time, the cache then holding keys of positions 37 and up.
    session.rewind(0);
    for (size_t t = 0; t < ids.size(); ++t) {
      const auto logits = session.evaluate({&ids[t], 1});
      CHECK(largest_difference({{logits.begin(), logits.end()}}, {expected[t]}) <= kTolerance);
    }
  }
}

TEST_CASE("model: rope far from the start stays within single precision of the reference") {
  RandomModel model;
  model.config = test::small_config();
  const ordinal::ModelDraft draft = test::random_model(model);
  const reference::Model expected_model(draft);
  const auto ids = test::random_ids(6, 12, 77);
  ordinal::SessionOptions options;
  options.position = "rope:pairing=half";
  options.first_position = 1000000;
  options.capacity = 12;
  ordinal::Session session(bound(draft), options);
  const auto expected = reference::forward(expected_model, reference::rotary(), ids, options.first_position).logits;
  CHECK(largest_difference(all_logits(session, ids), expected) <= kTolerance);
}

TEST_CASE("model: every observed row agrees with the reference, by name, layer, head and row") {
  for (const NormPlace place : {NormPlace::pre, NormPlace::post})
    for (const bool gated : {false, true}) {
      RandomModel model;
      model.config = test::small_config();
      model.config.norm_place = place;
      model.config.gated_mlp = gated;
      model.config.n_heads = 4;
      model.config.n_kv_heads = 2;
      const ordinal::ModelDraft draft = test::random_model(model);
      const reference::Model expected_model(draft);
      const auto ids = test::random_ids(7, 21, 77);
      const auto scheme = reference::rotary();
      const reference::Result expected = reference::forward(expected_model, scheme, ids);

      std::mutex mutex;
      std::map<std::string, std::vector<std::vector<float>>> seen;
      ordinal::SessionOptions options;
      options.position = "rope:pairing=half";
      options.n_threads = 3;
      options.observer = [&](const ordinal::Observed& observed) {
        const std::scoped_lock lock(mutex);
        std::string name(observed.name);
        if (observed.layer >= 0) name = std::to_string(observed.layer) + "." + name;
        if (observed.head >= 0) name += "." + std::to_string(observed.head);
        auto& rows = seen[name];
        if (observed.row >= 0) {
          REQUIRE(observed.rows.rows == 1);
          if (rows.size() <= static_cast<size_t>(observed.row)) rows.resize(static_cast<size_t>(observed.row) + 1);
          CHECK(rows[static_cast<size_t>(observed.row)].empty());
          rows[static_cast<size_t>(observed.row)].assign(observed.rows[0].begin(), observed.rows[0].end());
        } else {
          for (int64_t r = 0; r < observed.rows.rows; ++r)
            rows.emplace_back(observed.rows[r].begin(), observed.rows[r].end());
        }
      };
      ordinal::Session session(bound(draft), options);
      all_logits(session, ids);

      CHECK(seen.size() == expected.seen.size());
      for (const auto& [name, rows] : expected.seen) {
        CAPTURE(name);
        REQUIRE(seen.contains(name));
        CHECK(largest_difference(seen[name], rows) <= kTolerance);
      }
    }
}

TEST_CASE("reference: changing any tensor changes the logits, so that no part of it is idle") {
  RandomModel model;
  model.config = test::small_config();
  model.config.gated_mlp = true;
  model.config.tied_output = false;
  model.output_bias = true;
  model.position_rows = 20;
  const ordinal::ModelDraft draft = test::random_model(model);
  const auto ids = test::random_ids(8, 10, 77);
  const auto last_logits = [&](const ordinal::ModelDraft& of) {
    const reference::Model bound_model(of);
    // Both at once: without turning, softmax would take the key biases out again.
    reference::Scheme scheme = reference::learned(bound_model.position_embd);
    scheme.turn = reference::rotary().turn;
    return reference::forward(bound_model, scheme, ids).logits.back();
  };
  const reference::Row before = last_logits(draft);
  for (size_t i = 0; i < draft.tensors.size(); ++i) {
    CAPTURE(draft.tensors[i].name);
    ordinal::ModelDraft changed = draft;
    const auto original = draft.tensors[i].read_rows;
    const int64_t cols = draft.tensors[i].shape.back();
    changed.tensors[i].read_rows = [original, cols](int64_t first, int64_t count, float* out) {
      original(first, count, out);
      for (int64_t j = 0; j < count * cols; ++j) out[j] *= 1.5f;
    };
    const reference::Row after = last_logits(changed);
    double change = 0.0;
    for (size_t c = 0; c < after.size(); ++c) change = std::max(change, std::abs(after[c] - before[c]));
    CHECK(change > 1e-2);
  }
}

TEST_CASE("reference: random models attend unevenly and spread their logits") {
  RandomModel model;
  model.config = test::small_config();
  const reference::Model expected_model(test::random_model(model));
  const auto ids = test::random_ids(9, 30, 77);
  const auto result = reference::forward(expected_model, reference::rotary(), ids);
  for (int layer = 0; layer < 2; ++layer)
    for (int head = 0; head < 3; ++head) {
      const auto& weights = result.seen.at(std::to_string(layer) + ".weights." + std::to_string(head)).back();
      const double most = *std::max_element(weights.begin(), weights.end());
      CHECK(most > 2.0 / 30);  // an even spread would be 1/30
      CHECK(most < 0.99);
    }
  const auto [least, most] = std::minmax_element(result.logits.back().begin(), result.logits.back().end());
  CHECK(*most - *least > 6.0);
}

}  // namespace
