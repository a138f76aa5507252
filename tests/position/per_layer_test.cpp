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
