// rope_scaling.cpp: the scalings of rope, a row of a table each. L: original_length, the length the weights were
// trained at (as the model file says, unless stated); s: factor, so that L becomes s L; w[i]: plain rope's frequencies.
#include "position/rope_scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ordinal {
namespace {

constexpr int64_t kMostLength = int64_t{1} << 40;

double read_factor(ParamReader& params) { return params.at_least("factor", 1); }

double read_original_length(ParamReader& params, const AttentionShape& shape) {
  return static_cast<double>(params.whole("original_length", shape.trained_length, 1, kMostLength));
}

// The unit of all factors, echoed: above 1 is longer.
void echo_context(ParamReader& params, double length, double factor) {
  params.remark("context " + number_text(length) + " -> " + number_text(std::floor(length * factor)));
}

// Raises theta so that the slowest pair turns 1/s as fast and the fastest as fast as before.
void stretch_theta(RopeAngles& angles, double s) {
  const double r = static_cast<double>(angles.rotary_dim);
  if (angles.rotary_dim < 4)
    throw Error("NTK scaling leaves the first pair and stretches the last, so it needs two", "rotary_dim 4 or more",
                "rotary_dim " + std::to_string(angles.rotary_dim));
  angles.theta *= std::pow(s, r / (r - 2));
  angles.frequencies = rope_frequencies(angles.theta, angles.rotary_dim);
}

void keep(RopeAngles&, ParamReader&, const AttentionShape&, TableReader&) {}

// w / s: every position counts as one s times nearer.
void linear(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader&) {
  const double s = read_factor(params);
  for (double& frequency : angles.frequencies) frequency /= s;
  echo_context(params, static_cast<double>(shape.trained_length), s);
}

// theta s^(r / (r - 2)).
void ntk(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader&) {
  const double s = read_factor(params);
  stretch_theta(angles, s);
  params.remark("theta in effect " + number_text(angles.theta));
  echo_context(params, static_cast<double>(shape.trained_length), s);
}

// w / s + g (w - w / s), where g is 1 for pairs that turn often within L and 0 for those that turn seldom.
// ramp=paper: g rises with the number of turns, L w / 2 pi, from beta_slow to beta_fast. ramp=code, as the authors and
// all engines compute it: g falls with the number of the pair, between the pairs that turn that often; these are whole
// pairs, the next outside, unless truncate=false.
double by_parts(RopeAngles& angles, ParamReader& params, const AttentionShape& shape) {
  const double s = read_factor(params), length = read_original_length(params, shape);
  const double fast = params.positive("beta_fast", 32), slow = params.positive("beta_slow", 1);
  const bool code = params.choice("ramp", {"code", "paper"}) == "code";
  const bool truncate = params.choice("truncate", {"true", "false"}) == "true";
  if (fast <= slow) params.refuse("beta_fast", number_text(fast), "more than beta_slow, " + number_text(slow));

  const double r = static_cast<double>(angles.rotary_dim), turn = 2 * std::numbers::pi;
  const auto pair_turning = [&](double times) {
    return r * std::log(length / (turn * times)) / (2 * std::log(angles.theta));
  };
  const double first = pair_turning(fast), last = pair_turning(slow);
  const double low = std::clamp(truncate ? std::floor(first) : first, 0.0, r - 1);
  double high = std::clamp(truncate ? std::ceil(last) : last, 0.0, r - 1);
  if (code)
    params.remark("pairs up to " + number_text(low) + " keep their angles, from " + number_text(high) +
                  " on they are divided by " + number_text(s));
  if (high == low) high += 0.001;
  for (size_t i = 0; i < angles.frequencies.size(); ++i) {
    double& w = angles.frequencies[i];
    const double place =
        code ? (high - static_cast<double>(i)) / (high - low) : (length * w / turn - slow) / (fast - slow);
    w = std::lerp(w / s, w, std::clamp(place, 0.0, 1.0));
  }
  echo_context(params, length, s);
  return s;
}

void ntk_by_parts(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader&) {
  by_parts(angles, params, shape);
}

// ntk_by_parts, with scores sharpened: cos and sin times m = 0.1 ln s + 1, so scores times m * m. With mscale and
// mscale_all_dim, (0.1 mscale ln s + 1) / (0.1 mscale_all_dim ln s + 1).
void yarn(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader&) {
  const double s = by_parts(angles, params, shape);
  const std::optional<double> stated = params.positive_or_auto("attention_factor");
  const std::optional<double> mscale = params.positive_or_auto("mscale");
  const std::optional<double> mscale_all_dim = params.positive_or_auto("mscale_all_dim");
  if (mscale.has_value() != mscale_all_dim.has_value())
    throw Error("yarn uses mscale and mscale_all_dim as a ratio", "both, or neither",
                mscale ? "mscale alone" : "mscale_all_dim alone");
  const auto m = [&](double k) { return 0.1 * k * std::log(s) + 1; };
  angles.magnitude = stated ? *stated : mscale ? m(*mscale) / m(*mscale_all_dim) : m(1);
  params.remark("attention factor " + number_text(angles.magnitude) + ", scores times " +
                number_text(angles.magnitude * angles.magnitude));
}

// For a length n > L: theta (s n / L - (s - 1))^(r / (r - 2)). n is fixed when the scheme is made, so that cached keys
// stay right.
void dynamic(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader&) {
  const double s = params.at_least("factor", 1, 1), length = read_original_length(params, shape);
  const double n = static_cast<double>(params.session_whole("length", shape.length, 1, kMostLength));
  if (n <= length) return;
  stretch_theta(angles, s * n / length - (s - 1));
  params.remark("theta in effect " + number_text(angles.theta));
  echo_context(params, length, n / length);
}

// By wavelength 2 pi / w: below L / high_freq_factor kept, above L / low_freq_factor divided by s, blended between.
void llama3(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const double s = params.at_least("factor", 1, 8), length = read_original_length(params, shape);
  const double low = params.positive("low_freq_factor", 1), high = params.positive("high_freq_factor", 4);
  if (high <= low)
    params.refuse("high_freq_factor", number_text(high), "more than low_freq_factor, " + number_text(low));
  if (tables.has("rope_freqs.weight"))
    throw Error("the model holds rope_freqs.weight, in which its llama3 scaling is worked out already",
                "one of the two", "both", "leave scaling=llama3 out of the spec");
  for (double& w : angles.frequencies) {
    const double turns = length * w / (2 * std::numbers::pi);
    w = std::lerp(w / s, w, std::clamp((turns - low) / (high - low), 0.0, 1.0));
  }
  echo_context(params, length, s);
}

// w / F: F from one table for sessions within L and from another for longer ones; cos and sin times
// sqrt(1 + ln s / ln L), s the whole context over L.
void longrope(RopeAngles& angles, ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const double length = read_original_length(params, shape);
  const double s = params.at_least("factor", 1, std::max(1.0, static_cast<double>(shape.trained_length) / length));
  const double n = static_cast<double>(params.session_whole("length", shape.length, 1, kMostLength));
  const std::optional<double> stated = params.positive_or_auto("attention_factor");
  const auto pairs = static_cast<int64_t>(angles.frequencies.size());
  const MadeUp one = [](int64_t, int64_t, double) { return 1.0; };
  const MadeUp rising = [pairs](int64_t, int64_t pair, double) {
    return std::pow(4.0, static_cast<double>(pair + 1) / static_cast<double>(pairs));
  };
  const auto loaded =
      tables.read({{"rope_factors_short.weight", {pairs}, one}, {"rope_factors_long.weight", {pairs}, rising}});
  const std::vector<double> within = factors_of(loaded[0][0], params), beyond = factors_of(loaded[1][0], params);
  for (size_t i = 0; i < angles.frequencies.size(); ++i) angles.frequencies[i] /= (n > length ? beyond : within)[i];
  angles.magnitude = stated ? *stated : s > 1 && length > 1 ? std::sqrt(1 + std::log(s) / std::log(length)) : 1;
  params.remark(std::string(n > length ? "long" : "short") + " factors; attention factor " +
                number_text(angles.magnitude));
  echo_context(params, length, s);
}

constexpr RopeScaling kScalings[] = {
    {{"none", "relative", "q and k", "Su et al. 2021, arXiv:2104.09864", "angles as trained"}, keep},
    {{"linear", "relative", "q and k", "Chen et al. 2023, arXiv:2306.15595",
      "position interpolation: every angle divided by factor"},
     linear},
    {{"ntk", "relative", "q and k", "bloc97 2023, public post; Peng et al. 2023, arXiv:2309.00071, section 3.1",
      "a larger theta: fast pairs stay, the slowest is divided by factor"},
     ntk},
    {{"ntk_by_parts", "relative", "q and k", "Peng et al. 2023, arXiv:2309.00071, section 3.2",
      "fast pairs stay, slow ones are divided by factor, a ramp between"},
     ntk_by_parts},
    {{"yarn", "relative", "q and k", "Peng et al. 2023, arXiv:2309.00071",
      "ntk_by_parts, with scores sharpened as the context grows"},
     yarn},
    {{"dynamic", "relative", "q and k", "emozilla 2023, public post; Peng et al. 2023, arXiv:2309.00071, section 3.3",
      "ntk for the session's length, unchanged within the trained one"},
     dynamic},
    {{"llama3", "relative", "q and k", "Llama Team 2024, arXiv:2407.21783, and its code",
      "short waves stay, long ones are divided by factor, blended between"},
     llama3},
    {{"longrope", "relative", "q and k", "Ding et al. 2024, arXiv:2402.13753",
      "a searched factor per pair, one set within the trained length, one beyond"},
     longrope},
};

constexpr auto kInfos = [] {
  std::array<SchemeInfo, std::size(kScalings)> infos;
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = kScalings[i].info;
  return infos;
}();

}  // namespace

std::span<const RopeScaling> rope_scaling_table() { return kScalings; }
std::span<const SchemeInfo> rope_scalings() { return kInfos; }

double rope_fraction(ParamReader& params) {
  const double fraction = params.at_least("fraction", 0, 1);
  if (fraction > 1) params.refuse("fraction", number_text(fraction), "a number from 0 to 1");
  return fraction;
}

void keep_fraction(RopeAngles& angles, double fraction) {
  const auto turning = static_cast<size_t>(fraction * static_cast<double>(angles.rotary_dim) / 2);
  std::fill(angles.frequencies.begin() + static_cast<ptrdiff_t>(turning), angles.frequencies.end(), 0.0);
}

std::vector<double> factors_of(const SchemeTable& table, const ParamReader& params) {
  for (const float value : table.values)
    if (!(std::isfinite(value) && value > 0))
      throw Error("a tensor of position scheme '" + params.scheme() + "' holds a number that is no factor",
                  table.name + ": finite numbers above 0", number_text(static_cast<double>(value)));
  return {table.values.begin(), table.values.end()};
}

std::vector<double> rope_frequencies(double theta, int64_t rotary_dim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rotary_dim / 2; ++i)
    frequencies.push_back(std::pow(theta, -static_cast<double>(2 * i) / static_cast<double>(rotary_dim)));
  return frequencies;
}

}  // namespace ordinal
