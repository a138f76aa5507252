// curves_test.cpp: what is drawn of a scheme agrees with published numbers; what is drawn of a text, with the model.
#include "study/pictures/curves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "format/model_writer.h"
#include "ordinal/sampler.h"
#include "position/scheme_probe.h"
#include "reference/random_model.h"
#include "study/pictures/components.h"
#include "study/pictures/observed.h"
#include "study/pictures/pictures.h"

using namespace ordinal;

namespace {

AttentionShape shape_of(int64_t heads, int64_t head_dim, int64_t d_model = 64) {
  return {.n_layers = 1,
          .d_model = d_model,
          .n_heads = heads,
          .n_kv_heads = heads,
          .head_dim = head_dim,
          .trained_length = 1024,
          .length = 1024};
}

void check_close(double found, double expected, double tolerance) {
  CAPTURE(found);
  CAPTURE(expected);
  CHECK(std::abs(found - expected) <= tolerance);
}

std::vector<double> sinusoid_similarity(int64_t d, int64_t positions) {
  return similarity_by_distance(embedding_rows(*test::make("sinusoidal", shape_of(1, 64, d)), d, positions));
}

// A random model that is small, with a learned table of 40 rows.
std::shared_ptr<const Model> small_model() {
  test::RandomModel model;
  model.config = test::small_config();
  model.config.max_seq_len = 40;
  model.position = "learned";
  model.position_rows = 40;
  return Model::bind(write_model_in_memory(test::random_model(model), "small"));
}

}  // namespace

TEST_CASE("curves: a sinusoid's rows are the golden ones") {
  const Grid rows = embedding_rows(*test::make("sinusoidal", shape_of(1, 64, 4)), 4, 4);
  const std::vector<double> golden = {0,           1,
                                      0,           1,  //
                                      0.841470985, 0.540302306,
                                      0.009999833, 0.999950000,  //
                                      0.909297427, -0.416146837,
                                      0.019998667, 0.999800007,  //
                                      0.141120008, -0.989992497,
                                      0.029995500, 0.999550034};
  REQUIRE(rows.values.size() == golden.size());
  for (size_t i = 0; i < golden.size(); ++i) check_close(rows.values[i], golden[i], 1e-7);
}

TEST_CASE("curves: similarity by distance, and where it first rises") {
  const std::vector<double> s = sinusoid_similarity(512, 1024);
  for (const auto& [k, golden] : {std::pair{1, .973055070},
                                  {10, .678866113},
                                  {100, .437305503},
                                  {500, .262629202},
                                  {1000, .175670331},
                                  {1016, .225736302}})
    check_close(s[static_cast<size_t>(k)], golden, 2e-7);
  CHECK(rises(s).front() == 44);
  CHECK(rises(sinusoid_similarity(64, 32)).front() == 6);
  CHECK(rises(std::vector<double>{3, 2, 2, 1}).empty());
}

TEST_CASE("curves: rope's score of ones is the sinusoid's similarity") {
  const std::vector<double> s = sinusoid_similarity(64, 200);
  for (const char* spec : {"rope", "rope:pairing=interleaved"}) {
    const auto score = score_by_distance_of_ones(*test::make(spec, shape_of(2, 64)), shape_of(2, 64), 0, 200);
    for (size_t k = 0; k < s.size(); ++k) check_close(score[k], s[k], 2e-6);
  }
}

TEST_CASE("curves: rope's pairs and their frequencies, under scalings too") {
  const AttentionShape shape = shape_of(2, 64);
  const auto half = turning_pairs(*test::make("rope", shape), shape, 0);
  REQUIRE(half.size() == 32);
  CHECK(half[3].first == 3);
  CHECK(half[3].second == 35);
  const auto frequency_is = [](const TurningPair& pair, double golden) {
    check_close(pair.frequency / golden, 1, 1e-6);
  };
  frequency_is(half[1], 0.749894209332456);
  frequency_is(half[8], 0.1);
  frequency_is(half[31], 1.33352143216332e-4);
  const auto interleaved = turning_pairs(*test::make("rope:pairing=interleaved,rotary_dim=16", shape), shape, 0);
  REQUIRE(interleaved.size() == 8);
  CHECK(interleaved[3].first == 6);
  CHECK(interleaved[3].second == 7);
  const auto yarn = turning_pairs(*test::make("rope:scaling=yarn,factor=4", shape), shape, 0);
  frequency_is(yarn[6], .16756864);
  frequency_is(yarn[12], .01885204);
  frequency_is(yarn[31], 1.33352143216332e-4 / 4);
  check_close(yarn[12].magnitude, 1.138629, 1e-6);
}

TEST_CASE("curves: alibi's ninth slope of twelve heads, and its weights on equal scores") {
  const AttentionShape twelve = shape_of(12, 64), eight = shape_of(8, 64);
  const auto bias = bias_by_distance(*test::make("alibi", twelve), twelve, 0, 8, 3);
  CHECK(bias.size() == 3);
  CHECK(bias[0] == 0);
  check_close(bias[0] - bias[1], .707106781, 1e-7);
  check_close(bias[2], 2 * bias[1], 1e-7);
  const Grid weights = weights_of_equal_scores(*test::make("alibi", eight), eight, 0, 0, 3);
  check_close(weights[2][0], .186323723, 1e-7);
  check_close(weights[2][1], .307195886, 1e-7);
  check_close(weights[2][2], .506480391, 1e-7);
  CHECK(weights[0][1] == 0);
}

TEST_CASE("curves: without positions query t sees t + 1 keys alike") {
  const Grid weights = weights_of_equal_scores(*test::make("none"), test::small_shape(), 1, 1, 5);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 5; ++j)
      check_close(weights[i][static_cast<size_t>(j)], j <= i ? 1.0 / static_cast<double>(i + 1) : 0, 1e-12);
}

TEST_CASE("curves: t5's buckets begin at the golden distances") {
  const auto buckets = table_row_by_distance("t5_bias", shape_of(12, 64), 32, 200);
  const std::vector<int64_t> first = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (size_t n = 0; n < 16; ++n) CHECK(buckets[n] == static_cast<double>(n));
  for (size_t b = 0; b < first.size(); ++b) {
    CHECK(buckets[static_cast<size_t>(first[b])] == static_cast<double>(16 + b));
    CHECK(buckets[static_cast<size_t>(first[b] - 1)] == static_cast<double>(15 + b));
  }
  CHECK(buckets.back() == 31);
}

TEST_CASE("curves: the lengths of shaw's vectors, by distance and not by row") {
  const test::Tables tables = test::Tables()
                                  .add("blk.0.attn_rel_k.weight", {3, 2}, {3, 4, 0, 2, 9, 9})
                                  .add_random("blk.0.attn_rel_v.weight", {3, 2});
  const AttentionShape shape = shape_of(1, 2);
  const auto norms = vector_norms_by_distance(*test::make("shaw:clip=1", shape, tables), shape, 0, 0, 3);
  check_close(norms[0], 2, 1e-6);
  check_close(norms[1], 5, 1e-6);
  check_close(norms[2], 5, 1e-6);
}

TEST_CASE("curves: xl's bias is v's share alone, whatever u is") {
  // W = 1, so a vector is the sinusoid of its distance: length sqrt(d / 2); v = its first channel, sin n.
  test::Tables tables;
  tables.add("attn_xl_r.weight", {4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})
      .add("attn_xl_u.weight", {1, 4}, {5, -3, 2, 7})
      .add("attn_xl_v.weight", {1, 4}, {1, 0, 0, 0});
  const AttentionShape shape = shape_of(1, 4, 4);
  const auto scheme = test::make("xl", shape, tables);
  const auto bias = bias_by_distance(*scheme, shape, 0, 0, 6);
  const auto norms = vector_norms_by_distance(*scheme, shape, 0, 0, 6);
  for (size_t n = 0; n < 6; ++n) {
    check_close(bias[n], std::sin(static_cast<double>(n)) / 2, 1e-5);  // scale 1 / sqrt(4)
    check_close(norms[n], std::numbers::sqrt2, 1e-5);
  }
}

TEST_CASE("curves: words and positions of 768 channels are nearly at right angles") {
  const Grid rows = embedding_rows(*test::make("sinusoidal", shape_of(1, 64, 768)), 768, 64);
  const std::vector<double> cosines = cosines_with_words(rows, 400, 3);
  double squares = 0;
  for (const double cosine : cosines) squares += cosine * cosine;
  const double deviation = std::sqrt(squares / static_cast<double>(cosines.size()));
  CHECK(deviation > 0.0340);  // theory .036084; the positions hang together, so 400 words scatter
  CHECK(deviation < 0.0382);
}

TEST_CASE("curves: a table that ends says so") {
  const test::Tables tables = test::Tables().add_random("position_embd.weight", {16, 8});
  const auto scheme = test::make("learned", test::small_shape(), tables);
  CHECK(embedding_rows(*scheme, 8, 16).rows == 16);
  const std::string text = test::error_of([&] { embedding_rows(*scheme, 8, 17); });
  CHECK(text.find("--positions 16") != std::string::npos);
  CHECK(text.find("position_embd.weight has 16 rows") != std::string::npos);
}

TEST_CASE("components: the singular values and places of a table that is made of three waves") {
  constexpr int64_t kRows = 64;
  Grid table(kRows, 5);
  for (int64_t r = 0; r < kRows; ++r) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(r) / kRows;
    table[r][0] = 3 * std::cos(angle) + 10;  // the mean counts for nothing
    table[r][1] = 2 * std::sin(angle);
    table[r][3] = 0.5 * std::cos(2 * angle);
  }
  const Components found = principal_components(table, 4);
  REQUIRE(found.singular_values.size() == 4);
  const double root = std::sqrt(kRows / 2.0);
  for (const auto& [c, size] : {std::pair{0, 3.0}, {1, 2.0}, {2, 0.5}, {3, 0.0}}) {
    check_close(found.singular_values[static_cast<size_t>(c)], size * root, 1e-9);
    check_close(found.shares[static_cast<size_t>(c)], size * size / 13.25, 1e-9);
  }
  for (int64_t r = 0; r < kRows; ++r) {
    check_close(found.scores[r][0], table[r][0] - 10, 1e-8);
    check_close(found.scores[r][1], table[r][1], 1e-8);
  }
  CHECK(principal_components(Grid(3, 2), 10).shares == std::vector<double>{0, 0});
}

TEST_CASE("observed: attention maps are the same for any chunk and thread count, and rows sum to 1") {
  const auto model = small_model();
  const auto ids = test::random_ids(4, 21, model->config().vocab_size);
  const auto maps = attention_maps(model, {.n_threads = 1, .chunk = 256}, ids, 1);
  const auto again = attention_maps(model, {.n_threads = 3, .chunk = 4}, ids, 1);
  REQUIRE(maps.size() == static_cast<size_t>(model->config().n_heads));
  for (size_t head = 0; head < maps.size(); ++head) {
    CHECK(maps[head].values == again[head].values);
    for (int64_t i = 0; i < 21; ++i) {
      double sum = 0;
      for (size_t j = 0; j < 21; ++j) {
        sum += maps[head][i][j];
        if (static_cast<int64_t>(j) > i) CHECK(maps[head][i][j] == 0);
      }
      check_close(sum, 1, 1e-5);
    }
  }
  CHECK(maps[0].values != attention_maps(model, {}, ids, 0)[0].values);
  CHECK(test::error_of([&] { attention_maps(model, {}, ids, 2); }).find("layers 0 to 1") != std::string::npos);
}

TEST_CASE("observed: shares of distances are weights added up") {
  Grid map(4, 4);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j <= i; ++j) map[i][static_cast<size_t>(j)] = 1.0 / static_cast<double>(i + 1);
  const DistanceShares found = shares_by_distance(map);
  CHECK(found.first == std::vector<int64_t>{0, 1, 2});
  check_close(found.shares[0], (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4, 1e-12);
  check_close(found.shares[1], (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4, 1e-12);
  check_close(found.shares[2], (1.0 / 3 + 2 * 1.0 / 4) / 4, 1e-12);  // distances 2 and 3
  check_close(found.mean_distance, (0 + 0.5 + 1 + 1.5) / 4, 1e-12);
}

TEST_CASE("observed: loss by position is -log p, window by window") {
  const auto model = small_model();
  const auto ids = test::random_ids(5, 25, model->config().vocab_size);  // two windows of 12, one id over
  const auto nothing = [](int64_t, int64_t) {};
  const LossCurve curve = loss_by_position(model, {}, ids, 12, 100, nothing);
  CHECK(curve.windows == 2);
  REQUIRE(curve.mean.size() == 11);
  for (size_t p = 0; p < 11; ++p) {
    CHECK(curve.position[p] == static_cast<double>(p));
    double sum = 0;
    for (const size_t begin : {0, 12}) {
      Session session(model);
      const auto logits = session.evaluate(std::span(ids).subspan(begin, p + 1));
      sum -= log_probability(logits, ids[begin + p + 1]);
    }
    check_close(curve.mean[p], sum / 2, 1e-9);
    CHECK(curve.low[p] <= curve.mean[p]);
  }
  const LossCurve coarse = loss_by_position(model, {}, ids, 12, 4, nothing);  // rows 0-2, 3-5, 6-8, 9-10
  CHECK(coarse.position == std::vector<double>{1, 4, 7, 9.5});
  check_close(coarse.mean[3], (curve.mean[9] + curve.mean[10]) / 2, 1e-9);
  CHECK(test::error_of([&] { loss_by_position(model, {}, ids, 26, 4, nothing); }).find("too short") !=
        std::string::npos);
}
