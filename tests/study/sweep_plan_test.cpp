// sweep_plan_test.cpp: what a plan may say, and the units it becomes.
#include <string>
#include <vector>

#include "position/contract_specs.h"
#include "study/sweep/plan.h"
#include "support.h"

namespace {

using ordinal::expand_braces;
using ordinal::parse_sweep_plan;
using Specs = std::vector<std::string>;

TEST_CASE("sweep: braces make a spec for each value, in order, and every combination of several") {
  CHECK(expand_braces("rope") == Specs{"rope"});
  CHECK(expand_braces("rope:factor={2,4,8}") == Specs{"rope:factor=2", "rope:factor=4", "rope:factor=8"});
  CHECK(expand_braces("{rope,alibi}") == Specs{"rope", "alibi"});
  CHECK(expand_braces("a={1,2}b={x,y}c") == Specs{"a=1b=xc", "a=2b=xc", "a=1b=yc", "a=2b=yc"});
  for (const char* bad : {"rope:{", "rope:}", "a={1,{2}}", "a={}", "a={1,}", "a={,1}"}) {
    CAPTURE(std::string(bad));
    CHECK(test::mentions(test::error_of([&] { expand_braces(bad); }), {"expected:", "{2,4,8}"}));
  }
}

TEST_CASE("sweep: a plan is read as it is written, each value once") {
  const ordinal::SweepPlan plan = parse_sweep_plan(
      R"({"models": ["a", "b", "a"], "schemes": ["rope:theta={10,20}", "@trained", "alibi"], "lengths": [64, 32, 64],
          "protocols": ["sliding"], "tasks": ["find", "copy"], "seeds": [5, 18446744073709551615], "tokens": 700,
          "reference": "alibi"})",
      "plan.json");
  CHECK(plan.models == Specs{"a", "b"});
  CHECK(plan.texts.empty());
  CHECK(plan.schemes == Specs{"rope:theta=10", "rope:theta=20", "@trained", "alibi"});
  CHECK(plan.lengths == std::vector<int64_t>{64, 32});
  CHECK(plan.protocols == Specs{"sliding"});
  CHECK(plan.tasks == Specs{"find", "copy"});
  CHECK(plan.seeds == std::vector<uint64_t>{5, UINT64_MAX});
  CHECK(plan.tokens == 700);
  CHECK(plan.reference == "alibi");
}

TEST_CASE("sweep: what is no plan is refused with the place") {
  struct Bad {
    const char *json, *word;
  };
  for (const Bad& bad : {Bad{"[]", "object"},
                         {R"({"scheme": ["rope"]})", "schemes"},
                         {R"({"schemes": ["roep"]})", "rope"},
                         {R"({"schemes": []})", "empty list"},
                         {R"({"schemes": "rope"})", "an array"},
                         {R"({"lengths": [0]})", "length"},
                         {R"({"lengths": [1.5]})", "length"},
                         {R"({"protocols": ["hole"]})", "whole, sliding"},
                         {R"({"tasks": ["cpoy"]})", "copy, find, passkey"},
                         {R"({"seeds": [-1]})", "seed"},
                         {R"({"tokens": -5})", "tokens"},
                         {R"({"models": [3]})", "path"},
                         {"{", "plan.json"}}) {
    CAPTURE(std::string(bad.json));
    CHECK(test::mentions(test::error_of([&] { parse_sweep_plan(bad.json, "plan.json"); }), {bad.word}));
  }
}

TEST_CASE("sweep: units are every text cut in every way, a few schemes in each") {
  const auto model = test::model_with_everything();
  ordinal::TokenStream text;
  text.name = "t";
  text.tokens.assign(100, 1);
  ordinal::SweepPlan plan;
  plan.schemes = {"rope", "alibi", "none", "rope:theta=2", "rope:theta=3", "rope:theta=4"};
  plan.lengths = {8, 16};
  plan.protocols = {"whole", "sliding"};
  plan.tasks = {"copy"};
  plan.seeds = {1, 2, 3};
  const auto units = ordinal::units_of(plan, *model, "m", text);
  CHECK(units.size() == 2 * (2 + 3) * 2);
  size_t schemes = 0;
  for (const ordinal::SweepUnit& unit : units) {
    CHECK(unit.model == "m");
    CHECK(unit.positions.size() <= 4);
    CHECK(unit.is_task == (unit.work == "copy"));
    CHECK(unit.reference == (unit.is_task ? "" : "native"));
    schemes += unit.positions.size();
  }
  CHECK(schemes == 6 * 2 * (2 + 3));
  // Twice the tokens, twice the work; sliding windows read a text twice.
  CHECK(ordinal::cost_of(units[2], *model, text) == 2 * ordinal::cost_of(units[0], *model, text));
  CHECK(units[2].work == "sliding");
}

}  // namespace
