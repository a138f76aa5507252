// rope_test.cpp: rotations against other engines in both pairings, and the properties that make them useful.
#include <cmath>
#include <cstring>

#include "reference/random_model.h"
#include "scheme_probe.h"

namespace {

using nlohmann::json;
using test::make;
using test::turned;

ordinal::AttentionShape heads_of(int64_t head_dim, int64_t length = 64) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.head_dim = head_dim;
  shape.d_model = 2 * head_dim;
  shape.length = length;
  return shape;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

TEST_CASE("rope: 1 to 8 at position 3 in both pairings") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  test::check_near(
      turned(make("rope:pairing=interleaved", heads_of(8)), 3, x),
      {-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 6.975968536, 8.020963969}, 2e-6);
  test::check_near(
      turned(make("rope", heads_of(8)), 3, x),
      {-1.695592537, 0.137551738, 2.788681600, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982}, 2e-6);
}

TEST_CASE("rope: agrees with GPT-NeoX, GPT-J and rotary-embedding-torch on heads turned whole and in part") {
  for (const json& golden : test::position_goldens()["rope_vectors"]) {
    const std::string spec = golden["spec"];
    CAPTURE(spec);
    const int64_t head_dim = golden["head_dim"];
    const auto x = test::uniform_numbers(golden["seed"], golden["x"], 2 * head_dim, 0.0, 2.0);
    std::vector<double> expected;
    for (const json& head : golden["y"])
      for (const json& value : head) expected.push_back(value);
    std::vector<float> key = x;
    test::check_near(turned(make(spec, heads_of(head_dim)), golden["position"], x, &key), expected, 1e-6);
    test::check_near(key, expected, 1e-6);
  }
}

TEST_CASE("rope: agrees with the handed-over rotation over split halves") {
  const std::string path = test::shared("checkpoints/positions/rope_half_split.json");
  if (path.empty()) return;
  const json golden = json::parse(test::read_file(path));
  for (size_t p = 0; p < golden["x"].size(); ++p) {
    const auto x = golden["x"][p].get<std::vector<float>>();
    test::check_near(turned(make("rope", heads_of(8)), static_cast<int64_t>(p), x), golden["y"][p], 2e-6);
    test::check_near(turned(make("rope:theta=500000", heads_of(8)), static_cast<int64_t>(p), x),
                     golden["y_theta500000"][p], 2e-6);
  }
}

// The numbers of a .npy file of little-endian float32, as numpy writes it.
std::vector<float> read_npy(const std::string& path) {
  const std::string bytes = test::read_file(path);
  const size_t header = 10 + (static_cast<unsigned char>(bytes[8]) | static_cast<size_t>(bytes[9]) << 8);
  REQUIRE(bytes.substr(0, header).find("'<f4'") != std::string::npos);
  std::vector<float> values((bytes.size() - header) / 4);
  std::memcpy(values.data(), bytes.data() + header, values.size() * 4);
  return values;
}

TEST_CASE("rope: agrees with the handed-over rotation of neighbours, 4 x 12 heads of 64") {
  const std::string in = test::shared("checkpoints/positions/rope_interleaved_in.npy");
  const std::string out = test::shared("checkpoints/positions/rope_interleaved_out.npy");
  if (in.empty() || out.empty()) return;
  const std::vector<float> x = read_npy(in), y = read_npy(out);
  REQUIRE(x.size() == 4 * 12 * 64);
  REQUIRE(y.size() == x.size());
  const test::Scheme scheme = make("rope:pairing=interleaved", heads_of(64));
  for (size_t head = 0; head < 48; ++head) {
    const auto from = x.begin() + static_cast<ptrdiff_t>(head * 64), expected = y.begin() + (from - x.begin());
    test::check_near(turned(scheme, static_cast<int64_t>(head % 12), {from, from + 64}),
                     std::vector<double>(expected, expected + 64), 2e-6);
  }
}

TEST_CASE("rope: position 0 changes no bit") {
  const std::vector<float> x = test::Random(3).normals(64);
  for (const char* spec : {"rope", "rope:pairing=interleaved", "rope:rotary_dim=16,theta=500"})
    CHECK(turned(make(spec, heads_of(32)), 0, x) == x);
}

TEST_CASE("rope: channels from rotary_dim on pass through, in every head") {
  const std::vector<float> x = test::Random(4).normals(2 * 12);
  for (const char* spec : {"rope:rotary_dim=4", "rope:rotary_dim=4,pairing=interleaved"}) {
    const std::vector<float> y = turned(make(spec, heads_of(12)), 9, x);
    for (size_t head = 0; head < 24; head += 12) {
      for (size_t c = 0; c < 4; ++c) CHECK(y[head + c] != x[head + c]);
      for (size_t c = 4; c < 12; ++c) CHECK(y[head + c] == x[head + c]);
    }
  }
}

TEST_CASE("rope: keys of fewer heads turn as queries do") {
  const std::vector<float> x = test::Random(5).normals(8);
  std::vector<float> query(x), key(x);
  query.insert(query.end(), x.begin(), x.end());
  const std::vector<float> q = turned(make("rope", heads_of(8)), 5, query, &key);
  CHECK(std::vector<float>(q.begin(), q.begin() + 8) == key);
  CHECK(std::vector<float>(q.begin() + 8, q.end()) == key);
}

TEST_CASE("rope: a score depends on the distance alone, under every scaling") {
  const std::vector<float> q = test::Random(6).normals(64), k = test::Random(7).normals(64);
  for (const char* spec :
       {"rope", "rope:pairing=interleaved", "rope:scaling=linear,factor=3", "rope:scaling=ntk,factor=4",
        "rope:scaling=yarn,factor=4", "rope:scaling=dynamic,length=64", "rope:scaling=llama3"}) {
    CAPTURE(spec);
    const test::Scheme scheme = make(spec, heads_of(64));
    const double near = dot(turned(scheme, 5, q), turned(scheme, 2, k));
    const double far = dot(turned(scheme, 1005, q), turned(scheme, 1002, k));
    CHECK(std::abs(near - far) < 1e-5 * std::sqrt(dot(q, q) * dot(k, k)));
    CHECK(std::abs(near - dot(turned(scheme, 3, q), turned(scheme, 2, k))) > 1e-3);  // and it does depend on it
  }
}

TEST_CASE("rope: norms are kept") {
  const std::vector<float> x = test::Random(8).normals(64);
  for (const int64_t p : {1, 77, 100000}) {
    const std::vector<float> y = turned(make("rope", heads_of(64)), p, x);
    CHECK(std::abs(dot(y, y) - dot(x, x)) < 1e-4);
  }
}

TEST_CASE("rope: reordering the channels turns one pairing into the other, bit for bit") {
  const std::vector<float> x = test::Random(9).normals(64);
  const auto evens_first = [](const std::vector<float>& from) {
    std::vector<float> to;
    for (size_t i = 0; i < from.size(); i += 2) to.push_back(from[i]);
    for (size_t i = 1; i < from.size(); i += 2) to.push_back(from[i]);
    return to;
  };
  CHECK(evens_first(turned(make("rope:pairing=interleaved", heads_of(64)), 37, x)) ==
        turned(make("rope", heads_of(64)), 37, evens_first(x)));
}

TEST_CASE("rope: positions past the session's table have the same bits as those within a larger one") {
  const std::vector<float> x = test::Random(10).normals(2 * 256);
  for (const char* spec : {"rope", "rope:pairing=interleaved,rotary_dim=250", "rope:scaling=yarn,factor=4"})
    for (const int64_t p : {1, 63, 64, 500, 4095, 4096})
      CHECK(turned(make(spec, heads_of(256, 4)), p, x) == turned(make(spec, heads_of(256, 1 << 14)), p, x));
}

// Floats cannot hold angles that far out: a cosine would be off by 1e-3.
TEST_CASE("rope: angles far out are those of double precision") {
  const test::Scheme scheme = make("rope", heads_of(512));
  std::vector<float> x(512, 0.0f);
  std::fill_n(x.begin(), 256, 1.0f);
  const std::vector<float> y = turned(scheme, 19999, x);
  for (size_t i = 0; i < 256; ++i) {
    const long double angle = 19999.0L * std::pow(10000.0L, -2.0L * static_cast<long double>(i) / 512.0L);
    CHECK(std::abs(static_cast<double>(y[i]) - static_cast<double>(std::cos(angle))) < 1e-6);
    CHECK(std::abs(static_cast<double>(y[256 + i]) - static_cast<double>(std::sin(angle))) < 1e-6);
  }
}

TEST_CASE("rope: rope_freqs.weight divides each pair's angle by its number") {
  const test::Tables tables = test::Tables().add("rope_freqs.weight", {4}, {1, 2, 4, 8});
  const std::vector<float> x{1, 1, 1, 1, 0, 0, 0, 0};
  const test::Scheme scheme = make("rope", heads_of(8), tables);
  const std::vector<float> y = turned(scheme, 40, x);
  const double frequency[] = {1, 0.05, 0.0025, 0.000125};
  for (size_t i = 0; i < 4; ++i) CHECK(std::abs(static_cast<double>(y[4 + i]) - std::sin(40 * frequency[i])) < 1e-6);
  REQUIRE(scheme->facts().tensors.size() == 1);
  CHECK(scheme->facts().tensors[0].name == "rope_freqs.weight");
  CHECK(scheme->facts().tensors[0].is_optional);
  CHECK(test::mentions(test::make_error("rope:rotary_dim=4", heads_of(8), tables), {"rope_freqs.weight [2]"}));
  CHECK(test::mentions(
      test::make_error("rope", heads_of(8), test::Tables().add("rope_freqs.weight", {4}, {1, 2, 0, 8})), {"above 0"}));
}

TEST_CASE("rope: fraction turns the first pairs alone, by the angles of all") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  test::check_near(turned(make("rope:pairing=interleaved,fraction=0.75", heads_of(8)), 3, x),
                   {-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 7, 8}, 2e-6);
  test::check_near(turned(make("rope:fraction=0.75", heads_of(8)), 3, x),
                   {-1.695592537, 0.137551738, 2.788681600, 4, -4.808842475, 6.323059348, 7.086836737, 8}, 2e-6);
  // Another scheme than as many channels of rotary_dim, whose exponents and partners are others.
  const std::vector<float> part = turned(make("rope:rotary_dim=6,pairing=interleaved", heads_of(8)), 3, x);
  test::check_near({part[2], part[3]}, {2.415769693, 4.377677100}, 2e-6);
}

TEST_CASE("rope: fraction=1 is rope, 0 is none, and what is between rounds down") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(test::spec_of("rope:fraction=1", heads_of(8)) == "rope");
  CHECK(turned(make("rope:fraction=0", heads_of(8)), 3, x) == x);
  CHECK(turned(make("rope:fraction=0.6", heads_of(8)), 3, x) == turned(make("rope:fraction=0.5", heads_of(8)), 3, x));
  // Gemma 4's full layers: 64 pairs of 256, the slowest at .033376247 a position.
  std::vector<float> wide(512, 0.0f);
  wide[63] = wide[64] = 1;
  const std::vector<float> there = turned(make("rope:theta=1e6,fraction=0.25", heads_of(512)), 1, wide);
  CHECK(std::abs(std::atan2(static_cast<double>(there[63 + 256]), static_cast<double>(there[63])) - .033376247) < 1e-7);
  CHECK(there[64] == 1);
  CHECK(make("rope:fraction=0.25", heads_of(8))->facts().remarks.back() == "1 of 4 pairs turn");
  for (const char* fraction : {"1.5", "-0.1", "x"})
    CHECK(test::mentions(test::make_error("rope:fraction=" + std::string(fraction), heads_of(8)), {"fraction"}));
}

TEST_CASE("rope: a scaling stretches the pairs that turn, and only these") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  for (const char* scaling : {"linear", "ntk", "yarn", "llama3"}) {
    const std::string spec = std::string(",scaling=") + scaling + ",factor=4";
    const std::vector<float> whole = turned(make("rope:theta=100" + spec, heads_of(8)), 3, x);
    const std::vector<float> half = turned(make("rope:theta=100,fraction=0.5" + spec, heads_of(8)), 3, x);
    for (const size_t c : {0, 1, 4, 5}) CHECK(half[c] == whole[c]);
    CHECK(half[2] / half[6] == doctest::Approx(3.0f / 7));
  }
}

TEST_CASE("rope: the spec keeps its order and leaves defaults out") {
  CHECK(test::spec_of("rope:scaling=none,rotary_dim=8,pairing=half,theta=1e4", heads_of(8)) == "rope");
  CHECK(test::spec_of("rope:pairing=interleaved,theta=5e5", heads_of(8)) == "rope:theta=500000,pairing=interleaved");
  CHECK(test::spec_of("rope:factor=4,scaling=linear,rotary_dim=4", heads_of(8)) ==
        "rope:rotary_dim=4,scaling=linear,factor=4");
}

TEST_CASE("rope: refuses an odd or too wide rotary_dim, a theta of 1, another pairing, an unknown key") {
  CHECK(test::mentions(test::make_error("rope:rotary_dim=5", heads_of(8)), {"even rotary_dim"}));
  CHECK(test::mentions(test::make_error("rope", heads_of(7)), {"rope:rotary_dim=6"}));
  CHECK(test::mentions(test::make_error("rope:rotary_dim=10", heads_of(8)), {"from 2 to 8"}));
  for (const char* theta : {"1", "0", "-3", "inf", "x", ""})
    CHECK(test::mentions(test::make_error("rope:theta=" + std::string(theta), heads_of(8)), {"theta"}));
  CHECK(test::mentions(test::make_error("rope:pairing=neox", heads_of(8)), {"half, interleaved"}));
  CHECK(test::mentions(test::make_error("rope:base=500000", heads_of(8)),
                       {"theta, pairing, rotary_dim, fraction, scaling"}));
}

}  // namespace
