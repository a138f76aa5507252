// shaw_test.cpp: trained vectors beside keys and values, against transformers and by hand.
#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::mixed;
using test::scored;
using test::Tables;

ordinal::AttentionShape one_layer(int64_t n_heads, int64_t head_dim) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_layers = 1;
  shape.n_heads = n_heads;
  shape.head_dim = head_dim;
  return shape;
}

TEST_CASE("shaw: three distances of two channels, by hand") {
  const Tables tables = Tables()
                            .add("blk.0.attn_rel_k.weight", {3, 2}, {1, 0, 0, 1, 9, 9})
                            .add("blk.0.attn_rel_v.weight", {3, 2}, {1, 2, 10, 20, 9, 9});
  const test::Scheme scheme = make("shaw:clip=1", one_layer(2, 2), tables);
  // Row 0 is one back or more, row 1 the token itself; row 2 belongs to the future and is never read.
  const test::Stand stand{.position = 2, .keys = {0, 1, 2}, .scale = 0.70710678f};
  test::check_near(scored(scheme, stand, {3, 4}), {2.121320344, 2.121320344, 2.828427125}, 1e-6);
  test::check_near(mixed(scheme, stand, {0.25f, 0.25f, 0.5f}, 2), {0.5 * 1 + 0.5 * 10, 0.5 * 2 + 0.5 * 20}, 1e-6);
}

TEST_CASE("shaw: scores and values are those of transformers and of the paper's sum over all pairs") {
  const json& golden = test::position_goldens()["shaw"];
  const int64_t heads = golden["heads"], d = golden["head_dim"], keys = golden["keys"];
  Tables tables;
  for (const char* name : {"attn_rel_k", "attn_rel_v"}) {
    const json& about = golden["tables"][name];
    tables.add("blk.0." + std::string(name) + ".weight", about[0], test::golden_numbers(about, golden["seed"], name));
  }
  const test::Scheme scheme =
      make("shaw:clip=" + std::to_string(golden["clip"].get<int>()), one_layer(heads, d), tables);
  const auto q = test::golden_numbers(golden["q"], golden["seed"], "q");
  for (int64_t h = 0; h < heads; ++h) {
    const test::Stand stand{.head = h, .position = keys - 1, .keys = test::first_positions(keys), .scale = 0.5f};
    test::check_near(scored(scheme, stand, {q.begin() + h * d, q.begin() + (h + 1) * d}), golden["scores"][h], 1e-6);
    test::check_near(mixed(scheme, stand, golden["weights"][h], d), golden["values"][h], 1e-6);
  }
}

TEST_CASE("shaw: a table per head is read head by head, and layers have their own") {
  ordinal::AttentionShape shape = one_layer(2, 2);
  shape.n_layers = 2;
  Tables tables;
  tables.add("blk.0.attn_rel_k.weight", {6, 2}, {1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 0, 0})
      .add("blk.1.attn_rel_k.weight", {3, 2}, {5, 0, 6, 0, 0, 0});
  const test::Scheme scheme = make("shaw:clip=1,values=0", shape, tables);
  const auto at = [&](int64_t layer, int64_t head) {
    return scored(scheme, {.layer = layer, .head = head, .position = 1, .keys = {0, 1}}, {1, 1});
  };
  CHECK(at(0, 0) == std::vector<float>{1, 2});
  CHECK(at(0, 1) == std::vector<float>{3, 4});
  CHECK(at(1, 0) == std::vector<float>{5, 6});
  CHECK(at(1, 1) == std::vector<float>{5, 6});
}

TEST_CASE("shaw: distances beyond the clip use one row, by position and not by place") {
  const Tables tables =
      Tables().add_random("blk.0.attn_rel_k.weight", {7, 4}).add_random("blk.0.attn_rel_v.weight", {7, 4});
  const test::Scheme scheme = make("shaw:clip=3", one_layer(2, 4), tables);
  const auto scores = scored(scheme, {.position = 9, .keys = {0, 5, 6, 7, 9}}, {1, 2, 3, 4});
  CHECK(scores[0] == scores[1]);
  CHECK(scores[1] == scores[2]);
  CHECK(scores[2] != scores[3]);
  CHECK(scored(scheme, {.position = 1009, .keys = {1000, 1005, 1006, 1007, 1009}}, {1, 2, 3, 4}) == scores);
}

TEST_CASE("shaw: tables of zeros change nothing, and values=0 needs none for values") {
  const std::vector<float> zeros(3 * 4, 0.0f);
  const Tables tables =
      Tables().add("blk.0.attn_rel_k.weight", {3, 4}, zeros).add("blk.0.attn_rel_v.weight", {3, 4}, zeros);
  const test::Stand stand{.position = 2, .keys = {0, 1, 2}};
  CHECK(scored(make("shaw:clip=1", one_layer(2, 4), tables), stand, {1, 2, 3, 4}, {7, 8, 9}) ==
        std::vector<float>{7, 8, 9});
  CHECK(mixed(make("shaw:clip=1", one_layer(2, 4), tables), stand, {1, 1, 1}, 4) == std::vector<float>(4, 0.0f));
  const test::Scheme keys_only =
      make("shaw:clip=1,values=0", one_layer(2, 4), Tables().add_random("blk.0.attn_rel_k.weight", {3, 4}));
  CHECK(mixed(keys_only, stand, {1, 1, 1}, 4) == std::vector<float>(4, 0.0f));
  CHECK(keys_only->spec() == "shaw:clip=1,values=0");
}

TEST_CASE("shaw: refuses missing tables and rows that are not 2 clip + 1") {
  const Tables keys = Tables().add_random("blk.0.attn_rel_k.weight", {7, 4});
  CHECK(test::mentions(test::make_error("shaw", one_layer(2, 4)), {"blk.0.attn_rel_k.weight [rows, 4]"}));
  CHECK(test::mentions(test::make_error("shaw:clip=3", one_layer(2, 4), keys), {"blk.0.attn_rel_v.weight"}));
  CHECK(test::mentions(test::make_error("shaw:clip=4,values=0", one_layer(2, 4), keys), {"it has 7"}));
  CHECK(test::mentions(test::make_error("shaw:clip=3,values=2", one_layer(2, 4), keys), {"1, 0"}));
  CHECK(test::mentions(test::make_error("shaw:k=3", one_layer(2, 4), keys), {"clip, values"}));
}

}  // namespace
