// scheme_probe.cpp: see scheme_probe.h.
#include "scheme_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/random_model.h"

namespace test {

using ordinal::Rows;

Tables& Tables::add(const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values,
                    ordinal::Dtype dtype, ordinal::Layout layout) {
  auto held = std::make_shared<Held>();
  const int64_t item = ordinal::dtype_info(dtype).block_items == 1 ? ordinal::dtype_info(dtype).block_bytes : 4;
  held->bytes.resize(values.size() * static_cast<size_t>(item));
  if (ordinal::dtype_info(dtype).block_items == 1) ordinal::narrow(dtype, values, held->bytes.data());
  held->view = {name, dtype, layout, std::move(shape), held->bytes.data(), static_cast<int64_t>(held->bytes.size())};
  held_[name] = std::move(held);
  return *this;
}

Tables& Tables::add_random(const std::string& name, std::vector<int64_t> shape, uint64_t seed, double center,
                           double spread) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return add(name, std::move(shape), uniform_numbers(seed, name, count, center, spread));
}

ordinal::TensorLookup Tables::lookup() const {
  return [held = held_](std::string_view name) -> const ordinal::TensorView* {
    const auto found = held.find(name);
    return found == held.end() ? nullptr : &found->second->view;
  };
}

ordinal::AttentionShape small_shape() {
  return {
      .n_layers = 2, .d_model = 8, .n_heads = 2, .n_kv_heads = 2, .head_dim = 4, .trained_length = 16, .length = 16};
}

Scheme make(const std::string& spec, const ordinal::AttentionShape& shape, const Tables& tables) {
  return ordinal::make_position_scheme(spec, shape, tables.lookup());
}

std::string spec_of(const std::string& spec, const ordinal::AttentionShape& shape, const Tables& tables) {
  return make(spec, shape, tables)->spec();
}

std::string make_error(const std::string& spec, const ordinal::AttentionShape& shape, const Tables& tables) {
  return error_of([&] { make(spec, shape, tables); });
}

std::vector<float> embedded(const Scheme& scheme, int64_t position, int64_t d_model) {
  std::vector<float> x(static_cast<size_t>(d_model), 0.0f);
  scheme->add_to_embedding({&position, 1}, Rows{x.data(), 1, d_model, d_model});
  return x;
}

std::vector<float> turned(const Scheme& scheme, int64_t position, std::vector<float> query, std::vector<float>* key,
                          int64_t layer) {
  std::vector<float> nothing;
  std::vector<float>& k = key == nullptr ? nothing : *key;
  const auto rows = [](std::vector<float>& row) {
    return Rows{row.data(), 1, static_cast<int64_t>(row.size()), static_cast<int64_t>(row.size())};
  };
  scheme->transform_query_key(layer, {&position, 1}, rows(query), rows(k));
  return query;
}

namespace {

ordinal::AttentionSite site_of(const Stand& stand) {
  return {.layer = stand.layer,
          .head = stand.head,
          .query_position = stand.position,
          .key_positions = stand.keys,
          .scale = stand.scale};
}

}  // namespace

std::vector<float> scored(const Scheme& scheme, const Stand& stand, const std::vector<float>& query,
                          std::vector<float> scores) {
  if (scores.empty()) scores.assign(stand.keys.size(), 0.0f);
  scheme->add_to_scores(site_of(stand), query, scores);
  return scores;
}

std::vector<float> mixed(const Scheme& scheme, const Stand& stand, const std::vector<float>& weights,
                         int64_t head_dim) {
  std::vector<float> out(static_cast<size_t>(head_dim), 0.0f);
  scheme->add_to_values(site_of(stand), weights, out);
  return out;
}

std::vector<double> seen_scores(const Scheme& scheme, const Stand& stand, const std::vector<float>& query,
                                const std::vector<float>& key) {
  const auto turned_in = [&](int view, int64_t position, std::vector<float> q, std::vector<float> k) {
    const auto width = [](const std::vector<float>& row) { return static_cast<int64_t>(row.size()); };
    const Rows of_q{q.data(), 1, width(q), width(q)}, of_k{k.data(), 1, width(k), width(k)};
    if (view == 0)
      scheme->transform_query_key(stand.layer, {&position, 1}, of_q, of_k);
    else
      scheme->transform_view(stand.layer, view, {&position, 1}, of_q, of_k);
    return q.empty() ? k : q;
  };
  std::array<ordinal::KeyRun, ordinal::KeyRun::kMost> runs;
  const int count = scheme->key_runs(stand.layer, stand.position, runs);
  std::vector<double> scores;
  for (const int64_t at : stand.keys) {
    int run = 0;
    while (run + 1 < count && at >= runs[static_cast<size_t>(run)].end) ++run;
    const ordinal::KeyRun& seen = runs[static_cast<size_t>(run)];
    scores.push_back(-std::numeric_limits<double>::infinity());
    if (seen.query == ordinal::KeyRun::kUnseen) continue;
    const std::vector<float> q = turned_in(seen.query, stand.position, query, {}), k = turned_in(seen.key, at, {}, key);
    scores.back() = 0;
    for (size_t c = 0; c < q.size(); ++c)
      scores.back() += static_cast<double>(stand.scale) * static_cast<double>(q[c]) * static_cast<double>(k[c]);
  }
  return scores;
}

double score_at_distance(double distance) {
  double sum = 0;
  for (int m = 0; m < 4; ++m) {
    const double a = 2 * m + 1, b = 2 * m + 2, c = 8 - 2 * m, d = 7 - 2 * m;
    const double angle = distance * std::pow(10000.0, -m / 4.0);
    sum += (a * c + b * d) * std::cos(angle) + (a * d - b * c) * std::sin(angle);
  }
  return sum / std::sqrt(8.0);
}

void check_distances(const std::string& spec, int64_t position, const std::vector<double>& distances, int64_t trained) {
  CAPTURE(spec);
  ordinal::AttentionShape shape = small_shape();
  shape.n_heads = shape.n_kv_heads = 1;
  shape.d_model = shape.head_dim = 8;
  shape.trained_length = trained;
  shape.length = 4;  // most places are past rope's table
  const std::vector<double> scores = seen_scores(
      make(spec, shape), {.position = position, .keys = first_positions(position + 1), .scale = 0x1.6a09e6p-2f},
      {1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1});
  REQUIRE(scores.size() == distances.size());
  for (size_t j = 0; j < scores.size(); ++j) {
    CAPTURE(j);
    if (distances[j] < 0)
      CHECK(std::isinf(scores[j]));
    else
      CHECK(std::abs(scores[j] - score_at_distance(distances[j])) < 2e-5);
  }
}

std::vector<double> softmax(const std::vector<float>& scores) {
  std::vector<double> weights(scores.begin(), scores.end());
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (double& weight : weights) weight /= sum;
  return weights;
}

void check_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(found[i]) - expected[i]) <= tolerance);
  }
}

const nlohmann::json& position_goldens() {
  static const nlohmann::json goldens = nlohmann::json::parse(read_file(repository("tests/goldens/positions.json")));
  return goldens;
}

std::vector<float> golden_numbers(const nlohmann::json& about, uint64_t seed, const std::string& name) {
  int64_t count = 1;
  for (const nlohmann::json& size : about[0]) count *= size.get<int64_t>();
  return uniform_numbers(seed, name, count, about[1], about[2]);
}

std::vector<int64_t> first_positions(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return positions;
}

}  // namespace test
