// modifiers_test.cpp: ";with=NAME:key=value" after a spec: how it reads, what it belongs to, what it says of itself.
#include <algorithm>

#include "position/scheme.h"
#include "scheme_probe.h"

namespace {

TEST_CASE("modifiers: the list has every one with a source, and a file's name is a modifier's") {
  const auto modifiers = ordinal::position_modifiers();
  CHECK(modifiers.size() == 10);
  for (const ordinal::SchemeInfo& info : modifiers) {
    CHECK((info.kind == "relative" || info.kind == "anchored"));
    CHECK_FALSE(info.source.empty());
    CHECK_FALSE(info.summary.empty());
    const ordinal::SchemeFacts facts = ordinal::describe_position_modifier(info.name, test::small_shape());
    CHECK(facts.spec == info.name);
    CHECK_FALSE(facts.params.empty());
  }
}

TEST_CASE("modifiers: several follow each other, in the order they act, parameters at their default left out") {
  CHECK(test::spec_of("rope;with=rerope:window=8;with=logn:length=16") == "rope;with=rerope;with=logn");
  CHECK(test::spec_of("alibi;with=logn:length=5;with=steps:beta=0.10,every=4") ==
        "alibi;with=logn:length=5;with=steps:every=4");
  const test::Scheme scheme = test::make("rope:theta=5;with=logn:length=4");
  CHECK(scheme->facts().param("theta") == "5");
}

TEST_CASE("modifiers: one belongs to the spec before it, the first or that of some layers") {
  const std::string spec = "rope;with=logn:length=4;layers=1:alibi;with=steps:every=4";
  CHECK(test::spec_of(spec) == spec);
  const ordinal::LayeredSpec parsed = ordinal::parse_layered_spec(spec);
  CHECK(parsed.base == "rope;with=logn:length=4");
  REQUIRE(parsed.parts.size() == 1);
  CHECK(parsed.parts[0].spec == "alibi;with=steps:every=4");
}

TEST_CASE("modifiers: of native they go to its first spec") {
  using ordinal::expand_native;
  CHECK(expand_native("native;with=logn", "rope") == "rope;with=logn");
  CHECK(expand_native("native;with=logn", "rope;layers=1:none") == "rope;with=logn;layers=1:none");
  CHECK(expand_native("native;with=dca;layers=0:alibi", "rope;with=logn;layers=1:none") ==
        "rope;with=logn;with=dca;layers=1:none;layers=0:alibi");
  CHECK(expand_native("alibi;layers=0:native;with=logn", "rope") == "alibi;layers=0:rope;with=logn");
  CHECK_THROWS_AS(expand_native("alibi;layers=0:native;with=logn", "rope;layers=1:none"), ordinal::Error);
  CHECK(expand_native("alibi;with=logn", "rope") == "alibi;with=logn");
}

TEST_CASE("modifiers: in a list of specs they stay with theirs") {
  CHECK(ordinal::split_position_list("rope;with=sinks:first=4,window=8,alibi;with=logn,none") ==
        std::vector<std::string>{"rope;with=sinks:first=4,window=8", "alibi;with=logn", "none"});
}

TEST_CASE("modifiers: bad ones are refused, naming what exists") {
  for (const ordinal::SchemeInfo& info : ordinal::position_modifiers())
    CHECK(test::mentions(test::make_error("rope;with=log"), {std::string(info.name)}));
  CHECK(test::mentions(test::error_of([] { ordinal::check_position_spec("rope;with=log"); }), {"no modifier 'log'"}));
  for (const char* spec : {"rope;with=", "rope;with", "rope;with=logn:", "rope;with=logn:length", ";with=logn",
                           "with=logn", "rope;with=logn;", "rope;with=logn;with=logn:length=x"}) {
    CAPTURE(spec);
    CHECK_FALSE(test::make_error(spec).empty());
  }
}

TEST_CASE("modifiers: every prefix of a long spec is a scheme or an Error") {
  const std::string spec = "rope;with=rerope:window=3;with=logn:length=4;layers=1:alibi;with=sinks:first=2,window=3";
  for (size_t length = 0; length <= spec.size(); ++length) {
    try {
      test::make(spec.substr(0, length));
    } catch (const ordinal::Error&) {
    }
  }
  CHECK(test::spec_of(spec) == spec);
}

}  // namespace
