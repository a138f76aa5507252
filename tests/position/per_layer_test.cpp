// per_layer_test.cpp: some layers with a scheme of their own.
#include "scheme_probe.h"

namespace {

using test::make;
using test::spec_of;

ordinal::AttentionShape layers(int64_t n_layers) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_layers = n_layers;
  return shape;
}

TEST_CASE("per layer: named layers follow their own scheme, all others the first") {
  const test::Scheme scheme = make("rope;layers=1,3:none", layers(5));
  const std::vector<float> x{1, 2, 3, 4};
  for (const int64_t layer : {0, 2, 4})
    CHECK(test::turned(scheme, 5, x, nullptr, layer) == test::turned(make("rope"), 5, x));
  for (const int64_t layer : {1, 3}) CHECK(test::turned(scheme, 5, x, nullptr, layer) == x);
}

TEST_CASE("per layer: scores and values go to the layer's scheme") {
  test::Tables tables;
  for (const char* name : {"blk.0.attn_rel_k.weight", "blk.1.attn_rel_k.weight", "blk.2.attn_rel_k.weight",
                           "blk.0.attn_rel_v.weight", "blk.1.attn_rel_v.weight", "blk.2.attn_rel_v.weight"})
    tables.add_random(name, {3, 4});
  const test::Scheme scheme = make("alibi;layers=2:shaw:clip=1", layers(3), tables);
  const test::Scheme alibi = make("alibi", layers(3)), shaw = make("shaw:clip=1", layers(3), tables);
  for (int64_t layer = 0; layer < 3; ++layer) {
    const test::Scheme& own = layer == 2 ? shaw : alibi;
    const test::Stand stand{.layer = layer, .position = 3, .keys = {0, 2, 3}};
    CHECK(test::scored(scheme, stand, {1, 2, 3, 4}) == test::scored(own, stand, {1, 2, 3, 4}));
    CHECK(test::mixed(scheme, stand, {0.2f, 0.3f, 0.5f}, 4) == test::mixed(own, stand, {0.2f, 0.3f, 0.5f}, 4));
  }
  CHECK(scheme->facts().tensors.size() == 6);
}

TEST_CASE("per layer: the embedding and the last position are those of the first scheme") {
  const test::Tables tables = test::Tables().add_random("position_embd.weight", {6, 8});
  const test::Scheme scheme = make("learned;layers=0:rope", layers(2), tables);
  CHECK(test::embedded(scheme, 3, 8) == test::embedded(make("learned", layers(2), tables), 3, 8));
  CHECK(scheme->max_positions() == 6);
  CHECK(test::mentions(scheme->limit_note().reason, {"6 rows"}));
  CHECK(scheme->facts().kind == "absolute");
}

TEST_CASE("per layer: the spec is canonical: layers in order, ranges, one part a scheme, nothing that is the first") {
  CHECK(spec_of("rope;layers=11,3,7:none", layers(12)) == "rope;layers=3,7,11:none");
  CHECK(spec_of("rope;layers=1,2:none", layers(12)) == "rope;layers=1,2:none");
  CHECK(spec_of("rope;layers=0-2,3,9:none", layers(12)) == "rope;layers=0-3,9:none");
  CHECK(spec_of("rope;layers=5:none;layers=2:alibi:max_bias=8;layers=7:none", layers(12)) ==
        "rope;layers=2:alibi;layers=5,7:none");
  CHECK(spec_of("rope:theta=1e4;layers=2:rope:pairing=half", layers(12)) == "rope");
  CHECK(spec_of("none;layers=0-11:rope:theta=5e5,pairing=interleaved", layers(12)) ==
        "none;layers=0-11:rope:theta=500000,pairing=interleaved");
  for (const char* spec : {"rope;layers=3,7,11:none", "rope;layers=2:alibi;layers=5,7:none"})
    CHECK(spec_of(spec, layers(12)) == spec);
}

TEST_CASE("per layer: refuses layers the model lacks, named twice, or not numbers") {
  const char* refused[][2] = {
      {"rope;layers=12:none", "layers 0 to 11"},
      {"rope;layers=0-12:none", "layers 0 to 11"},
      {"rope;layers=0-9223372036854775807:none", "layers 0 to 11"},
      {"rope;layers=3,3:none", "layer 3 has two"},
      {"rope;layers=3:none;layers=2-4:alibi", "layer 3 has two"},
      {"rope;layers=4-2:none", "the range 4-2"},
      {"rope;layers=:none", "where a layer should be"},
      {"rope;layers=1,:none", "where a layer should be"},
      {"rope;layers=-1:none", "where a layer should be"},
      {"rope;layers=x:none", "where a layer should be"},
      {"rope;layers=99999999999999999999:none", "where a layer should be"},
      {"rope;layers=3", "'layers=3'"},
      {"rope;layer=3:none", "'layer=3:none'"},
      {"rope;", "''"},
      {"rope;layers=3:", "is not a position spec"},
      {";layers=3:none", "is not a position spec"},
      {"rope;layers=3:nothing", "there is no position scheme 'nothing'"},
  };
  for (const auto& [spec, text] : refused) {
    CAPTURE(spec);
    CHECK(test::mentions(test::make_error(spec, layers(12)), {text}));
  }
}

TEST_CASE("per layer: refuses a scheme of the embedding for a layer") {
  for (const char* part : {"sinusoidal", "index"})
    CHECK(test::mentions(test::make_error("rope;layers=0:" + std::string(part)), {"belongs to no layer"}));
}

// Queries and keys of all heads of a layer at position 5, from ones, after transform_query_key.
std::pair<std::vector<float>, std::vector<float>> all_turned(const test::Scheme& scheme,
                                                             const ordinal::AttentionShape& shape, int64_t layer) {
  std::vector<float> q(static_cast<size_t>(shape.n_heads * shape.head_dim), 1.0f);
  std::vector<float> k(static_cast<size_t>(shape.n_kv_heads * shape.head_dim), 1.0f);
  const int64_t position = 5, q_width = std::ssize(q), k_width = std::ssize(k);
  scheme->transform_query_key(layer, {&position, 1}, {q.data(), 1, q_width, q_width}, {k.data(), 1, k_width, k_width});
  return {q, k};
}

ordinal::AttentionShape heads(int64_t n_heads, int64_t n_kv_heads) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_layers = 3, shape.n_heads = n_heads, shape.n_kv_heads = n_kv_heads;
  shape.d_model = n_heads * shape.head_dim;
  return shape;
}

TEST_CASE("per head: named heads follow their own scheme, with their keys, all others the first") {
  const ordinal::AttentionShape shape = heads(4, 4);
  const auto [q, k] = all_turned(make("rope;heads=1.0,1.2-3:none", shape), shape, 1);
  const auto [all_q, all_k] = all_turned(make("rope", shape), shape, 1);
  for (size_t i = 0; i < q.size(); ++i) {
    const bool own = i / 4 == 1;  // head 1 alone still turns
    CHECK(q[i] == (own ? all_q[i] : 1.0f));
    CHECK(k[i] == (own ? all_k[i] : 1.0f));
  }
  CHECK(all_turned(make("rope;heads=1.0,1.2-3:none", shape), shape, 2).first == all_q);
  // Scores go to the head's scheme: slopes are those of the head's own number.
  const test::Scheme taken = make("alibi;heads=0.1:none", shape);
  for (int64_t head = 0; head < 4; ++head) {
    const test::Stand stand{.layer = 0, .head = head, .position = 3, .keys = {0, 2, 3}};
    CHECK(test::scored(taken, stand, {1, 2, 3, 4}) ==
          test::scored(make(head == 1 ? "none" : "alibi", shape), stand, {1, 2, 3, 4}));
  }
}

TEST_CASE("per head: heads that share keys go together where keys are turned") {
  const ordinal::AttentionShape shape = heads(4, 2);
  const auto [q, k] = all_turned(make("rope;heads=0.2-3:none", shape), shape, 0);
  const auto [all_q, all_k] = all_turned(make("rope", shape), shape, 0);
  for (size_t i = 0; i < q.size(); ++i) CHECK(q[i] == (i / 4 < 2 ? all_q[i] : 1.0f));
  for (size_t i = 0; i < k.size(); ++i) CHECK(k[i] == (i / 4 < 1 ? all_k[i] : 1.0f));
  CHECK(test::mentions(test::make_error("rope;heads=0.2:none", shape), {"heads 2-3 together"}));
  CHECK(spec_of("alibi;heads=0.2:none", shape) == "alibi;heads=0.2:none");  // a bias is of a query head alone
}

TEST_CASE("per head: the spec is canonical, and what is no head of the model is refused") {
  const ordinal::AttentionShape shape = heads(4, 4);
  CHECK(spec_of("rope;heads=2.1,0.3,0.0-1:none", shape) == "rope;heads=0.0,0.1,0.3,2.1:none");
  CHECK(spec_of("rope;heads=1.0-3:none", shape) == "rope;heads=1.0-3:none");
  CHECK(spec_of("rope;layers=1:none;heads=1.2:rope;heads=0.1:alibi", shape) ==
        "rope;layers=1:none;heads=0.1:alibi;heads=1.2:rope");
  CHECK(spec_of("rope;heads=1.2:rope", shape) == "rope");
  CHECK(spec_of("rope;layers=1:none;heads=1.2:none", shape) == "rope;layers=1:none");
  const char* refused[][2] = {{"rope;heads=3.0:none", "layers 0 to 2"},
                              {"rope;heads=0.4:none", "heads 0 to 3"},
                              {"rope;heads=0.2-9223372036854775807:none", "heads 0 to 3"},
                              {"rope;heads=0.1,0.1:none", "head 0.1 has two"},
                              {"rope;heads=0:none", "LAYER.HEAD"},
                              {"rope;heads=0.:none", "where a head should be"},
                              {"rope;heads=.1:none", "where a layer should be"},
                              {"rope;heads=0.3-1:none", "the range 3-1"},
                              {"rope;heads=0.1:sinusoidal", "belongs to no layer"},
                              {"rope;heads=0.1", "'heads=0.1'"}};
  for (const auto& [spec, text] : refused) {
    CAPTURE(spec);
    CHECK(test::mentions(test::make_error(spec, shape), {text}));
  }
  CHECK(ordinal::expand_native("native;heads=0.1:none", "rope") == "rope;heads=0.1:none");
  CHECK(ordinal::split_position_list("rope;heads=0.0,0.2-3:none,alibi") ==
        std::vector<std::string>{"rope;heads=0.0,0.2-3:none", "alibi"});
}

TEST_CASE("native: stands for the model's own spec, first or for layers") {
  using ordinal::expand_native;
  CHECK(expand_native("native", "rope:theta=5e5") == "rope:theta=5e5");
  CHECK(expand_native("alibi", "rope") == "alibi");
  CHECK(expand_native("native;layers=0:none", "rope:theta=5e5") == "rope:theta=5e5;layers=0:none");
  CHECK(expand_native("none;layers=1,3-4:native", "rope:theta=5e5") == "none;layers=1,3-4:rope:theta=5e5");
  CHECK(expand_native("native;layers=0:alibi", "rope;layers=3:none") == "rope;layers=3:none;layers=0:alibi");
  CHECK(test::mentions(test::error_of([] { ordinal::expand_native("none;layers=0:native", "rope;layers=3:none"); }),
                       {"differ by layer"}));
}

}  // namespace
