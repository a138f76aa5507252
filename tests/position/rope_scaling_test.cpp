// rope_scaling_test.cpp: every scaling of rope against transformers, its paper, and what it must leave alone.
#include <cmath>
#include <numbers>

#include "reference/random_model.h"
#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::turned;

ordinal::AttentionShape trained_at(int64_t trained, int64_t length, int64_t head_dim = 64) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.head_dim = head_dim;
  shape.d_model = 2 * head_dim;
  shape.trained_length = trained;
  shape.length = length;
  return shape;
}

// The angle of every pair at position p, and what cosines and sines are multiplied by: seen by turning (1, 0) pairs.
struct Turn {
  std::vector<double> cosines, sines;
};
Turn turn_of(const test::Scheme& scheme, int64_t p, size_t head_dim, size_t pairs) {
  std::vector<float> x(head_dim, 0.0f);
  std::fill_n(x.begin(), pairs, 1.0f);
  const std::vector<float> y = turned(scheme, p, x);
  return {{y.begin(), y.begin() + static_cast<ptrdiff_t>(pairs)},
          {y.begin() + static_cast<ptrdiff_t>(pairs), y.begin() + static_cast<ptrdiff_t>(2 * pairs)}};
}

// radians per position, from the turn at position 1: angles there are at most 1.
std::vector<double> frequencies_of(const std::string& spec, const ordinal::AttentionShape& shape) {
  const Turn turn =
      turn_of(make(spec, shape), 1, static_cast<size_t>(shape.head_dim), static_cast<size_t>(shape.head_dim) / 2);
  std::vector<double> frequencies;
  for (size_t i = 0; i < turn.sines.size(); ++i) frequencies.push_back(std::atan2(turn.sines[i], turn.cosines[i]));
  return frequencies;
}

TEST_CASE("rope scaling: every pair turns as in transformers and rotary-embedding-torch, near and far") {
  size_t compared = 0;
  for (const json& golden : test::position_goldens()["rope_frequencies"]) {
    const std::string spec = golden["spec"];
    CAPTURE(spec);
    test::Tables tables;
    if (golden.contains("tables"))
      for (const auto& [name, about] : golden["tables"].items())
        tables.add(name, about[0].get<std::vector<int64_t>>(), test::golden_numbers(about, 7, name));
    const test::Scheme scheme =
        make(spec, trained_at(golden["trained_length"], golden["length"], golden["head_dim"]), tables);
    const auto frequencies = golden["frequencies"].get<std::vector<double>>();
    const double magnitude = golden["magnitude"];
    for (const int64_t p : {1, 37, 1000, 20011}) {
      const Turn turn = turn_of(scheme, p, golden["head_dim"], frequencies.size());
      for (size_t i = 0; i < frequencies.size(); ++i) {
        CAPTURE(p);
        CAPTURE(i);
        const double angle = static_cast<double>(p) * frequencies[i];
        CHECK(std::abs(turn.cosines[i] - magnitude * std::cos(angle)) < 1e-6);
        CHECK(std::abs(turn.sines[i] - magnitude * std::sin(angle)) < 1e-6);
        ++compared;
      }
    }
  }
  CHECK(compared > 2000);
}

TEST_CASE("rope scaling: a factor of 1 gives the bits of plain rope") {
  const std::vector<float> x = test::Random(1).normals(64);
  const ordinal::AttentionShape shape = trained_at(1024, 1024);
  for (const char* name : {"linear", "ntk", "ntk_by_parts", "yarn", "dynamic", "llama3"}) {
    CAPTURE(name);
    const test::Scheme scheme = make("rope:scaling=" + std::string(name) + ",factor=1", shape);
    for (const int64_t p : {1, 100, 1023}) CHECK(turned(scheme, p, x) == turned(make("rope", shape), p, x));
  }
}

TEST_CASE("rope scaling: linear by 4 puts position 4 m where plain rope has m, bit for bit") {
  const std::vector<float> x = test::Random(2).normals(64);
  const ordinal::AttentionShape shape = trained_at(1024, 1024);
  for (const int64_t m : {1, 7, 250})
    CHECK(turned(make("rope:scaling=linear,factor=4", shape), 4 * m, x) == turned(make("rope", shape), m, x));
}

// A straight line between grid points is close to what interpolated positions give (Chen et al. 2023, theorem 2.1).
TEST_CASE("rope scaling: interpolated scores stay within the paper's bound of the line between their neighbours") {
  const int64_t r = 128;
  const ordinal::AttentionShape shape = trained_at(64, 64, r);
  const test::Scheme whole = make("rope", shape), half = make("rope:scaling=linear,factor=2", shape);
  test::Random random(3);
  double largest = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<float> q = random.normals(r), k = random.normals(r);
    double most = 0;
    for (size_t i = 0; i < r / 2; ++i)
      most = std::max<double>(most, std::hypot(q[i], q[i + r / 2]) * std::hypot(k[i], k[i + r / 2]));
    const auto score = [&](const test::Scheme& scheme, int64_t p) {
      const std::vector<float> turned_q = turned(scheme, p, q);
      double sum = 0;
      for (size_t c = 0; c < turned_q.size(); ++c) sum += static_cast<double>(turned_q[c]) * static_cast<double>(k[c]);
      return sum;
    };
    for (int64_t s = 0; s < 20; ++s) {
      const double line = (score(whole, s) + score(whole, s + 1)) / 2;
      largest = std::max(largest, std::abs(score(half, 2 * s + 1) - line) / (r * most / 294.73));
    }
  }
  CHECK(largest < 1);
  CHECK(largest > 0.01);
}

TEST_CASE("rope scaling: ntk keeps the first pair and turns the last as linear does") {
  const ordinal::AttentionShape shape = trained_at(1024, 1024);
  const auto ntk = frequencies_of("rope:scaling=ntk,factor=4", shape);
  const auto linear = frequencies_of("rope:scaling=linear,factor=4", shape), plain = frequencies_of("rope", shape);
  CHECK(ntk.front() == plain.front());
  CHECK(std::abs(ntk.back() - linear.back()) < 1e-11);
  CHECK(test::mentions(make("rope:scaling=ntk,factor=4", shape)->facts().remarks.front(), {"41829.3659"}));
}

TEST_CASE("rope scaling: ntk_by_parts keeps pairs 0 to 5, divides 18 to 31, and the two ramps differ between") {
  const ordinal::AttentionShape shape = trained_at(1024, 1024);
  const auto plain = frequencies_of("rope", shape);
  const auto code = frequencies_of("rope:scaling=ntk_by_parts,factor=4", shape);
  const auto paper = frequencies_of("rope:scaling=ntk_by_parts,factor=4,ramp=paper", shape);
  for (size_t i = 0; i <= 5; ++i) {
    CHECK(code[i] == plain[i]);
    CHECK(paper[i] == plain[i]);
  }
  for (size_t i = 18; i < 32; ++i) CHECK(std::abs(code[i] - plain[i] / 4) < 1e-9);
  const double expected[][3] = {
      {6, 0.16756864, 0.16484126}, {12, 0.01885204, 0.01108356}, {17, 0.00230737, 0.00191504}};
  for (const auto& [pair, by_code, by_paper] : expected) {
    CHECK(std::abs(code[static_cast<size_t>(pair)] - by_code) < 2e-8);
    CHECK(std::abs(paper[static_cast<size_t>(pair)] - by_paper) < 2e-8);
  }
}

TEST_CASE("rope scaling: yarn multiplies scores by the square of its attention factor, turned channels only") {
  const ordinal::AttentionShape shape = trained_at(1024, 1024);
  const double expected[][2] = {{4, 1.296477}, {8, 1.459129}, {16, 1.631390}, {32, 1.813260}};
  for (const auto& [factor, square] : expected) {
    const test::Scheme yarn =
        make("rope:rotary_dim=32,scaling=yarn,factor=" + std::to_string(static_cast<int>(factor)), shape);
    std::vector<float> front(64, 0.0f), back(64, 0.0f);
    front[3] = back[40] = 1;
    double norm = 0;
    for (const float value : turned(yarn, 17, front)) norm += static_cast<double>(value) * static_cast<double>(value);
    CHECK(std::abs(norm - square) < 2e-6);
    CHECK(turned(yarn, 17, back) == back);
  }
}

TEST_CASE("rope scaling: dynamic is plain rope, bit for bit, up to the trained length") {
  const std::vector<float> x = test::Random(4).normals(64);
  const test::Scheme plain = make("rope", trained_at(1024, 1024));
  for (const char* spec :
       {"rope:scaling=dynamic", "rope:scaling=dynamic,factor=8,length=1024", "rope:scaling=dynamic,length=5"})
    CHECK(turned(make(spec, trained_at(1024, 1024)), 999, x) == turned(plain, 999, x));
  CHECK(turned(make("rope:scaling=dynamic", trained_at(1024, 1025)), 999, x) != turned(plain, 999, x));
}

TEST_CASE("rope scaling: dynamic takes the session's length, and has the published bases") {
  const auto base = [](const std::string& spec, int64_t length) {
    return make(spec, trained_at(1024, length))->facts().remarks.front();
  };
  CHECK(test::mentions(base("rope:scaling=dynamic", 2048), {"20452.2287"}));
  CHECK(test::mentions(base("rope:scaling=dynamic", 4096), {"41829.3659"}));
  CHECK(test::mentions(base("rope:scaling=dynamic,factor=2", 2048), {"31082.2366"}));
  CHECK(test::mentions(base("rope:scaling=dynamic,factor=2,length=4096", 64), {"74534.8303"}));
  CHECK(make("rope:scaling=dynamic", trained_at(1024, 2048))->spec() == "rope:scaling=dynamic");
  CHECK(make("rope:scaling=dynamic,length=2048", trained_at(1024, 2048))->spec() == "rope:scaling=dynamic,length=2048");
}

TEST_CASE("rope scaling: llama3 keeps pairs 0 to 14, blends three and divides the rest") {
  const ordinal::AttentionShape shape = trained_at(131072, 1024);
  const auto plain = frequencies_of("rope:theta=500000", shape);
  const auto scaled = frequencies_of("rope:theta=500000,scaling=llama3,factor=32,original_length=8192", shape);
  for (size_t i = 0; i < 15; ++i) CHECK(scaled[i] == plain[i]);
  CHECK(std::abs(scaled[15] - 1.290547928e-3) < 1e-10);
  CHECK(std::abs(scaled[16] - 4.295567966e-4) < 5e-11);
  CHECK(std::abs(scaled[17] - 9.708287803e-5) < 1e-11);
  for (size_t i = 18; i < 32; ++i) CHECK(std::abs(scaled[i] / plain[i] - 1.0 / 32) < 1e-7);
}

TEST_CASE("rope scaling: llama3 and a ready-made rope_freqs.weight are never both applied") {
  const test::Tables tables = test::Tables().add("rope_freqs.weight", {32}, std::vector<float>(32, 2.0f));
  CHECK(test::mentions(test::make_error("rope:scaling=llama3", trained_at(64, 64), tables), {"rope_freqs.weight"}));
}

TEST_CASE("rope scaling: longrope needs both of its tables, of one number a pair") {
  const ordinal::AttentionShape shape = trained_at(64, 64, 8);
  const auto missing = [&](const test::Tables& tables) {
    return test::make_error("rope:scaling=longrope", shape, tables);
  };
  CHECK(test::mentions(missing({}), {"rope_factors_short.weight"}));
  CHECK(test::mentions(missing(test::Tables().add("rope_factors_short.weight", {4}, {1, 1, 1, 1})),
                       {"no rope_factors_long.weight"}));
  test::Tables wrong;
  wrong.add("rope_factors_short.weight", {4}, {1, 1, 1, 1}).add("rope_factors_long.weight", {3}, {1, 2, 3});
  CHECK(test::mentions(missing(wrong), {"rope_factors_long.weight [4]"}));
}

TEST_CASE("rope scaling: longrope stretched 32 times from 4096 sharpens by 1.190238071") {
  test::Tables tables;
  tables.add("rope_factors_short.weight", {4}, {1, 1, 1, 1}).add("rope_factors_long.weight", {4}, {2, 2, 2, 2});
  const Turn turn =
      turn_of(make("rope:scaling=longrope,original_length=4096", trained_at(131072, 64, 8), tables), 0, 8, 4);
  for (const double cosine : turn.cosines) CHECK(std::abs(cosine - 1.190238071) < 1e-7);
  const Turn within = turn_of(make("rope:scaling=longrope", trained_at(4096, 64, 8), tables), 0, 8, 4);
  for (const double cosine : within.cosines) CHECK(cosine == 1);
}

TEST_CASE("rope scaling: a key the scaling does not use is refused, with the list of those it does") {
  const ordinal::AttentionShape shape = trained_at(64, 64);
  const char* refused[][2] = {
      {"rope:factor=2", "theta, pairing, rotary_dim, fraction, scaling"},
      {"rope:scaling=linear,factor=2,original_length=64", "theta, pairing, rotary_dim, fraction, scaling, factor"},
      {"rope:scaling=ntk_by_parts,factor=2,mscale=1", "original_length, beta_fast, beta_slow, ramp"},
      {"rope:scaling=yarn,factor=2,length=9", "ramp, truncate, attention_factor, mscale, mscale_all_dim"},
      {"rope:scaling=dynamic,ramp=code", "factor, original_length, length"},
      {"rope:scaling=llama3,beta_fast=3", "low_freq_factor, high_freq_factor"},
  };
  for (const auto& [spec, keys] : refused) CHECK(test::mentions(test::make_error(spec, shape), {keys}));
  CHECK(
      test::mentions(test::make_error("rope:scaling=su", shape), {"linear, ntk, ntk_by_parts, yarn, dynamic, llama3"}));
}

TEST_CASE("rope scaling: a factor must be stated where nothing stands for it, and is never below 1") {
  const ordinal::AttentionShape shape = trained_at(64, 64);
  for (const char* name : {"linear", "ntk", "ntk_by_parts", "yarn"}) {
    CAPTURE(name);
    const std::string spec = "rope:scaling=" + std::string(name);
    CHECK(test::mentions(test::make_error(spec, shape), {"needs factor"}));
    for (const char* factor : {"0", "0.25", "-4", "nan"})
      CHECK(test::mentions(test::make_error(spec + ",factor=" + factor, shape), {"1 or more"}));
  }
}

TEST_CASE("rope scaling: refuses settings that contradict each other") {
  const ordinal::AttentionShape shape = trained_at(64, 64);
  CHECK(test::mentions(test::make_error("rope:scaling=yarn,factor=2,beta_fast=1", shape), {"beta_slow"}));
  CHECK(test::mentions(test::make_error("rope:scaling=yarn,factor=2,mscale=1", shape), {"mscale_all_dim"}));
  CHECK(test::mentions(test::make_error("rope:scaling=llama3,high_freq_factor=1", shape), {"low_freq_factor"}));
  CHECK(test::mentions(test::make_error("rope:rotary_dim=2,scaling=ntk,factor=2", shape), {"rotary_dim 4 or more"}));
}

TEST_CASE("rope scaling: the context it makes is echoed in one unit") {
  const auto remarks = [](const std::string& spec) {
    const test::Scheme scheme = make(spec, trained_at(2048, 2048));
    std::string all;
    for (const std::string& remark : scheme->facts().remarks) all += remark + "\n";
    return all;
  };
  CHECK(test::mentions(remarks("rope:scaling=linear,factor=8"), {"context 2048 -> 16384"}));
  CHECK(test::mentions(remarks("rope:scaling=yarn,factor=4,original_length=1024"), {"context 1024 -> 4096"}));
  CHECK(test::mentions(remarks("rope:scaling=yarn,factor=4"), {"attention factor 1.13862"}));
  CHECK(test::mentions(remarks("rope:scaling=yarn,factor=4,original_length=1024"), {"pairs up to 5 keep"}));
}

}  // namespace
