// xl_test.cpp: Transformer-XL's scores against XLNet's code and its own four terms.
#include <cmath>

#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::scored;
using test::Tables;

ordinal::AttentionShape single_layer(int64_t d_model = 6, int64_t length = 16) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.n_layers = 1;
  shape.d_model = d_model;
  shape.length = length;
  return shape;
}

Tables golden_tables(const json& golden) {
  Tables tables;
  for (const auto& [name, about] : golden["tables"].items()) {
    const std::string own = name == "attn_xl_r" ? "blk.0." : "";  // u and v are shared, as in the published models
    tables.add(own + name + ".weight", about[0], test::golden_numbers(about, golden["seed"], name));
  }
  return tables;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// All that a session adds to scale * q·k: q turns to q + u, and the hook adds the rest.
std::vector<float> all_added(const test::Scheme& scheme, test::Stand stand, const std::vector<float>& q,
                             const std::vector<float>& k, size_t d) {
  const std::vector<float> turned = test::turned(scheme, stand.position, q);
  const std::span<const float> head{turned.data() + static_cast<size_t>(stand.head) * d, d};
  const std::span<const float> plain{q.data() + static_cast<size_t>(stand.head) * d, d};
  std::vector<float> scores;
  for (size_t j = 0; j < stand.keys.size(); ++j) {
    const std::span<const float> key{k.data() + (j * q.size()) + static_cast<size_t>(stand.head) * d, d};
    scores.push_back(static_cast<float>(static_cast<double>(stand.scale) * (dot(head, key) - dot(plain, key))));
  }
  return scored(scheme, stand, {head.begin(), head.end()}, scores);
}

TEST_CASE("xl: what scores gain is what XLNet's code adds, clamped or not") {
  for (const json& golden : test::position_goldens()["xl"]) {
    CAPTURE(golden["spec"].get<std::string>());
    const int64_t keys = golden["keys"];
    const test::Scheme scheme = make(golden["spec"], single_layer(golden["d_model"]), golden_tables(golden));
    const auto q = test::golden_numbers(golden["q"], golden["seed"], "q");
    const auto k = test::golden_numbers(golden["k"], golden["seed"], "k");
    for (int64_t h = 0; h < golden["heads"]; ++h)
      test::check_near(
          all_added(scheme, {.head = h, .position = keys - 1, .keys = test::first_positions(keys), .scale = 0.5f}, q, k,
                    4),
          golden["scores"][h], 1e-6);
  }
}

TEST_CASE("xl: distance is by position, and a shift of all positions changes no bit") {
  const test::Scheme scheme = make("xl", single_layer(), golden_tables(test::position_goldens()["xl"][0]));
  const std::vector<float> q{1, -2, 3, 0.5f};
  const auto scores = scored(scheme, {.head = 1, .position = 9, .keys = {0, 2, 3, 9}}, q);
  CHECK(scored(scheme, {.head = 1, .position = 1009, .keys = {1000, 1002, 1003, 1009}}, q) == scores);
}

TEST_CASE("xl: distances past the session's length have the same bits as those within a longer one") {
  const Tables tables = golden_tables(test::position_goldens()["xl"][0]);
  const test::Stand stand{.position = 40, .keys = {0, 1, 20, 40}};
  CHECK(scored(make("xl", single_layer(6, 3), tables), stand, {1, 2, 3, 4}) ==
        scored(make("xl", single_layer(6, 64), tables), stand, {1, 2, 3, 4}));
}

TEST_CASE("xl: u, v and W of zeros change nothing") {
  Tables tables;
  tables.add("attn_xl_r.weight", {8, 6}, std::vector<float>(48, 0.0f));
  tables.add("attn_xl_u.weight", {2, 4}, std::vector<float>(8, 0.0f));
  tables.add("attn_xl_v.weight", {2, 4}, std::vector<float>(8, 0.0f));
  const test::Scheme scheme = make("xl", single_layer(), tables);
  CHECK(test::turned(scheme, 3, {1, 2, 3, 4, 5, 6, 7, 8}) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(scored(scheme, {.position = 2, .keys = {0, 1, 2}}, {1, 2, 3, 4}, {7, 8, 9}) == std::vector<float>{7, 8, 9});
}

TEST_CASE("xl: keys stay as they are, and layers have their own biases") {
  ordinal::AttentionShape shape = single_layer();
  shape.n_layers = 2;
  Tables tables = Tables().add_random("attn_xl_r.weight", {8, 6}).add_random("attn_xl_v.weight", {2, 4});
  tables.add("blk.0.attn_xl_u.weight", {2, 4}, std::vector<float>(8, 1.0f));
  tables.add("blk.1.attn_xl_u.weight", {2, 4}, std::vector<float>(8, 2.0f));
  const test::Scheme scheme = make("xl", shape, tables);
  std::vector<float> key{1, 2, 3, 4};
  CHECK(test::turned(scheme, 3, std::vector<float>(8, 0.0f), &key, 0) == std::vector<float>(8, 1.0f));
  CHECK(test::turned(scheme, 3, std::vector<float>(8, 0.0f), &key, 1) == std::vector<float>(8, 2.0f));
  CHECK(key == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("xl: refuses missing or misshapen tensors, an odd width, and a table past all memory") {
  const Tables tables = golden_tables(test::position_goldens()["xl"][0]);
  CHECK(test::mentions(test::make_error("xl", single_layer()), {"attn_xl_r.weight [8, 6]"}));
  CHECK(test::mentions(test::make_error("xl", single_layer(8), tables), {"[8, 8]"}));
  CHECK(test::mentions(test::make_error("xl", single_layer(7), tables), {"even d_model"}));
  CHECK(test::mentions(test::make_error("xl", single_layer(6, int64_t{1} << 40), tables), {"xl:clamp="}));
  CHECK(make("xl:clamp=100", single_layer(6, int64_t{1} << 40), tables)->spec() == "xl:clamp=100");
  CHECK(test::mentions(test::make_error("xl:clip=3", single_layer(), tables), {"clamp"}));
}

}  // namespace
