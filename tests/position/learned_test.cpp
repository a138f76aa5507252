// learned_test.cpp: a trained row per position, and every way to go past the table.
#include <cmath>

#include "scheme_probe.h"

namespace {

using test::embedded;
using test::make;
using test::Tables;

// Six rows of eight: row p holds 10 p + channel, so that no two numbers are alike.
Tables table(ordinal::Dtype dtype = ordinal::Dtype::f32) {
  std::vector<float> values;
  for (int row = 0; row < 6; ++row)
    for (int channel = 0; channel < 8; ++channel) values.push_back(static_cast<float>(10 * row + channel));
  return Tables().add("position_embd.weight", {6, 8}, values, dtype);
}

std::vector<float> row(float number) {
  std::vector<float> values;
  for (int channel = 0; channel < 8; ++channel) values.push_back(10 * number + static_cast<float>(channel));
  return values;
}

TEST_CASE("learned: position p adds row p, in every kind of number") {
  for (const ordinal::Dtype dtype : {ordinal::Dtype::f32, ordinal::Dtype::f16, ordinal::Dtype::bf16})
    for (int64_t p = 0; p < 6; ++p)
      CHECK(embedded(make("learned", test::small_shape(), table(dtype)), p, 8) == row(static_cast<float>(p)));
}

TEST_CASE("learned: adds to what is there") {
  const test::Scheme learned = make("learned", test::small_shape(), table());
  std::vector<float> x(16, 100.0f);
  const std::vector<int64_t> positions{4, 1};
  learned->add_to_embedding(positions, {x.data(), 2, 8, 8});
  CHECK(x[0] == 140.0f);
  CHECK(x[8 + 3] == 113.0f);
}

TEST_CASE("learned: an offset of 2 skips the two rows that OPT keeps for padding") {
  const test::Scheme opt = make("learned:offset=2", test::small_shape(), table());
  CHECK(opt->max_positions() == 4);
  CHECK(embedded(opt, 0, 8) == row(2));
  CHECK(embedded(opt, 3, 8) == row(5));
  CHECK(opt->spec() == "learned:offset=2");
  CHECK(test::mentions(opt->limit_note().reason, {"6 rows"}));
}

TEST_CASE("learned: ends with its table, and says how to go on") {
  const test::Scheme learned = make("learned", test::small_shape(), table());
  CHECK(learned->max_positions() == 6);
  CHECK(test::mentions(learned->limit_note().reason, {"position_embd.weight has 6 rows"}));
  for (const char* way : {"clamp", "wrap", "resample", "hierarchical", "alibi"})
    CHECK(test::mentions(learned->limit_note().remedy, {way}));
}

TEST_CASE("learned: clamp repeats the last row, wrap starts again") {
  const test::Scheme clamp = make("learned:beyond=clamp", test::small_shape(), table());
  const test::Scheme wrap = make("learned:beyond=wrap", test::small_shape(), table());
  const test::Scheme wrap_offset = make("learned:offset=2,beyond=wrap", test::small_shape(), table());
  for (const test::Scheme& scheme : {clamp, wrap, wrap_offset})
    CHECK(scheme->max_positions() == ordinal::PositionScheme::kUnlimited);
  CHECK(embedded(clamp, 6, 8) == row(5));
  CHECK(embedded(clamp, 1'000'000'007, 8) == row(5));
  CHECK(embedded(wrap, 6, 8) == row(0));
  CHECK(embedded(wrap, 6 * 1'000'000 + 4, 8) == row(4));
  CHECK(embedded(wrap_offset, 4, 8) == row(2));
}

TEST_CASE("learned: inside the table every policy but resample gives the same bits as error") {
  for (const char* beyond : {"clamp", "wrap", "hierarchical"}) {
    const test::Scheme scheme = make("learned:beyond=" + std::string(beyond), test::small_shape(), table());
    for (int64_t p = 0; p < 6; ++p) CHECK(embedded(scheme, p, 8) == row(static_cast<float>(p)));
  }
}

TEST_CASE("learned: resample stretches the table over the length, halfway rows between two") {
  const test::Scheme twice = make("learned:beyond=resample,length=12", test::small_shape(), table());
  CHECK(twice->max_positions() == 12);
  CHECK(embedded(twice, 0, 8) == row(0));
  CHECK(embedded(twice, 3, 8) == row(1.5f));
  CHECK(embedded(twice, 10, 8) == row(5));
  CHECK(embedded(twice, 11, 8) == row(5));  // past the last row: clamped
  CHECK(twice->spec() == "learned:beyond=resample,length=12");
  CHECK(test::mentions(twice->facts().remarks.front(), {"6 -> 12"}));
}

TEST_CASE("learned: resample follows the session's length, and changes nothing within the table") {
  ordinal::AttentionShape shape = test::small_shape();
  shape.length = 12;
  CHECK(embedded(make("learned:beyond=resample", shape, table()), 3, 8) == row(1.5f));
  CHECK(make("learned:beyond=resample", shape, table())->spec() == "learned:beyond=resample");
  shape.length = 4;
  const test::Scheme inside = make("learned:beyond=resample", shape, table());
  CHECK(inside->max_positions() == 6);
  for (int64_t p = 0; p < 6; ++p) CHECK(embedded(inside, p, 8) == row(static_cast<float>(p)));
}

TEST_CASE("learned: hierarchical and resampled rows are those of the second implementations") {
  for (const auto& golden : test::position_goldens()["tables"]) {
    CAPTURE(golden["spec"].get<std::string>());
    ordinal::AttentionShape shape = test::small_shape();
    shape.d_model = 3;
    const auto values = test::golden_numbers(golden["table"], golden["seed"], "position_embd.weight");
    const test::Scheme scheme = make(golden["spec"], shape, Tables().add("position_embd.weight", {5, 3}, values));
    CHECK(scheme->max_positions() == static_cast<int64_t>(golden["rows"].size()));
    for (size_t p = 0; p < golden["rows"].size(); ++p)
      test::check_near(embedded(scheme, static_cast<int64_t>(p), 3), golden["rows"][p], 1e-6);
  }
}

TEST_CASE("learned: refuses keys of another policy, and names those it has") {
  CHECK(test::mentions(test::make_error("learned:length=9", test::small_shape(), table()), {"offset, beyond"}));
  CHECK(test::mentions(test::make_error("learned:beyond=clamp,alpha=0.3", test::small_shape(), table()), {"alpha"}));
  CHECK(
      test::mentions(test::make_error("learned:beyond=repeat", test::small_shape(), table()), {"error, clamp, wrap"}));
  CHECK(test::mentions(test::make_error("learned:offset=6", test::small_shape(), table()), {"6 rows"}));
  CHECK(
      test::mentions(test::make_error("learned:beyond=hierarchical,alpha=0.5", test::small_shape(), table()), {"0.5"}));
}

TEST_CASE("learned: refuses a model without its table, and a table of another form") {
  const std::string absent = test::make_error("learned");
  CHECK(test::mentions(absent, {"position_embd.weight [rows, 8]"}));
  CHECK(test::mentions(absent, {"none, sinusoidal, rope, alibi"}));
  const std::vector<float> numbers(48, 1.0f);
  const auto refused = [&](std::vector<int64_t> shape, ordinal::Dtype dtype, ordinal::Layout layout) {
    return test::make_error("learned", test::small_shape(),
                            Tables().add("position_embd.weight", std::move(shape), numbers, dtype, layout));
  };
  CHECK(test::mentions(refused({4, 12}, ordinal::Dtype::f32, ordinal::Layout::rows), {"[4, 12]"}));
  CHECK(test::mentions(refused({48}, ordinal::Dtype::f32, ordinal::Layout::rows), {"[48]"}));
  CHECK(test::mentions(refused({6, 8}, ordinal::Dtype::f32, ordinal::Layout::panels), {"panels"}));
  CHECK(test::mentions(refused({6, 8}, ordinal::Dtype::q8_0, ordinal::Layout::rows), {"q8_0"}));
}

}  // namespace
