// findings_test.cpp: what is said of a comparison, on made-up results where it can be known what is true.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "made_up_comparison.h"
#include "study/compare/compare.h"
#include "support.h"

using namespace ordinal;
using test::made_up_comparison, test::MadeUpScheme;

namespace {

constexpr double kEnds = std::numeric_limits<double>::quiet_NaN();

const MadeUpScheme kRope{"rope", Question::own, Standing::jointly, 3.40, 3.42};
const MadeUpScheme kAlibi{"alibi", Question::joint, Standing::jointly, 3.45, 3.46};
const MadeUpScheme kNone{"none", Question::joint, Standing::jointly, 3.60, 4.10};
const MadeUpScheme kLearned{"learned", Question::joint, Standing::jointly, 3.48, kEnds};
const MadeUpScheme kOnlyRope{"rope", Question::own, Standing::trained, 3.40, 4.90};

// The findings of a kind, those of single schemes left out unless the kind is theirs.
std::vector<Finding> of_kind(const Compared& result, const std::string& kind) {
  std::vector<Finding> found;
  for (Finding& one : findings_of(result))
    if (one.kind == kind) found.push_back(std::move(one));
  return found;
}

Finding only(const Compared& result, const std::string& kind) {
  const std::vector<Finding> found = of_kind(result, kind);
  REQUIRE_MESSAGE(found.size() == 1, kind);
  return found.front();
}

bool says(const Finding& finding, const std::string& part) {
  const bool found = finding.text.find(part) != std::string::npos;
  if (!found) MESSAGE(finding.text);
  return found;
}

Finding of_scheme(const Compared& result, const std::string& position, int64_t length = 256) {
  for (Finding& one : findings_of(result))
    if (one.kind == "scheme" && one.position == position && one.length == length) return one;
  FAIL("nothing is said of " << position);
  return {};
}

}  // namespace

TEST_CASE("findings: a best and a worst are named where their intervals leave out zero") {
  const Compared result = made_up_comparison({kRope, kAlibi, kNone});
  const Finding best = only(result, "best");
  CHECK(best.position == "rope");
  CHECK(best.against == "alibi");
  CHECK(*best.delta == doctest::Approx(-0.05));
  CHECK(*best.high < 0);
  CHECK(says(best, "Trained under 3 schemes at once, these weights read best under rope"));
  CHECK(says(best, "0.050 nats [0.040, 0.060] a token ahead of alibi"));
  const Finding worst = only(result, "worst");
  CHECK(worst.position == "none");
  CHECK(says(worst, "0.200 nats [0.190, 0.210] a token behind rope"));
}

TEST_CASE("findings: what cannot be told apart has no best and no worst") {
  const Compared result = made_up_comparison({kRope, kAlibi, kNone}, 0.3);
  const Finding best = only(result, "best");
  CHECK(says(best, "rope, alibi and none read best at 256 tokens"));
  CHECK(says(best, "cannot be told apart here"));
  CHECK(*best.low < 0);
  CHECK(*best.high > 0);
  CHECK(of_kind(result, "worst").empty());
  // Two in front, one behind: a worst, and no best.
  const Compared two = made_up_comparison({kRope, kAlibi, kNone}, 0.1);
  CHECK(says(only(two, "best"), "rope and alibi read best"));
  CHECK(only(two, "worst").position == "none");
}

TEST_CASE("findings: rows that are the same to the bit are one scheme, and are not ranked") {
  const MadeUpScheme wrap{"learned:beyond=wrap", Question::extension, Standing::exact, 3.40, 3.9};
  const MadeUpScheme clamp{"learned:beyond=clamp", Question::extension, Standing::exact, 3.40, 3.8};
  MadeUpScheme learned = kOnlyRope;
  learned.position = "learned";
  const Compared result = made_up_comparison({learned, wrap, clamp});
  CHECK(of_kind(result, "best").empty());
  CHECK(of_kind(result, "worst").empty());
  CHECK(says(only(result, "own"), "Under learned, which they were trained with"));
  CHECK(says(of_scheme(result, "learned:beyond=wrap"), "gives the same as learned at 256 tokens, to the bit"));
  CHECK(*of_scheme(result, "learned:beyond=wrap").delta == 0);
  CHECK(only(result, "reach").position == "learned:beyond=clamp");
}

TEST_CASE("findings: a swap that beats the file's own scheme means that the file states it wrongly") {
  const MadeUpScheme half{"rope:pairing=half", Question::swap, Standing::untrained, 3.02, 3.1};
  const MadeUpScheme sines{"sinusoidal", Question::swap, Standing::untrained, 5.8, 6.0};
  const Compared result = made_up_comparison({kOnlyRope, sines, half});
  const Finding first = findings_of(result).front();
  CHECK(first.kind == "misstated");
  CHECK(first.position == "rope:pairing=half");
  CHECK(first.against == "rope");
  CHECK(*first.delta == doctest::Approx(-0.38));
  CHECK(says(first, "reads 0.380 nats [0.370, 0.390] a token better than rope"));
  CHECK(says(first, "`ordinal diagnose`"));
  for (const Finding& one : findings_of(result)) CHECK(one.text.find("-0.380") == std::string::npos);
  CHECK(of_kind(result, "own").empty());  // which they were trained with is what is in doubt
  // Not where chance would do, for a part taken away, or for another scheme that they were trained under.
  CHECK(of_kind(made_up_comparison({kOnlyRope, half}, 0.5), "misstated").empty());
  const MadeUpScheme taken{"rope;layers=1:none", Question::ablation, Standing::untrained, 3.2, 3.2};
  CHECK(of_kind(made_up_comparison({kOnlyRope, taken}), "misstated").empty());
  CHECK(of_kind(made_up_comparison({kAlibi, kRope}), "misstated").empty());
}

TEST_CASE("findings: past the trained length the best of all that ran, and what it costs against staying inside") {
  const MadeUpScheme linear{"rope:scaling=linear,factor=4", Question::extension, Standing::untrained, 3.7, 3.9};
  const MadeUpScheme yarn{"rope:scaling=yarn,factor=4", Question::extension, Standing::untrained, 3.5, 3.30};
  const MadeUpScheme sines{"sinusoidal", Question::swap, Standing::untrained, 5.8, 6.0};
  const Compared result = made_up_comparison({kOnlyRope, sines, linear, yarn});
  const Finding reach = only(result, "reach");
  CHECK(reach.position == "rope:scaling=yarn,factor=4");
  CHECK(reach.against == "rope");
  CHECK(reach.length == 1024);
  CHECK(*reach.delta == doctest::Approx(-1.6));
  CHECK(says(reach, "At 1,024 tokens, 4 times the trained length, rope:scaling=yarn,factor=4 reads best of all"));
  CHECK(says(reach, "gains 1.600 nats [1.590, 1.610] a token against rope"));
  CHECK_FALSE(reach.detail);
  const Finding inside = only(result, "inside");
  CHECK(*inside.delta == doctest::Approx(0.1));
  CHECK(says(inside, "rope on the last 256 tokens"));
  CHECK(says(inside, "costs 0.100 nats [0.090, 0.110] a token"));
  CHECK(says(of_scheme(result, "rope:scaling=linear,factor=4", 1024), "stretched and untrained, loses 1.000 nats"));
}

TEST_CASE("findings: where the own scheme ends, staying inside is the measure") {
  MadeUpScheme learned = kOnlyRope;
  learned.position = "learned", learned.past = kEnds;
  const MadeUpScheme resample{"learned:beyond=resample", Question::extension, Standing::exact, 3.40, 3.5};
  const Compared result = made_up_comparison({learned, resample});
  const Finding reach = only(result, "reach");
  CHECK(reach.position == "learned:beyond=resample");
  CHECK(says(reach, "against learned on the last 256 tokens"));
  CHECK(*reach.delta == doctest::Approx(0.3));
  CHECK(of_kind(result, "inside").empty());  // it would be the same once more
  bool ends = false;
  for (const Finding& one : of_kind(result, "length")) ends = ends || says(one, "learned cannot go to 1,024 tokens");
  CHECK(ends);
}

TEST_CASE("findings: weights worse than token frequencies are the first and only thing said") {
  MadeUpScheme random = kOnlyRope, other = kNone;
  random.inside = 8.3, other.inside = 8.1;
  const std::vector<Finding> found = findings_of(made_up_comparison({random, other}));
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == "worthless");
  CHECK(says(found.front(), "worse than the text's own token frequencies"));
  // Frequencies that were counted on the text itself flatter themselves: within that, nothing is said of it.
  random.inside = other.inside = 6.6;
  CHECK(of_kind(made_up_comparison({random, other}), "worthless").empty());
}

TEST_CASE("findings: by length, on the same tokens and with an interval, or as not told") {
  const Compared result = made_up_comparison({kRope, kAlibi, kNone, kLearned});
  const std::vector<Finding> found = of_kind(result, "length");
  REQUIRE(found.size() == 4);
  CHECK(found[0].position == "alibi");  // 0.01 more, which 0.01 does not tell
  CHECK(says(found[0], "keeps its loss, as far as can be told here"));
  CHECK(says(found[1], "none loses 0.500 nats [0.490, 0.510] a token"));
  CHECK(found[1].against == "none");
  CHECK(says(found[2], "learned cannot go to 1,024 tokens at all"));
  CHECK(found[3].detail);  // rope, neither steadiest nor worst
}

TEST_CASE("findings: order with an interval or not at all, and why a model without positions notices it") {
  Compared result = made_up_comparison({kRope, kAlibi, kNone});
  result.schemes[0].order = Estimate{.mean = 0.5};  // of one window
  CHECK(of_kind(result, "order").empty());
  result.schemes[0].order = Estimate{.mean = 0.5, .std_error = 0.05, .low = 0.4, .high = 0.6, .clusters = 12};
  result.schemes[2].order = Estimate{.mean = 0.2, .std_error = 0.05, .low = 0.1, .high = 0.3, .clusters = 12};
  const std::vector<Finding> found = of_kind(result, "order");
  REQUIRE(found.size() == 2);
  CHECK(says(found[0], "rope loses 0.500 nats [0.400, 0.600] a token"));
  CHECK(found[0].text.find("notices order") == std::string::npos);
  CHECK(says(found[1], "A model without positions notices order"));
}

TEST_CASE("findings: the words follow the question, and no verdict falls on a swap") {
  const MadeUpScheme sines{"sinusoidal", Question::swap, Standing::untrained, 5.8, 6.0};
  const MadeUpScheme near{"alibi", Question::swap, Standing::untrained, 4.1, 4.2};
  const MadeUpScheme first{"rope;layers=0:none", Question::ablation, Standing::untrained, 3.9, 5.0};
  const MadeUpScheme second{"rope;layers=1:none", Question::ablation, Standing::untrained, 3.405, 5.1};
  const MadeUpScheme lacks{"t5_bias", Question::swap, Standing::refused, kEnds, kEnds};
  const Compared result = made_up_comparison({kOnlyRope, sines, near, first, second, lacks});
  const Finding nearest = only(result, "nearest");
  CHECK(nearest.position == "alibi");
  CHECK(says(nearest, "Of the 2 schemes that these weights never saw, alibi costs least, 0.700 nats"));
  CHECK(says(nearest, "no verdict"));
  CHECK(says(of_scheme(result, "sinusoidal"), "on weights that never saw it, loses 2.400 nats"));
  CHECK(says(of_scheme(result, "sinusoidal"), "no verdict on it"));
  CHECK(says(of_scheme(result, "rope;layers=0:none"), "with positions taken away there, loses 0.500 nats"));
  CHECK(says(of_scheme(result, "rope;layers=1:none"), "cannot be told apart here from rope"));
  CHECK(says(of_scheme(result, "t5_bias"), "does not run: it lacks a tensor"));
  const std::vector<Finding> taken = of_kind(result, "ablation");
  REQUIRE(taken.size() == 2);
  CHECK(says(taken[0], "costs most with rope;layers=0:none, 0.500 nats"));
  CHECK(taken[1].position == "rope;layers=1:none");
}

TEST_CASE("findings: the first, which is the page's title, answers what was asked") {
  const auto title = [](const std::vector<MadeUpScheme>& schemes) {
    const Finding first = findings_of(made_up_comparison(schemes)).front();
    CHECK(!first.detail);
    return first;
  };
  const MadeUpScheme sines{"sinusoidal", Question::swap, Standing::untrained, 5.8, 6.0};
  const MadeUpScheme none{"none", Question::swap, Standing::untrained, 4.1, 4.2};
  const MadeUpScheme yarn{"rope:scaling=yarn,factor=4", Question::extension, Standing::untrained, 3.45, 3.5};
  const MadeUpScheme taken{"rope;layers=0:none", Question::ablation, Standing::untrained, 3.9, 5};
  const MadeUpScheme other{"rope;layers=1:none", Question::ablation, Standing::untrained, 3.5, 5};
  // One swap, several, an extension, an ablation, a joint model.
  const Finding one = title({kOnlyRope, sines});
  CHECK(says(one, "sinusoidal, on weights that never saw it, loses 2.400 nats"));
  CHECK(says(one, "no verdict on it"));
  CHECK(says(title({kOnlyRope, sines, none}), "Of the 2 schemes that these weights never saw, none costs least"));
  CHECK(says(title({kOnlyRope, yarn}), "rope:scaling=yarn,factor=4 reads best of all that ran"));
  CHECK(says(title({kOnlyRope, taken, other}), "Taking positions away costs most with rope;layers=0:none"));
  // Where nothing is told no place costs most.
  const Finding nothing = findings_of(made_up_comparison({kOnlyRope, taken, other}, 0.7)).front();
  CHECK(says(nothing,
             "Positions taken from one place at a time, 2 places in all, cost nothing that can be told here; "
             "most with rope;layers=0:none (0.500 nats [-0.200, 1.200] a token) at 256 tokens."));
  CHECK(says(title({kRope, kAlibi, kNone}), "Trained under 3 schemes at once, these weights read best under rope"));
  CHECK(says(title({kOnlyRope}), "Under rope, which they were trained with"));
  Compared random = made_up_comparison({kOnlyRope, sines});
  random.unigram_nll = 3;
  CHECK(says(findings_of(random).front(), "worse than the text's own token frequencies"));
}

TEST_CASE("findings: every scheme but the reference has one, as numbers; single schemes come last") {
  const MadeUpScheme sines{"sinusoidal", Question::swap, Standing::untrained, 5.8, 6.0};
  const Compared result = made_up_comparison({kRope, kAlibi, kNone, kLearned, sines});
  const std::vector<Finding> found = findings_of(result);
  std::set<std::string> with_numbers;
  bool details = false;
  for (const Finding& one : found) {
    CHECK_FALSE(one.text.empty());
    CHECK(one.text.ends_with("."));
    CHECK(one.text.find("nan") == std::string::npos);
    CHECK_FALSE((details && !one.detail));
    details = one.detail;
    if (one.kind == "scheme" && one.delta && one.low && one.high) with_numbers.insert(one.position);
  }
  CHECK(with_numbers == std::set<std::string>{"alibi", "learned", "none", "sinusoidal"});
  CHECK(findings_of(Compared{}).empty());
}

TEST_CASE("findings: recall beside chance, or that there is none") {
  Compared result = made_up_comparison({kRope, kAlibi});
  result.recall_chance = 0.04;
  RecallRow row{.position = "alibi", .task = "copy", .length = 256};
  row.accuracy = 0.03, row.tokens = 512, row.low = 0.02, row.high = 0.05;
  result.recall = {row};
  CHECK(says(only(result, "recall"), "Nothing is recalled from the context alone"));
  result.recall[0].accuracy = 0.9, result.recall[0].low = 0.88, result.recall[0].high = 0.92;
  CHECK(says(only(result, "recall"), "Recall is best with alibi: 90.0 % [88.0 %, 92.0 %] of 512"));
}
