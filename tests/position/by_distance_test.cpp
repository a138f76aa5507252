// by_distance_test.cpp: whole models under schemes and modifiers that the reference forward knows by the distances they
// give, however the engine comes to them.
#include <algorithm>
#include <cmath>

#include "ordinal/session.h"
#include "reference/random_model.h"
#include "reference/reference_schemes.h"
#include "scheme_probe.h"

namespace {

constexpr int64_t kReadTokens =
    70;  // more than two panels of keys, and tiles whose rows fall on both sides of every edge

// A model of two layers, four query heads in two groups, and a table for every scheme that wants one.
ordinal::ModelDraft draft_with_tables(double softcap, const std::vector<int64_t>& window) {
  test::RandomModel random;
  ordinal::ModelConfig& c = random.config;
  c = test::small_config();
  c.n_heads = 4;
  c.n_kv_heads = 2;
  c.head_dim = 8;
  c.d_model = 32;
  c.max_seq_len = 20;
  c.attention_softcap = static_cast<float>(softcap);
  c.window = window;
  test::scale_by_head_dim(c);
  ordinal::ModelDraft draft = test::random_model(random);
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, double center, double spread) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    draft.tensors.push_back(
        test::tensor_of(name, std::move(shape), test::uniform_numbers(3, name, count, center, spread)));
    draft.tensors.back().is_table = true;
  };
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    add(layer + "attn_kerple.weight", {2, 4}, 0.7, 0.6);
    add(layer + "attn_cope.weight", {6, 8}, 0, 0.5);
    add(layer + "attn_ssmax.weight", {4}, 0.4, 0.3);
    add(layer + "attn_fire_1.weight", {7, 1}, 0, 3);
    add(layer + "attn_fire_1.bias", {7}, 0, 1.5);
    add(layer + "attn_fire_2.weight", {4, 7}, 0, 1);
    add(layer + "attn_fire_2.bias", {4}, 0, 1);
  }
  add("attn_fire_scale.weight", {2}, 12, 11);
  return draft;
}

double worst_difference(const std::string& spec, double softcap = 0, const std::vector<int64_t>& window = {},
                        int64_t first = 0, int64_t chunk = 256) {
  const ordinal::ModelDraft draft = draft_with_tables(softcap, window);
  const reference::Model model(draft);
  const std::vector<ordinal::TokenId> ids = test::random_ids(5, kReadTokens, draft.config.vocab_size);
  const reference::Result expected =
      reference::forward(model, reference::scheme_by_distance(spec, model), {ids.begin(), ids.end()}, first);
  ordinal::Session session(
      ordinal::Model::bind(ordinal::write_model_in_memory(draft, "by distance")),
      {.position = spec, .capacity = kReadTokens, .first_position = first, .n_threads = 1, .chunk = chunk});
  double worst = 0;
  session.evaluate_all(ids, [&](int64_t row, std::span<const float> logits) {
    for (size_t c = 0; c < logits.size(); ++c) {
      const double apart = std::abs(static_cast<double>(logits[c]) - expected.logits[static_cast<size_t>(row)][c]);
      if (!(apart <= worst)) worst = apart;
    }
  });
  return worst;
}

constexpr const char* kByDistance[] = {"rope:fraction=0.75",
                                       "rope:fraction=0.5,pairing=interleaved,theta=100",
                                       "xpos",
                                       "xpos:pairing=half,gamma=0.8,base=16,theta=50",
                                       "kerple",
                                       "kerple:kernel=power",
                                       "sandwich",
                                       "sandwich:dim=16,base=100,first=1",
                                       "fire",
                                       "cope",
                                       "cope:positions=3"};

constexpr const char* kWithModifiers[] = {"rope;with=logn:length=20",
                                          "alibi;with=logn:length=5",
                                          "cope;with=logn:length=5",
                                          "none;with=ssmax",
                                          "rope;with=ssmax:s=0.5",
                                          "none;with=steps:every=8",
                                          "xpos;with=steps:every=16,first=0,beta=0.5",
                                          "rope;with=random:range=300,length=90,seed=3",
                                          "alibi;with=random:range=200,length=90",
                                          "rope:theta=100;with=sinks:first=3,window=9",
                                          "alibi;with=sinks:first=3,window=9",
                                          "kerple;with=sinks:first=5,window=17",
                                          "none;with=sinks:first=0,window=8",
                                          "cope;with=sinks:first=2,window=20",
                                          "rope:theta=100;with=lambda:first=5,window=16",
                                          "alibi;with=lambda:first=40,window=16",
                                          "rope:theta=100;with=rerope:window=9",
                                          "rope:theta=100,pairing=interleaved;with=leaky_rerope:window=13,factor=2.5",
                                          "rope:theta=100;with=self_extend:window=8,group=4",
                                          "rope:theta=100;with=self_extend:window=7,group=3",
                                          "rope:theta=100;with=dca:chunk=15,limit=20",
                                          "rope:theta=100;with=dca:chunk=9,limit=12,top=limit",
                                          "rope:theta=100;with=rerope:window=9;with=logn:length=6;with=ssmax:s=0.6",
                                          "rope:fraction=0.5,theta=100;with=dca:chunk=7,limit=30;with=steps:every=4"};

TEST_CASE("by distance: schemes and modifiers give the reference's logits") {
  for (const auto& list : {std::span<const char* const>(kByDistance), std::span<const char* const>(kWithModifiers)})
    for (const char* spec : list) {
      CAPTURE(spec);
      CHECK(worst_difference(spec) < 2e-4);
    }
}

TEST_CASE("by distance: also in models with windows and soft caps, from a later position, a few tokens at a time") {
  for (const char* spec : kWithModifiers) {
    CAPTURE(spec);
    CHECK(worst_difference(spec, 3, {0, 11}, 17, 7) < 2e-4);
  }
}

TEST_CASE("by distance: a fork goes on with every view of the keys, in every kind of cache") {
  const ordinal::ModelDraft draft = draft_with_tables(0, {});
  const auto model = ordinal::Model::bind(ordinal::write_model_in_memory(draft, "by distance"));
  const std::vector<ordinal::TokenId> ids = test::random_ids(6, kReadTokens, draft.config.vocab_size);
  const std::span<const ordinal::TokenId> text(ids);
  for (const char* spec : kWithModifiers)
    for (const ordinal::Dtype dtype : {ordinal::Dtype::f32, ordinal::Dtype::f16, ordinal::Dtype::bf16}) {
      CAPTURE(spec);
      ordinal::Session whole(model, {.position = spec, .capacity = kReadTokens, .n_threads = 1, .kv_dtype = dtype});
      ordinal::Session first(model, {.position = spec, .capacity = kReadTokens, .n_threads = 1, .kv_dtype = dtype});
      first.evaluate(text.first(33));
      ordinal::Session fork = first.fork();
      const auto expected = whole.evaluate(text), found = fork.evaluate(text.subspan(33));
      CHECK(test::same_bits({found.begin(), found.end()}, {expected.begin(), expected.end()}));
    }
}

TEST_CASE("by distance: the reference is another one for every parameter") {
  // What would pass if the engine and the reference both ignored a key.
  const ordinal::ModelDraft draft = draft_with_tables(0, {});
  const reference::Model model(draft);
  const std::vector<ordinal::TokenId> ids = test::random_ids(5, 40, draft.config.vocab_size);
  const auto last = [&](const std::string& spec) {
    return reference::forward(model, reference::scheme_by_distance(spec, model), {ids.begin(), ids.end()})
        .logits.back();
  };
  const char* pairs[][2] = {{"rope:fraction=0.75", "rope:fraction=0.5"},
                            {"xpos", "xpos:base=100"},
                            {"sandwich", "sandwich:first=1"},
                            {"kerple", "kerple:kernel=power"},
                            {"none;with=ssmax", "none;with=ssmax:s=0.5"},
                            {"rope;with=dca:chunk=9,limit=12", "rope;with=dca:chunk=9,limit=12,top=limit"},
                            {"rope;with=sinks:first=3,window=9", "rope;with=lambda:first=3,window=9"}};
  for (const auto& [a, b] : pairs) {
    const reference::Row one = last(a), other = last(b);
    double apart = 0;
    for (size_t c = 0; c < one.size(); ++c) apart = std::max(apart, std::abs(one[c] - other[c]));
    CAPTURE(a);
    CHECK(apart > 1e-3);
  }
}

}  // namespace
