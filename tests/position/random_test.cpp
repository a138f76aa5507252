// random_test.cpp: positions drawn from a range.
#include "scheme_probe.h"

namespace {

// Where a text of `count` tokens stands: alibi's distances from a query in the last row, read back.
std::vector<int64_t> drawn_places(const std::string& parameters, int64_t count) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.length = count;
  const test::Scheme scheme = test::make("index;with=random:" + parameters, shape);
  std::vector<int64_t> found;
  for (int64_t p = 0; p < count; ++p) found.push_back(static_cast<int64_t>(test::embedded(scheme, p, 8)[0]));
  return found;
}

TEST_CASE("random: the draws of the page, by seed") {
  CHECK(drawn_places("range=2048", 8) == std::vector<int64_t>{254, 366, 410, 821, 1264, 1352, 1663, 1720});
  CHECK(drawn_places("range=2048,seed=1", 8) == std::vector<int64_t>{98, 160, 389, 565, 725, 1643, 1721, 1915});
}

TEST_CASE("random: a sample of the whole range is the range") {
  CHECK(drawn_places("range=16", 16) == test::first_positions(16));
  CHECK(schemes_agree(*test::make("rope"), *test::make("rope;with=random:range=16"), test::small_shape(), 16));
}

TEST_CASE("random: queries, keys and distances stand at the same draw") {
  const std::string with = ";with=random:range=2048,length=8";
  const test::Scheme alibi = test::make("alibi" + with), rope = test::make("rope" + with);
  CHECK(test::scored(alibi, {.position = 2, .keys = {0, 1, 2}}, {}) == std::vector<float>{-156 / 16.f, -44 / 16.f, 0});
  CHECK(test::scored(alibi, {.position = 4, .keys = {0, 3, 4}}, {}) ==
        std::vector<float>{-1010 / 16.f, -443 / 16.f, 0});
  CHECK(test::turned(rope, 3, {1, 2, 3, 4}) == test::turned(test::make("rope"), 821, {1, 2, 3, 4}));
}

TEST_CASE("random: a scheme that reads the order of a row alone stays as it is") {
  const test::Tables tables = test::Tables().add_random("attn_cope.weight", {3, 4});
  const test::Scheme plain = test::make("cope", test::small_shape(), tables);
  const test::Scheme moved = test::make("cope;with=random", test::small_shape(), tables);
  CHECK(schemes_agree(*plain, *moved, test::small_shape(), 16));
}

TEST_CASE("random: ends with its draw, needs a range with room and a scheme that reaches as far") {
  const test::Scheme scheme = test::make("rope;with=random:length=8");
  CHECK(scheme->max_positions() == 8);
  CHECK(test::mentions(scheme->limit_note().remedy, {"length="}));
  CHECK(scheme->spec() == "rope;with=random:length=8");
  CHECK(test::mentions(test::make_error("rope;with=random:range=15"), {"range=15", "16"}));
  const test::Tables tables = test::Tables().add_random("position_embd.weight", {16, 8});
  CHECK(test::mentions(test::make_error("learned;with=random", test::small_shape(), tables), {"16 positions"}));
}

}  // namespace
