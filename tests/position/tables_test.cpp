// tables_test.cpp: tensors of every shape on their way to a scheme that declares them.
#include "position/tables.h"

#include "position/scheme.h"
#include "scheme_probe.h"

namespace {

using ordinal::any_size;
using ordinal::random_of;
using ordinal::SchemeTable;
using ordinal::TableForm;

std::vector<std::vector<SchemeTable>> read(const std::vector<TableForm>& forms, const test::Tables& tables) {
  const ordinal::ParamReader params(ordinal::parse_position_spec("made"));
  return ordinal::TableReader(params, test::small_shape(), tables.lookup()).read(forms);
}

std::string refusal(const TableForm& form, const test::Tables& tables) {
  return test::error_of([&] { read({form}, tables); });
}

TEST_CASE("tables: one, two and three dimensions come as they lie, in any plain kind") {
  const test::Tables tables = test::Tables()
                                  .add("slopes", {3}, {1, 2, 3}, ordinal::Dtype::bf16)
                                  .add("matrix", {2, 1}, {4, 5}, ordinal::Dtype::f16)
                                  .add("heads", {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const auto loaded = read({{"slopes", {3}, random_of(1)},
                            {"matrix", {any_size(9), 1}, random_of(1)},
                            {"heads", {2, any_size(4), 3}, random_of(1)}},
                           tables);
  CHECK(loaded[0][0].values == std::vector<float>{1, 2, 3});
  CHECK(loaded[1][0].values == std::vector<float>{4, 5});
  CHECK(loaded[1][0].shape == std::vector<int64_t>{2, 1});
  CHECK(loaded[2][0].values == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(loaded[2][0].shape == std::vector<int64_t>{2, 1, 3});
}

TEST_CASE("tables: a layer reads its own, or the one that all share") {
  const TableForm form{"blk.N.bias", {2}, random_of(1)};
  const auto own = read({form}, test::Tables().add("blk.0.bias", {2}, {1, 2}).add("blk.1.bias", {2}, {3, 4}));
  CHECK(own[0][1].values == std::vector<float>{3, 4});
  const auto mixed = read({form}, test::Tables().add("blk.0.bias", {2}, {1, 2}).add("bias", {2}, {5, 6}));
  REQUIRE(mixed[0].size() == 2);
  CHECK(mixed[0][0].values == std::vector<float>{1, 2});
  CHECK(mixed[0][1].values == std::vector<float>{5, 6});
  CHECK(test::mentions(refusal(form, test::Tables().add("blk.0.bias", {2}, {1, 2})), {"blk.1.bias [2]", "or bias"}));
}

TEST_CASE("tables: another shape, kind or layout is refused with what was wanted and what was found") {
  const TableForm form{"t", {any_size(3), 2}, random_of(1)};
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4}, {2, 1, 2}, {4, 1}})
    CHECK(test::mentions(refusal(form, test::Tables().add("t", shape, {1, 2, 3, 4})), {"t [rows, 2]", "t ["}));
  const std::vector<float> four = {1, 2, 3, 4};
  CHECK(test::mentions(
      refusal(form, test::Tables().add("t", {2, 2}, four, ordinal::Dtype::f32, ordinal::Layout::panels)), {"panels"}));
  CHECK(test::mentions(refusal(form, test::Tables().add("t", {2, 2}, four, ordinal::Dtype::q8_0)), {"q8_0"}));
  CHECK(test::mentions(refusal(form, {}), {"'made'", "no t", "alibi"}));
}

TEST_CASE("tables: an optional one may be absent, but not of another form") {
  const TableForm form{.name = "t", .shape = {2}, .made_up = {}, .is_optional = true};
  CHECK(read({form}, {})[0][0].values.empty());
  CHECK(read({form}, test::Tables().add("t", {2}, {1, 2}))[0][0].values.size() == 2);
  CHECK(test::mentions(refusal(form, test::Tables().add("t", {3}, {1, 2, 3})), {"t [2]", "t [3]"}));
}

TEST_CASE("tables: made-up ones are the same each time, of every layer, and small") {
  const auto tables = ordinal::made_up_tables("shaw:clip=3;layers=1:t5_bias", test::small_shape());
  std::vector<std::string> names;
  for (const SchemeTable& table : tables) names.push_back(table.name);
  CHECK(names == std::vector<std::string>{"blk.0.attn_rel_k.weight", "blk.1.attn_rel_k.weight",
                                          "blk.0.attn_rel_v.weight", "blk.1.attn_rel_v.weight", "attn_rel_b.weight"});
  CHECK(tables[0].shape == std::vector<int64_t>{7, 4});
  CHECK(tables[0].values != tables[1].values);
  CHECK(ordinal::made_up_tables("shaw:clip=3", test::small_shape())[0].values == tables[0].values);
  CHECK(test::mentions(test::error_of([] { ordinal::made_up_tables("shaw:clip=100000", test::small_shape()); }),
                       {"200001"}));
  CHECK(ordinal::made_up_tables("rope", test::small_shape()).empty());  // rope_freqs.weight is optional
}

TEST_CASE("tables: what a spec of huge tables declares can be asked without making them") {
  const auto facts = ordinal::describe_position_scheme("relative_bias:clip=1073741823", test::small_shape());
  REQUIRE(facts.tensors.size() == 1);
  CHECK(facts.tensors[0].name == "blk.N.attn_rel_b.weight");
  CHECK(facts.tensors[0].shape == std::vector<int64_t>{1073741824, 2});
}

}  // namespace
