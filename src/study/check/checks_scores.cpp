// checks_scores.cpp: see checks_scores.h.
#include "study/check/checks_scores.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/random_numbers.h"

namespace ordinal {
namespace {

template <class Source>
CheckLabel label_of(const Source& source, const std::string& id, const std::string& what) {
  return {id, what + (source.in_double ? ", in double" : ", engine"), source.scheme};
}

}  // namespace

// ---- rope ----

Rotation rotation_of(std::string_view spec, const AttentionShape& shape, const TensorLookup& lookup) {
  ParamReader params(parse_position_spec(spec));
  TableReader tables(params, shape, lookup);
  Rotation rotation;
  RopeAngles& angles = rotation.angles;
  angles.theta = params.positive("theta", 10000);
  rotation.interleaved = params.choice("pairing", {"half", "interleaved"}) == "interleaved";
  angles.rotary_dim = params.whole("rotary_dim", shape.head_dim, 2, shape.head_dim);
  const double fraction = rope_fraction(params);
  std::vector<std::string_view> names;
  for (const RopeScaling& scaling : rope_scaling_table()) names.push_back(scaling.info.name);
  const std::string name = params.choice("scaling", names);
  rotation.scaled = name != "none" || fraction < 1;
  angles.frequencies = rope_frequencies(angles.theta, angles.rotary_dim);
  for (const RopeScaling& scaling : rope_scaling_table())
    if (scaling.info.name == name) scaling.apply(angles, params, shape, tables);
  keep_fraction(angles, fraction);
  return rotation;
}

HeadTurn formula_turn(const Rotation& rotation, const std::string& scheme, int64_t head_dim) {
  const auto turn = [rotation](const std::vector<double>& head, int64_t position) {
    std::vector<double> turned = head;
    const size_t pairs = rotation.angles.frequencies.size();
    for (size_t i = 0; i < pairs; ++i) {
      const size_t a = rotation.interleaved ? 2 * i : i, b = rotation.interleaved ? 2 * i + 1 : i + pairs;
      const double angle = static_cast<double>(position) * rotation.angles.frequencies[i];
      const double cosine = rotation.angles.magnitude * std::cos(angle);
      const double sine = rotation.angles.magnitude * std::sin(angle);
      turned[a] = head[a] * cosine - head[b] * sine;
      turned[b] = head[a] * sine + head[b] * cosine;
    }
    return turned;
  };
  return {.scheme = scheme, .in_double = true, .head_dim = head_dim, .turn = turn};
}

HeadTurn engine_turn(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name, int64_t head_dim) {
  const auto turn = [scheme](const std::vector<double>& head, int64_t position) {
    std::vector<float> query;
    for (const double value : head) query.push_back(static_cast<float>(value));
    std::vector<float> key = query;
    const auto cols = static_cast<int64_t>(query.size());
    scheme->transform_query_key(0, {&position, 1}, {query.data(), 1, cols, cols}, {key.data(), 1, cols, cols});
    return std::vector<double>(query.begin(), query.end());
  };
  return {.scheme = name, .in_double = false, .head_dim = head_dim, .turn = turn};
}

// Queries and keys that are somewhat alike, so that no score is next to nothing; floats, for both kinds of arithmetic.
Check check_distance_only(const HeadTurn& head) {
  RandomNumbers random(3);
  double difference = 0;
  const double scale = 1 / std::sqrt(static_cast<double>(head.head_dim));
  for (int sample = 0; sample < 8; ++sample) {
    std::vector<double> q = random.normals(static_cast<size_t>(head.head_dim)), k = q;
    for (size_t c = 0; c < k.size(); ++c) k[c] += 0.5 * random.normal();
    const double near = scale * dot(head.turn(q, 5), head.turn(k, 2));
    const double far = scale * dot(head.turn(q, 1005), head.turn(k, 1002));
    const double apart = std::abs(near - far) / (head.in_double ? 1 : std::abs(near));
    if (!(apart <= difference)) difference = apart;
  }
  const std::string what = "scores at (5, 2) and (1005, 1002): ";
  return check_near(label_of(head, "C3", what + (head.in_double ? "difference" : "relative difference")), difference, 0,
                    head.in_double ? 1e-12 : 1e-5);
}

Check check_turn(const HeadTurn& engine, const HeadTurn& formula) {
  RandomNumbers random(4);
  double error = 0;
  std::vector<double> head;
  for (int64_t c = 0; c < engine.head_dim; ++c) head.push_back(2 * random.uniform() - 1);
  for (const int64_t position : {0, 1, 3, 100, 1005})
    error = std::max(error, largest_difference(engine.turn(head, position), formula.turn(head, position)));
  return check_near(label_of(engine, "C3", "heads turned as the formula turns them: error"), error, 0, 1e-6);
}

Check check_score_curve(const HeadTurn& head, const Rotation& rotation) {
  const auto pairs = rotation.angles.frequencies.size();
  std::vector<double> ones(static_cast<size_t>(head.head_dim), 0.0);
  std::fill_n(ones.begin(), 2 * pairs, 1.0);
  const std::vector<double> query = head.turn(ones, 0);
  const auto d = static_cast<double>(rotation.angles.rotary_dim);
  double error = 0;
  for (int64_t k = 1; k <= 1024; ++k) {
    // The sinusoid's product of rows 0 and k: sines of 0 are 0, cosines 1.
    double similarity = 0;
    for (size_t i = 0; i < pairs; ++i)
      similarity += std::cos(static_cast<double>(k) * std::pow(rotation.angles.theta, -2 * static_cast<double>(i) / d));
    const double apart = std::abs(dot(query, head.turn(ones, k)) / d - 2 / d * similarity);
    if (!(apart <= error)) error = apart;
  }
  return check_near(label_of(head, "C12", "scores of q = k = ones are the sinusoid's similarity: error"), error, 0,
                    head.in_double ? 1e-12 : 1e-6);
}

// ---- alibi ----

std::vector<double> alibi_slopes(int64_t n_heads, double max_bias, bool naive) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n_heads)));
  std::vector<double> slopes;
  const auto add = [&](int64_t step, int64_t of) {
    slopes.push_back(std::exp2(-max_bias * static_cast<double>(step) / static_cast<double>(of)));
  };
  for (int64_t h = 1; h <= (naive ? n_heads : power); ++h) add(h, naive ? n_heads : power);
  for (int64_t h = 1; static_cast<int64_t>(slopes.size()) < n_heads; h += 2) add(h, 2 * power);
  return slopes;
}

ScorePenalty formula_penalty(std::vector<double> slopes, const std::string& scheme) {
  const auto n_heads = static_cast<int64_t>(slopes.size());
  return {.scheme = scheme,
          .in_double = true,
          .n_heads = n_heads,
          .at = [slopes = std::move(slopes)](int64_t head, int64_t query, int64_t key) {
            return -slopes[static_cast<size_t>(head)] * static_cast<double>(query - key);
          }};
}

ScorePenalty engine_penalty(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name,
                            int64_t n_heads) {
  return {
      .scheme = name, .in_double = false, .n_heads = n_heads, .at = [scheme](int64_t head, int64_t query, int64_t key) {
        float score = 0;
        const AttentionSite site{.head = head, .query_position = query, .key_positions = {&key, 1}};
        scheme->add_to_scores(site, {}, {&score, 1});
        return static_cast<double>(score);
      }};
}

Check check_slopes(const ScorePenalty& penalty, const std::vector<double>& slopes) {
  std::vector<double> measured;
  for (int64_t head = 0; head < penalty.n_heads; ++head) measured.push_back(-penalty.at(head, 7, 6));
  const std::string what = "slopes of " + std::to_string(penalty.n_heads) + " heads: largest error";
  return check_near(label_of(penalty, "C15", what), largest_difference(measured, slopes), 0,
                    penalty.in_double ? 1e-15 : 1e-6);
}

Checks check_geometric(const ScorePenalty& penalty, const std::vector<double>& slopes) {
  constexpr int64_t kKeys = 16, kFirst = 100;
  std::vector<double> series_errors, shift_errors;
  bool exact = true;  // slopes that a float holds
  for (int64_t head = 0; head < penalty.n_heads; ++head) {
    const double slope = slopes[static_cast<size_t>(head)];
    exact = exact && static_cast<double>(static_cast<float>(slope)) == slope;
    std::vector<double> scores, by_key, series;
    for (int64_t j = 0; j < kKeys; ++j) {
      const auto back = static_cast<double>(kKeys - 1 - j);
      scores.push_back(penalty.at(head, kFirst + kKeys - 1, kFirst + j));
      by_key.push_back(slope * static_cast<double>(j));  // kFirst more would be a number added to all
      // e^(-slope * back), over the sum of all: (1 - e^(-n slope)) / (1 - e^(-slope)).
      series.push_back(std::exp(-slope * back) * std::expm1(-slope) / std::expm1(-slope * static_cast<double>(kKeys)));
    }
    const std::vector<double> weights = softmax_of(scores);
    series_errors.push_back(largest_difference(weights, series));
    shift_errors.push_back(largest_difference(weights, softmax_of(by_key)));
  }
  const double bound = penalty.in_double || exact ? 1e-15 : 1e-6;
  const std::string heads = " " + std::to_string(penalty.n_heads) + " heads";
  return {check_near(label_of(penalty, "C15", "equal scores give a geometric series of weights," + heads),
                     *std::ranges::max_element(series_errors), 0, bound),
          check_near(label_of(penalty, "C15", "+slope * j for -slope * (i - j): the same weights," + heads),
                     *std::ranges::max_element(shift_errors), 0, bound)};
}

}  // namespace ordinal
