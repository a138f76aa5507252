// spec_test.cpp: specs as text, lists of them, the list of schemes, and what is known of a scheme that was made.
#include <set>

#include "scheme_probe.h"

namespace {

using ordinal::split_position_list;
using test::make;
using Specs = std::vector<std::string>;

TEST_CASE("position spec: a name, then key=value with commas") {
  const ordinal::PositionSpec spec = ordinal::parse_position_spec("rope:theta=500000,pairing=half");
  CHECK(spec.name == "rope");
  REQUIRE(spec.params.size() == 2);
  CHECK(spec.params[0] == std::pair<std::string, std::string>("theta", "500000"));
  CHECK(spec.params[1] == std::pair<std::string, std::string>("pairing", "half"));
  CHECK(ordinal::parse_position_spec("none").params.empty());
}

TEST_CASE("position spec: text of another form is refused, and shown") {
  for (const char* text : {"", ":", "rope:", "rope:theta", "rope:theta=", "rope:=3", "rope:theta=1,", "rope:,theta=1",
                           "ro pe", "rope;theta=1", "rope:theta=1,theta=2", "rope theta=1", "rope:th eta=1", "\xff"}) {
    CAPTURE(text);
    CHECK(test::mentions(test::error_of([&] { ordinal::parse_position_spec(text); }), {"is not a position spec"}));
  }
  CHECK(test::mentions(test::error_of([] { ordinal::parse_position_spec(std::string(100000, 'a')); }), {"too long"}));
}

TEST_CASE("position spec: every prefix of a long one is a scheme or an Error") {
  const std::string spec = "rope:theta=500000,scaling=yarn,factor=2;layers=0,1-1:alibi:max_bias=4";
  for (size_t length = 0; length <= spec.size(); ++length) {
    try {
      make(spec.substr(0, length));
    } catch (const ordinal::Error&) {
    }
  }
  CHECK(make(spec)->spec() == "rope:theta=500000,scaling=yarn,factor=2;layers=0,1:alibi:max_bias=4");
}

TEST_CASE("position spec: an unknown scheme is answered with all that exist") {
  const std::string error = test::make_error("ropee");
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes())
    CHECK(test::mentions(error, {std::string(info.name)}));
}

TEST_CASE("position spec: the canonical form is the same scheme, and canonical itself") {
  const char* specs[][2] = {
      {"rope:scaling=linear,factor=2.0,theta=1e4", "rope:scaling=linear,factor=2"},
      {"sinusoidal:first=01", "sinusoidal:first=1"},
      {"alibi:max_bias=8e0", "alibi"},
      {"rope:theta=1e6,rotary_dim=4", "rope:theta=1000000"},
      {"rope:scaling=yarn,factor=2,attention_factor=auto", "rope:scaling=yarn,factor=2"},
  };
  for (const auto& [spec, canonical] : specs) {
    CHECK(test::spec_of(spec) == canonical);
    CHECK(test::spec_of(canonical) == canonical);
  }
}

TEST_CASE("position list: a piece key=value goes on with the spec before it") {
  CHECK(split_position_list("rope:theta=10000,factor=2,alibi") == Specs{"rope:theta=10000,factor=2", "alibi"});
  CHECK(split_position_list("native,sinusoidal,rope,alibi,none") ==
        Specs{"native", "sinusoidal", "rope", "alibi", "none"});
  CHECK(split_position_list("none") == Specs{"none"});
  CHECK(split_position_list(" rope:theta=1e6 , alibi ") == Specs{"rope:theta=1e6", "alibi"});
  CHECK(split_position_list("alibi,rope:scaling=yarn,factor=4,ramp=paper,learned:beyond=clamp") ==
        Specs{"alibi", "rope:scaling=yarn,factor=4,ramp=paper", "learned:beyond=clamp"});
}

TEST_CASE("position list: a piece that begins with a digit is a layer of the spec before it") {
  CHECK(split_position_list("rope;layers=3,7,11:none,alibi") == Specs{"rope;layers=3,7,11:none", "alibi"});
  CHECK(split_position_list("rope:theta=1e6,factor=2;layers=0-2,5:alibi:max_bias=4,slopes=naive,none") ==
        Specs{"rope:theta=1e6,factor=2;layers=0-2,5:alibi:max_bias=4,slopes=naive", "none"});
}

TEST_CASE("position list: an empty piece, or one with no spec before it, is refused") {
  for (const char* text : {"", ",", "rope,", ",rope", "rope,,alibi", "theta=3", "theta=3,rope", "3,rope", " "}) {
    CAPTURE(text);
    CHECK(test::mentions(test::error_of([&] { split_position_list(text); }), {"is not a list of position specs"}));
  }
}

TEST_CASE("schemes: every one in the list has a kind, a source and a summary, and no name is there twice") {
  std::set<std::string_view> names;
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) {
    CAPTURE(std::string(info.name));
    CHECK(names.insert(info.name).second);
    CHECK((info.kind == "absolute" || info.kind == "relative" || info.kind == "anchored" || info.kind == "lab"));
    CHECK(!info.acts_on.empty());
    CHECK(!info.source.empty());
    CHECK(!info.summary.empty());
  }
  for (const char* name : {"none", "learned", "hierarchical", "sinusoidal", "rope", "alibi", "t5_bias", "relative_bias",
                           "shaw", "xl", "xpos", "kerple", "sandwich", "fire", "cope", "index", "normalized"})
    CHECK(names.contains(name));
}

TEST_CASE("schemes: all can be described without a model's tensors") {
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) {
    CAPTURE(std::string(info.name));
    const ordinal::SchemeFacts facts = ordinal::describe_position_scheme(info.name, test::small_shape());
    CHECK(facts.spec == info.name);
    CHECK(facts.kind == info.kind);
    for (const ordinal::SchemeParam& param : facts.params) {
      CHECK(param.value == param.otherwise);
      CHECK(!param.allowed.empty());
    }
  }
}

TEST_CASE("schemes: every scaling of rope can be described, and says which factor it needs") {
  const auto keys = [](const std::string& spec) {
    Specs names;
    for (const auto& param : ordinal::describe_position_scheme(spec, test::small_shape()).params)
      names.push_back(param.key + (param.value.empty() ? "!" : ""));
    return names;
  };
  CHECK(keys("rope") == Specs{"theta", "pairing", "rotary_dim", "fraction", "scaling"});
  CHECK(keys("rope:scaling=linear") == Specs{"theta", "pairing", "rotary_dim", "fraction", "scaling", "factor!"});
  CHECK(keys("rope:scaling=longrope") == Specs{"theta", "pairing", "rotary_dim", "fraction", "scaling",
                                               "original_length", "factor", "length", "attention_factor"});
  CHECK(ordinal::rope_scalings().size() == 8);
  for (const ordinal::SchemeInfo& info : ordinal::rope_scalings())
    CHECK(keys("rope:scaling=" + std::string(info.name)).size() >= 4);
  CHECK(test::mentions(
      test::error_of([] { ordinal::describe_position_scheme("rope:scaling=linear,ramp=code", test::small_shape()); }),
      {"no parameter 'ramp'"}));
}

TEST_CASE("schemes: the facts of one that was made name every value in effect") {
  const ordinal::SchemeFacts facts = make("rope:pairing=interleaved,scaling=yarn,factor=4")->facts();
  const auto value = [&](std::string_view key) {
    for (const ordinal::SchemeParam& param : facts.params)
      if (param.key == key) return param.value;
    return std::string("absent");
  };
  CHECK(value("theta") == "10000");
  CHECK(value("pairing") == "interleaved");
  CHECK(value("rotary_dim") == "4");
  CHECK(value("original_length") == "16");
  CHECK(value("attention_factor") == "auto");
  CHECK(facts.kind == "relative");
}

}  // namespace
