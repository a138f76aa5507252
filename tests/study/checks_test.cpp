// checks_test.cpp: every check of `positions check` passes on what is right and fails on a planted fault.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>

#include "study/check/check_model.h"
#include "study/check/checks.h"
#include "study/check/checks_engine.h"
#include "study/check/checks_scores.h"
#include "study/check/checks_sinusoid.h"
#include "study/check/toy_network.h"
#include "study/places.h"
#include "support.h"

using namespace ordinal;

namespace {

bool all_pass(const Checks& checks) { return std::ranges::all_of(checks, &Check::passed); }
bool one_fails(const Checks& checks) { return !all_pass(checks); }

using Shared = std::shared_ptr<const PositionScheme>;

const AttentionShape kShape{.n_layers = 1,
                            .d_model = 64,
                            .n_heads = 1,
                            .n_kv_heads = 1,
                            .head_dim = 64,
                            .trained_length = 1024,
                            .length = 2048};

Shared made(const std::string& spec, int64_t d_model = 64, int64_t n_heads = 1) {
  const AttentionShape shape{.n_layers = 1,
                             .d_model = d_model,
                             .n_heads = n_heads,
                             .n_kv_heads = n_heads,
                             .head_dim = 64,
                             .trained_length = 1024,
                             .length = 2048};
  return make_position_scheme(spec, shape, {});
}

PositionRows rows_of(const std::string& spec, int64_t d_model) {
  return engine_rows(made(spec, d_model), spec, d_model);
}

// A scheme with hooks given by a test: what a wrong one does.
struct Faulty final : PositionScheme {
  std::function<void(int64_t position, std::span<float> x)> embed = {};
  std::function<void(int64_t position, std::span<float> head)> turn = {};  // of heads of 64 channels
  std::function<void(const AttentionSite&, std::span<float> scores)> score = {};

  void add_to_embedding(Positions positions, Rows x) const override {
    for (int64_t r = 0; embed && r < x.rows; ++r) embed(positions[static_cast<size_t>(r)], x[r]);
  }
  void transform_query_key(int64_t, Positions positions, Rows q, Rows k) const override {
    for (int64_t r = 0; turn && r < q.rows; ++r)
      for (const Rows& rows : {q, k})
        for (int64_t c = 0; c < rows.cols; c += 64)
          turn(positions[static_cast<size_t>(r)], rows[r].subspan(static_cast<size_t>(c), 64));
  }
  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    if (score) score(site, scores);
  }
};

Shared embedding_fault(std::function<void(int64_t position, std::span<float> x)> embed) {
  auto scheme = std::make_shared<Faulty>();
  scheme->embed = std::move(embed);
  return scheme;
}

// The sinusoid with the sine's sign and the exponent's factor as given: 1 and 2 are right.
Shared wrong_sinusoid(double sign, double factor) {
  return embedding_fault([=](int64_t p, std::span<float> x) {
    for (size_t i = 0; i < x.size() / 2; ++i) {
      const double exponent = factor * static_cast<double>(i) / static_cast<double>(x.size());
      const double angle = static_cast<double>(p) * std::pow(10000.0, -exponent);
      x[2 * i] += static_cast<float>(sign * std::sin(angle));
      x[2 * i + 1] += static_cast<float>(std::cos(angle));
    }
  });
}

// Rope in halves with an angle of its own.
Shared wrong_rope(std::function<double(int64_t position, size_t pair)> angle) {
  auto scheme = std::make_shared<Faulty>();
  scheme->turn = [angle = std::move(angle)](int64_t position, std::span<float> x) {
    for (size_t i = 0; i < 32; ++i) {
      const double turned = angle(position, i), a = static_cast<double>(x[i]), b = static_cast<double>(x[i + 32]);
      x[i] = static_cast<float>(a * std::cos(turned) - b * std::sin(turned));
      x[i + 32] = static_cast<float>(a * std::sin(turned) + b * std::cos(turned));
    }
  };
  return scheme;
}
double frequency(size_t pair, double factor = 2) { return std::pow(10000.0, -factor * static_cast<double>(pair) / 64); }

Shared score_fault(std::function<void(const AttentionSite&, std::span<float> scores)> score) {
  auto scheme = std::make_shared<Faulty>();
  scheme->score = std::move(score);
  return scheme;
}

// A penalty of 2^-(head + 1), or another, for every position back.
Shared penalty(std::function<double(int64_t head, double distance)> at) {
  return score_fault([at = std::move(at)](const AttentionSite& site, std::span<float> scores) {
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] += static_cast<float>(at(site.head, static_cast<double>(site.query_position - site.key_positions[j])));
  });
}

// The tables of a spec are in a check's model whatever layers they are for.
constexpr const char* kEverything = "learned;layers=0:t5_bias;layers=0:relative_bias;layers=0:shaw;layers=0:xl";

const std::shared_ptr<const Model>& deep() {
  static const std::shared_ptr<const Model> model = make_check_model(kEverything, 2);
  return model;
}
const std::shared_ptr<const Model>& single() {
  static const std::shared_ptr<const Model> model = make_check_model(kEverything, 1);
  return model;
}

Subject subject(const std::shared_ptr<const Model>& model, const std::string& spec, bool relative = true,
                bool turns = false) {
  return {.model = model, .scheme = model->make_scheme(spec, 256), .name = spec, .relative = relative, .turns = turns};
}
Subject with_fault(const std::shared_ptr<const Model>& model, Shared scheme, bool relative = true) {
  return {.model = model, .scheme = std::move(scheme), .name = "faulty", .relative = relative, .turns = false};
}

}  // namespace

TEST_CASE("checks: a number passes within its bounds, and NaN nowhere") {
  const double nan = std::nan("");
  CHECK(check_near({}, 1.5, 1, 0.5).passed());
  CHECK_FALSE(check_near({}, 1.5001, 1, 0.5).passed());
  CHECK_FALSE(check_near({}, 1e-300, 0, 0).passed());
  CHECK(check_above({}, 1.0000001, 1).passed());
  CHECK_FALSE(check_above({}, 1, 1).passed());
  CHECK(check_below({}, 0.9999999, 1).passed());
  CHECK_FALSE(check_below({}, 1, 1).passed());
  CHECK(check_between({}, 2, 1, 2).passed());
  CHECK_FALSE(check_between({}, 0.999, 1, 2).passed());
  CHECK(check_shown({}, -7).passed());
  for (const Check& check : {check_near({}, nan, 0, 1), check_above({}, nan, 0), check_below({}, nan, 0),
                             check_between({}, nan, 0, 1), check_shown({}, nan)})
    CHECK_FALSE(check.passed());
}

TEST_CASE("checks: C1 fails for a sine of the other sign and for another exponent") {
  const Sinusoid paper{.d_model = 64};
  CHECK(check_rotation(formula_rows(paper, ""), paper).passed());
  CHECK(check_rotation(rows_of("sinusoidal", 64), paper).passed());
  CHECK(check_rotation(engine_rows(wrong_sinusoid(1, 2), "", 64), paper).passed());
  CHECK_FALSE(check_rotation(engine_rows(wrong_sinusoid(-1, 2), "", 64), paper).passed());
  CHECK_FALSE(check_rotation(engine_rows(wrong_sinusoid(1, 1), "", 64), paper).passed());
  CHECK_FALSE(check_rotation(engine_rows(wrong_sinusoid(1, -2), "", 64), paper).passed());
  CHECK_FALSE(check_rotation(rows_of("sinusoidal:layout=concat", 64), paper).passed());
}

TEST_CASE("checks: C2 fails for rows whose products depend on the place, and for another exponent") {
  for (const int64_t d : {312, 512}) {
    const Sinusoid paper{.d_model = d};
    CHECK(all_pass(check_dot_products(formula_rows(paper, ""), paper)));
    CHECK(all_pass(check_dot_products(rows_of("sinusoidal", d), paper)));
    CHECK(one_fails(check_dot_products(engine_rows(wrong_sinusoid(1, 4), "", d), paper)));
  }
  CHECK(one_fails(check_dot_products(rows_of("index", 64), {.d_model = 64})));
  CHECK(one_fails(check_dot_products(rows_of("sinusoidal:scale=1.001", 64), {.d_model = 64})));
}

TEST_CASE("checks: C9 fails for one position repeated and for a narrower model") {
  CHECK(all_pass(check_orthogonality(rows_of("sinusoidal", 768), 500, false)));
  CHECK(one_fails(check_orthogonality(rows_of("sinusoidal", 64), 500, false)));
  const Shared constant = embedding_fault([](int64_t, std::span<float> x) { x[0] += 1; });
  CHECK(one_fails(check_orthogonality(engine_rows(constant, "", 768), 500, true)));
}

TEST_CASE("checks: C10 fails for positions as far apart as words") {
  const Sinusoid paper{.d_model = 768};
  CHECK(all_pass(check_no_collision(rows_of("sinusoidal", 768), paper, 200)));
  CHECK(one_fails(check_no_collision(rows_of("sinusoidal:scale=2", 768), paper, 200)));
}

TEST_CASE("checks: C10 finds sums that are the same, on a model's own tokens") {
  CHECK(all_pass(check_collisions(subject(single(), "learned"))));
  CHECK(one_fails(check_collisions(with_fault(single(), embedding_fault([](int64_t, std::span<float>) {})))));
  CHECK(one_fails(check_collisions(with_fault(
      single(), embedding_fault([](int64_t p, std::span<float> x) { x[0] += static_cast<float>(p % 100); })))));
}

TEST_CASE("checks: C11 fails for rows that grow less alike steadily") {
  for (const int64_t d : {64, 512}) {
    const Sinusoid paper{.d_model = d};
    CHECK(all_pass(check_similarity(formula_rows(paper, ""), paper)));
    CHECK(all_pass(check_similarity(rows_of("sinusoidal", d), paper)));
    CHECK(one_fails(check_similarity(engine_rows(wrong_sinusoid(1, 1), "", d), paper)));
  }
  const Shared steady = embedding_fault([](int64_t p, std::span<float> x) {
    x[0] += static_cast<float>(std::sin(1e-4 * static_cast<double>(p)));
    x[1] += static_cast<float>(std::cos(1e-4 * static_cast<double>(p)));
  });
  CHECK(one_fails(check_similarity(engine_rows(steady, "", 64), {.d_model = 64, .base = 500})));
  CHECK(one_fails(check_similarity(engine_rows(steady, "", 64), {.d_model = 64})));
}

TEST_CASE("checks: C13 fails for entries past 1, rows alike and rows of another length") {
  for (const int64_t d : {64, 768}) {
    const Sinusoid paper{.d_model = d};
    CHECK(all_pass(check_bounded(formula_rows(paper, ""), 128, &paper)));
    CHECK(all_pass(check_bounded(rows_of("sinusoidal", d), 128, &paper)));
    CHECK(one_fails(check_bounded(rows_of("sinusoidal:scale=1.5", d), 128, &paper)));
    const Shared wraps = embedding_fault([d](int64_t p, std::span<float> x) {
      const std::vector<double> row = Sinusoid{.d_model = d}.row(p % 50);
      for (size_t c = 0; c < x.size(); ++c) x[c] += static_cast<float>(row[c]);
    });
    CHECK(one_fails(check_bounded(engine_rows(wraps, "", d), 128, &paper)));
    const Shared sines = embedding_fault([d](int64_t p, std::span<float> x) {  // the sine on every channel
      for (size_t c = 0; c < x.size(); ++c)
        x[c] += static_cast<float>(
            std::sin(static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(c) / static_cast<double>(d))));
    });
    CHECK(one_fails(check_bounded(engine_rows(sines, "", d), 128, &paper)));
  }
  CHECK(all_pass(check_bounded(rows_of("index", 64), 128, nullptr)));  // shown only
}

TEST_CASE("checks: C3 fails for angles that are not in proportion, the other direction and the other pairing") {
  const HeadTurn formula = formula_turn(rotation_of("rope", kShape, {}), "rope", 64);
  const auto engine = [](const Shared& scheme) { return engine_turn(scheme, "", 64); };
  CHECK(check_distance_only(formula).passed());
  CHECK(check_distance_only(engine(made("rope"))).passed());
  CHECK(check_turn(engine(made("rope")), formula).passed());

  const auto turned = [&](const std::function<double(double p, size_t pair)>& angle) {
    return engine(wrong_rope([angle](int64_t p, size_t pair) { return angle(static_cast<double>(p), pair); }));
  };
  CHECK(check_turn(turned([](double p, size_t i) { return p * frequency(i); }), formula).passed());
  CHECK_FALSE(check_distance_only(turned([](double p, size_t i) { return p * p * frequency(i); })).passed());
  CHECK_FALSE(check_distance_only(turned([](double p, size_t i) { return std::sqrt(p) * frequency(i); })).passed());
  CHECK_FALSE(check_turn(turned([](double p, size_t i) { return -p * frequency(i); }), formula).passed());
  CHECK_FALSE(check_turn(turned([](double p, size_t i) { return (p + 1) * frequency(i); }), formula).passed());
  CHECK_FALSE(check_turn(engine(made("rope:pairing=interleaved")), formula).passed());
  CHECK_FALSE(check_turn(engine(made("rope:theta=10001")), formula).passed());
  HeadTurn growing = formula;
  growing.turn = [&](const std::vector<double>& head, int64_t p) { return formula.turn(head, p > 900 ? p * 2 : p); };
  CHECK_FALSE(check_distance_only(growing).passed());
}

TEST_CASE("checks: C12 fails for another exponent and for stretched angles") {
  const Rotation plain = rotation_of("rope", kShape, {});
  CHECK(check_score_curve(formula_turn(plain, "", 64), plain).passed());
  CHECK(check_score_curve(engine_turn(made("rope"), "", 64), plain).passed());
  CHECK(check_score_curve(engine_turn(made("rope:pairing=interleaved"), "", 64), plain).passed());
  CHECK_FALSE(check_score_curve(engine_turn(made("rope:scaling=linear,factor=2"), "", 64), plain).passed());
  const Shared doubled = wrong_rope([](int64_t p, size_t i) { return static_cast<double>(p) * frequency(i, 4); });
  CHECK_FALSE(check_score_curve(engine_turn(doubled, "", 64), plain).passed());
}

TEST_CASE("checks: C15 fails for a flipped sign, a shifted exponent, naive slopes, and distances by place") {
  const std::vector<double> eight = alibi_slopes(8, 8, false), twelve = alibi_slopes(12, 8, false);
  CHECK(std::vector(eight.begin(), eight.begin() + 3) == std::vector{0.5, 0.25, 0.125});
  CHECK(std::abs(twelve[8] - 0.707106781) < 1e-9);
  CHECK(std::abs(twelve[11] - 0.088388348) < 1e-9);
  for (const auto& slopes : {eight, twelve}) {
    const auto heads = static_cast<int64_t>(slopes.size());
    CHECK(all_pass(check_geometric(formula_penalty(slopes, ""), slopes)));
    CHECK(all_pass(check_geometric(engine_penalty(made("alibi", 64, heads), "", heads), slopes)));
    CHECK(check_slopes(engine_penalty(made("alibi", 64, heads), "", heads), slopes).passed());
    CHECK(one_fails(check_geometric(formula_penalty(alibi_slopes(heads, 7.9, false), ""), slopes)));
  }
  CHECK_FALSE(check_slopes(engine_penalty(made("alibi:slopes=naive", 64, 12), "", 12), twelve).passed());

  const auto slope = [](int64_t head) { return std::exp2(-static_cast<double>(head + 1)); };
  const auto check = [&](const Shared& scheme) {
    Checks checks = check_geometric(engine_penalty(scheme, "", 8), eight);
    checks.push_back(check_slopes(engine_penalty(scheme, "", 8), eight));
    return checks;
  };
  CHECK(all_pass(check(penalty([&](int64_t head, double n) { return -slope(head) * n; }))));
  CHECK(one_fails(check(penalty([&](int64_t head, double n) { return slope(head) * n; }))));
  CHECK(one_fails(check(penalty([&](int64_t head, double n) { return -slope(head - 1) * n; }))));
  CHECK(one_fails(check(penalty([&](int64_t head, double n) { return -slope(head) * n * n; }))));
  CHECK(one_fails(check(score_fault([&](const AttentionSite& site, std::span<float> scores) {
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] -= static_cast<float>(slope(site.head) * static_cast<double>(scores.size() - 1 - j));
  }))));
}

TEST_CASE("checks: C4 to C7 in double fail for a mask, a turn, and too few layers") {
  CHECK(check_toy_permuted({.n_layers = 4, .causal = false}).passed());
  CHECK_FALSE(check_toy_permuted({.n_layers = 1, .causal = true}).passed());
  CHECK(check_toy_prefix({.n_layers = 1}).passed());
  CHECK(check_toy_prefix({.n_layers = 2}).passed());
  CHECK_FALSE(check_toy_prefix({.n_layers = 2, .causal = false}).passed());
  CHECK(all_pass(check_toy_counting({.n_layers = 3})));
  CHECK(one_fails(check_toy_counting({.n_layers = 3, .causal = false})));

  ToyNetwork turns;
  turns.turn = [](const std::vector<double>& head, int64_t p) {
    std::vector<double> turned = head;
    for (size_t i = 0; i < head.size(); i += 2) {
      const double angle = 0.3 * static_cast<double>(p);
      turned[i] = head[i] * std::cos(angle) - head[i + 1] * std::sin(angle);
      turned[i + 1] = head[i] * std::sin(angle) + head[i + 1] * std::cos(angle);
    }
    return turned;
  };
  CHECK(check_toy_shift(turns, "").passed());
  CHECK(one_fails(check_toy_counting(turns)));
  ToyNetwork absolute;
  absolute.turn = [](std::vector<double> head, int64_t p) {
    head[0] += 1e-3 * static_cast<double>(p);
    return head;
  };
  CHECK_FALSE(check_toy_shift(absolute, "").passed());
  turns.n_layers = absolute.n_layers = 1;
  CHECK_FALSE(check_toy_prefix(turns).passed());
  turns.causal = absolute.causal = false;
  CHECK_FALSE(check_toy_permuted(turns).passed());
  CHECK_FALSE(check_toy_permuted(absolute).passed());
}

TEST_CASE("checks: C4 tells absolute from relative, whatever is claimed") {
  for (const char* spec : {"none", "alibi", "t5_bias", "relative_bias", "shaw", "xl"}) {
    CAPTURE(spec);
    CHECK(all_pass(check_shift(subject(deep(), spec))));
    CHECK(one_fails(check_shift(subject(deep(), spec, false))));
  }
  CHECK(all_pass(check_shift(subject(deep(), "rope", true, true))));
  CHECK(one_fails(check_shift(subject(deep(), "rope", true, false))));  // not exactly 0
  for (const char* spec : {"learned", "sinusoidal", "index", "normalized"}) {
    CAPTURE(spec);
    CHECK(all_pass(check_shift(subject(deep(), spec, false))));
    CHECK(one_fails(check_shift(subject(deep(), spec))));
    CHECK(one_fails(check_shift(subject(deep(), spec, true, true))));
  }
  // A bias that looks at one of the two positions alone.
  CHECK(one_fails(check_shift(with_fault(deep(), score_fault([](const AttentionSite& site, std::span<float> scores) {
                                           scores[0] += site.key_positions[0] == 0 ? 1.0f : 0.0f;
                                         })))));
}

TEST_CASE("checks: C4 of an anchored scheme fails where something enters the embedding") {
  for (const char* spec : {"rope;with=logn:length=4", "alibi;with=sinks:first=2,window=3", "sinusoidal"}) {
    CAPTURE(spec);
    Subject anchored = subject(deep(), spec, false);
    anchored.anchored = true;
    CHECK(all_pass(check_shift(anchored)) == (std::string(spec) != "sinusoidal"));
  }
}

TEST_CASE("checks: C16 fails where a key stands farther than promised, or a query not where it is") {
  for (const char* spec : {"rope;with=rerope:window=9", "rope;with=dca:chunk=9,limit=12", "alibi;with=lambda:window=20",
                           "rope;with=sinks:first=2,window=5"}) {
    CAPTURE(spec);
    const Subject checked = subject(deep(), spec, false);
    CHECK(check_places(checked, places_of_keys).size() == 2);
    CHECK(all_pass(check_places(checked, places_of_keys)));
    const auto with_fault_at = [&](bool own, double more) {
      return check_places(checked, [=](std::string_view what, const AttentionShape& shape, int64_t query) {
        std::vector<double> places = places_of_keys(what, shape, query);
        const auto nearer = [](double a, double b) { return a < b || std::isnan(a); };
        (own ? places.back() : *std::ranges::max_element(places, nearer)) += more;
        return places;
      });
    };
    CHECK(one_fails(with_fault_at(false, 1)));
    CHECK(one_fails(with_fault_at(true, 1)));
  }
  CHECK(check_places(subject(deep(), "rope;with=logn", false), places_of_keys).empty());
}

TEST_CASE("checks: C6 to C8 fail where a scheme shows a single layer the order, or blinds many") {
  const Shared blind = score_fault([](const AttentionSite&, std::span<float> scores) {
    for (size_t j = 0; j + 1 < scores.size(); ++j) scores[j] = -1e30f;  // no key but a row's own
  });
  CHECK(check_prefix(subject(single(), "none")).passed());
  CHECK(check_prefix(subject(deep(), "none")).passed());
  CHECK_FALSE(check_prefix(subject(single(), "alibi")).passed());
  CHECK_FALSE(check_prefix(with_fault(deep(), blind)).passed());

  CHECK(all_pass(check_counting(subject(deep(), "none"))));
  CHECK(one_fails(check_counting(subject(deep(), "alibi"))));
  CHECK(one_fails(check_counting(subject(deep(), "learned"))));

  CHECK(check_word_order(subject(single(), "none"), false).passed());
  CHECK_FALSE(check_word_order(subject(single(), "none"), true).passed());
  CHECK(check_word_order(subject(single(), "rope"), true).passed());
  CHECK_FALSE(check_word_order(subject(single(), "rope"), false).passed());
  CHECK(check_word_order(subject(deep(), "none"), true).passed());
  CHECK_FALSE(check_word_order(with_fault(deep(), blind), true).passed());
}

TEST_CASE("checks: C14 fails for angles that grow with the text read so far") {
  CHECK(check_same_bits(subject(deep(), "none")).passed());
  CHECK(check_same_bits(subject(deep(), "rope")).passed());
  // A base that follows the length: keys in the cache keep an old one.
  const auto longest = std::make_shared<std::atomic<int64_t>>(0);
  const Shared growing = wrong_rope([longest](int64_t p, size_t i) {
    if (p > longest->load()) longest->store(p);
    return static_cast<double>(p) * frequency(i) / static_cast<double>(1 + longest->load());
  });
  const Check check = check_same_bits(with_fault(deep(), growing));
  CHECK_FALSE(check.passed());
  CHECK(check.label.what.find("one by one") != std::string::npos);
}

TEST_CASE("checks: all that go with a spec pass, also for tables of odd sizes and layers of their own") {
  for (const char* spec : {"none",
                           "learned:offset=2",
                           "learned:beyond=clamp",
                           "hierarchical",
                           "rope:rotary_dim=6,pairing=interleaved",
                           "rope:rotary_dim=128",
                           "rope:scaling=dynamic",
                           "rope:scaling=longrope",
                           "alibi:slopes=naive,max_bias=5",
                           "t5_bias:buckets=8,max_distance=20",
                           "relative_bias:clip=5",
                           "shaw:clip=1",
                           "xl:clamp=1",
                           "index",
                           "normalized",
                           "rope;layers=1:none;layers=2,4:shaw:clip=20",
                           "rope:fraction=0.5",
                           "xpos:center=0",
                           "kerple:kernel=power",
                           "sandwich:dim=16",
                           "fire",
                           "cope:positions=9",
                           "rope;with=rerope:window=9;with=logn",
                           "rope;with=dca:chunk=20,limit=30,top=limit",
                           "none;with=ssmax",
                           "alibi;with=sinks:first=2,window=5",
                           "sinusoidal;with=random",
                           "rope;with=self_extend;layers=1:none;with=steps:every=8"}) {
    CAPTURE(spec);
    const Checks checks = check_scheme(spec);
    CHECK(checks.size() >= 3);
    for (const Check& check : checks) {
      CAPTURE(check.label.what);
      CAPTURE(check.measured);
      CHECK(check.passed());
    }
  }
}

TEST_CASE("checks: every scheme and scaling is in the list, lab schemes are not") {
  const std::vector<std::string> specs = specs_to_check();
  for (const SchemeInfo& info : position_schemes())
    CHECK(std::ranges::count(specs, std::string(info.name)) == (info.kind == "lab" ? 0 : 1));
  for (const SchemeInfo& info : rope_scalings()) {
    const std::string spec = "rope:scaling=" + std::string(info.name);
    const auto found = std::ranges::count_if(specs, [&](const std::string& s) { return s.starts_with(spec); });
    CHECK(found >= (info.name == "none" ? 0 : 1));
  }
}

TEST_CASE("checks: a checkpoint's are those that make sense on it") {
  const auto ids_of = [](const Checks& checks) {
    std::vector<std::string> ids;
    for (const Check& check : checks)
      if (ids.empty() || ids.back() != check.label.id) ids.push_back(check.label.id);
    return ids;
  };
  using Strings = std::vector<std::string>;
  CHECK(ids_of(check_checkpoint(deep(), "learned")) == Strings{"C4", "C8", "C10", "C13", "C14"});
  CHECK(ids_of(check_checkpoint(deep(), "native")) == Strings{"C4", "C8", "C14"});
  for (const char* spec : {"native", "learned", "learned:beyond=wrap", "sinusoidal", "rope", "alibi", "index",
                           "none;layers=0:alibi", "sinusoidal;layers=0:none"}) {
    CAPTURE(spec);
    CHECK(all_pass(check_checkpoint(deep(), spec)));
    CHECK(all_pass(check_checkpoint(single(), spec)));
  }
}

TEST_CASE("checks: a spec that cannot be checked is an Error that says what can") {
  CHECK(test::mentions(test::error_of([] { check_scheme("native"); }), {"-m MODEL"}));
  CHECK(test::mentions(test::error_of([] { check_scheme("alibi;layers=0:native"); }), {"-m MODEL"}));
  CHECK(test::mentions(test::error_of([] { check_scheme("nope"); }), {"relative_bias"}));
  CHECK(test::mentions(test::error_of([] { check_scheme("rope;layers=99:none"); }), {"layers 0 to 15"}));
  CHECK(test::mentions(test::error_of([] { check_scheme("shaw:clip=100000"); }), {"16384 rows"}));
  CHECK(test::mentions(test::error_of([] { check_scheme("rope:scaling=linear"); }), {"factor"}));
}
