// sampler.cpp: penalties, filters and the draw. Everything is a fixed sequence of double operations, so that one
// seed gives one text on every machine.
#include "ordinal/sampler.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_of(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr;
  return {buffer, end};
}

// Written so that NaN fails too.
void require(const char* name, double value, double low, double high, const char* expected) {
  if (!(value >= low && value <= high)) throw Error(std::string(name) + " is out of range", expected, text_of(value));
}

// e^x for x <= 0: a power of two times a Taylor series on |r| <= ln(2)/2, whose remainder is below 2^-57. The C
// library's own differs between processors in the last bit.
double exp_of_negative(double x) {
  if (x < -745.2) return 0.0;  // below half the least denormal
  constexpr double kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 0x1.cf79abc9e3b39p-40;
  constexpr double kToInteger = 0x1.8p52;  // adding it rounds away the fraction
  const double k = (x * std::numbers::log2e + kToInteger) - kToInteger;
  const double r = (x - k * kLn2High) - k * kLn2Low, r2 = r * r, r4 = r2 * r2;
  const double terms_0_3 = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const double terms_4_7 = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const double terms_8_11 = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  const double terms_12_13 = 1.0 / 479001600 + r * (1.0 / 6227020800);
  const double sum = terms_0_3 + r4 * (terms_4_7 + r4 * (terms_8_11 + r4 * terms_12_13));
  const int exponent = static_cast<int>(k);
  if (exponent < -1022) return std::ldexp(sum, exponent);
  return sum * std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// The largest logit. Throws Error for what no distribution can be made of.
float checked_max(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < std::numeric_limits<float>::infinity()))
      throw Error("cannot sample from these logits", "finite numbers or -infinity",
                  (std::isnan(logits[i]) ? "NaN" : "+infinity") + std::string(" for token ") + std::to_string(i),
                  "verify the model file; look for a logit bias or penalty that is too large");
    best = std::max(best, logits[i]);
  }
  if (best == -std::numeric_limits<float>::infinity())
    throw Error("no token is left to sample", "at least one logit above -infinity",
                std::to_string(logits.size()) + " logits, all -infinity", "fewer tokens banned by logit bias");
  return best;
}

bool better(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

// A vector of which only as much is sorted as somebody has asked for: a draw looks at few of 50,000 tokens.
template <class Item, class Less>
class SortedPrefix {
 public:
  SortedPrefix(std::vector<Item>& items, Less less) : items_(items), less_(less) {}

  const Item& at(size_t i) {
    while (i >= sorted_) {
      const size_t end = std::min(items_.size(), std::max<size_t>(64, 4 * sorted_));
      const auto from = items_.begin() + static_cast<ptrdiff_t>(sorted_);
      const auto to = items_.begin() + static_cast<ptrdiff_t>(end);
      if (to != items_.end()) std::nth_element(from, to, items_.end(), less_);
      std::sort(from, to, less_);
      sorted_ = end;
    }
    return items_[i];
  }

 private:
  std::vector<Item>& items_;
  Less less_;
  size_t sorted_ = 0;
};

double sum_of(const std::vector<Candidate>& items) {
  double sum = 0.0;
  for (const Candidate& item : items) sum += item.probability;
  return sum;
}

// The k largest logits: those above the threshold, and of those equal to it the first `ties`.
struct BestK {
  float threshold = -std::numeric_limits<float>::infinity();
  int64_t ties = std::numeric_limits<int64_t>::max();

  BestK(std::span<const float> logits, int64_t k) {
    if (k <= 0 || k >= static_cast<int64_t>(logits.size())) return;
    std::vector<float> values(logits.begin(), logits.end());
    std::nth_element(values.begin(), values.begin() + (k - 1), values.end(), std::greater<>());
    threshold = values[static_cast<size_t>(k - 1)];
    ties = k - std::count_if(logits.begin(), logits.end(), [this](float logit) { return logit > threshold; });
  }

  bool keeps(float logit) { return logit > threshold || (logit == threshold && ties-- > 0); }
};

// Keeps the tokens whose surprise is nearest to the expected one, the fewest that reach p. With z = logit / T less
// its maximum, surprise is log(total) - z and its expectation log(total) - mean(z): the logarithms cancel.
template <class ZOf>
void keep_typical(std::vector<Candidate>& items, double p, ZOf z_of) {
  const double total = sum_of(items);
  double mean = 0.0;
  for (const Candidate& item : items) mean += item.probability / total * z_of(item.id);
  using Distance = std::pair<double, size_t>;  // from the expectation; index of the item
  std::vector<Distance> distances;
  distances.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) distances.emplace_back(std::abs(mean - z_of(items[i].id)), i);

  const std::vector<Distance> by_id = distances;
  SortedPrefix nearest(distances, std::less<>());
  double reached = 0.0;
  Distance last = nearest.at(0);
  for (size_t i = 0; i < distances.size(); ++i) {
    last = nearest.at(i);
    reached += items[last.second].probability;
    if (reached >= p * total) break;
  }
  std::vector<Candidate> kept;
  for (const Distance& distance : by_id)
    if (distance <= last) kept.push_back(items[distance.second]);
  items = std::move(kept);
}

// What the filters leave, in no promised order; `probability` holds weights that sum to `total`.
struct Kept {
  std::vector<Candidate> items;
  double total = 0.0;
};

Kept keep(std::span<const float> logits, const SamplerOptions& options) {
  const float best = checked_max(logits);
  Kept kept;
  if (options.temperature == 0.0f) {
    const auto first = std::find(logits.begin(), logits.end(), best);
    kept.items.push_back({static_cast<TokenId>(first - logits.begin()), 1.0});
    kept.total = 1.0;
    return kept;
  }
  const double temperature = options.temperature;
  const auto z_of = [&](TokenId id) {
    return (static_cast<double>(logits[static_cast<size_t>(id)]) - static_cast<double>(best)) / temperature;
  };

  std::vector<Candidate>& items = kept.items;
  items.reserve(options.top_k > 0 ? std::min(logits.size(), static_cast<size_t>(options.top_k)) : logits.size());
  BestK best_k(logits, options.top_k);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!best_k.keeps(logits[i])) continue;
    const auto id = static_cast<TokenId>(i);
    const double weight = exp_of_negative(z_of(id));
    if (weight > 0.0) items.push_back({id, weight});
  }
  if (options.typical_p < 1.0f) keep_typical(items, options.typical_p, z_of);
  if (options.top_p < 1.0f) {
    const double enough = static_cast<double>(options.top_p) * sum_of(items);
    SortedPrefix sorted(items, better);
    double reached = 0.0;
    size_t count = 0;
    do reached += sorted.at(count++).probability;
    while (reached < enough && count < items.size());
    items.resize(count);
  }
  if (options.min_p > 0.0f) {
    double most = 0.0;
    for (const Candidate& item : items) most = std::max(most, item.probability);
    std::erase_if(items, [&](const Candidate& item) { return item.probability < options.min_p * most; });
  }
  kept.total = sum_of(items);  // in an order that depends on the options only: by id, or sorted by top-p
  return kept;
}

}  // namespace

Sampler::Sampler(SamplerOptions options, int64_t vocab_size)
    : options_(std::move(options)), vocab_size_(vocab_size), state_(options_.seed) {
  constexpr double kMax = std::numeric_limits<float>::max();
  constexpr double kLeast = std::numeric_limits<float>::denorm_min();
  const SamplerOptions& o = options_;
  if (vocab_size < 1) throw Error("a sampler needs a vocabulary", "1 token or more", std::to_string(vocab_size));
  require("the temperature", o.temperature, 0.0, kMax, "0 (greedy) or more");
  require("the repetition penalty", o.repetition_penalty, kLeast, kMax, "more than 0; 1 changes nothing");
  require("the presence penalty", o.presence_penalty, -kMax, kMax, "a finite number; 0 changes nothing");
  require("the frequency penalty", o.frequency_penalty, -kMax, kMax, "a finite number; 0 changes nothing");
  require("typical p", o.typical_p, 0.0, 1.0, "0 to 1; 1 keeps all");
  require("top-p", o.top_p, 0.0, 1.0, "0 to 1; 1 keeps all");
  require("min-p", o.min_p, 0.0, 1.0, "0 to 1; 0 keeps all");
  if (o.top_k < 0) throw Error("top-k is out of range", "1 or more; 0 keeps all", std::to_string(o.top_k));
  if (o.penalty_window < -1)
    throw Error("the penalty window is out of range", "0 tokens or more; -1 for all", std::to_string(o.penalty_window));
  for (const auto& [id, bias] : o.logit_bias) {
    if (id < 0 || id >= vocab_size)
      throw Error("a logit bias names a token that the vocabulary does not have",
                  "ids 0 to " + std::to_string(vocab_size - 1), std::to_string(id));
    require("a logit bias", bias, -kInfinity, kMax, "a finite number, or -inf to ban the token");
  }
}

void Sampler::observe(std::span<const TokenId> tokens) {
  for (const TokenId id : tokens)
    if (id < 0 || id >= vocab_size_)
      throw Error("a token is outside the vocabulary", "ids 0 to " + std::to_string(vocab_size_ - 1),
                  std::to_string(id));
  seen_.insert(seen_.end(), tokens.begin(), tokens.end());
  n_prompt_ = seen_.size();
}

std::vector<float> Sampler::adjusted(std::span<const float> logits) const {
  if (static_cast<int64_t>(logits.size()) != vocab_size_)
    throw Error("the logits do not fit the sampler", std::to_string(vocab_size_) + " logits",
                std::to_string(logits.size()));
  std::vector<float> changed(logits.begin(), logits.end());
  for (const auto& [id, bias] : options_.logit_bias) changed[static_cast<size_t>(id)] += bias;

  const bool penalises =
      options_.repetition_penalty != 1.0f || options_.presence_penalty != 0.0f || options_.frequency_penalty != 0.0f;
  const int64_t window = options_.penalty_window < 0 ? static_cast<int64_t>(seen_.size()) : options_.penalty_window;
  const auto first = seen_.size() - std::min(seen_.size(), static_cast<size_t>(window));
  if (!penalises || first == seen_.size()) return changed;

  // How often a token was seen from `begin` on.
  const auto count_from = [&](size_t begin) {
    std::vector<int32_t> counts(logits.size());
    for (size_t i = std::max(first, begin); i < seen_.size(); ++i) ++counts[static_cast<size_t>(seen_[i])];
    return counts;
  };
  const bool of_all = options_.penalize == Penalize::all, repeats_all = options_.penalize != Penalize::new_only;
  const std::vector<int32_t> repeated = count_from(repeats_all ? 0 : n_prompt_);
  const std::vector<int32_t> counts = of_all == repeats_all ? repeated : count_from(n_prompt_);
  for (size_t i = 0; i < counts.size(); ++i) {
    float& logit = changed[i];
    if (repeated[i] > 0)
      logit = logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    if (counts[i] == 0) continue;
    logit -= options_.presence_penalty;
    logit -= options_.frequency_penalty * static_cast<float>(counts[i]);
  }
  return changed;
}

TokenId Sampler::sample(std::span<const float> logits) {
  const std::vector<float> changed = adjusted(logits);
  Kept kept = keep(changed, options_);
  TokenId id = kept.items.front().id;
  if (options_.temperature != 0.0f) {  // pick(candidates, u), sorting no further than the draw looks
    const double u = next_uniform();
    SortedPrefix sorted(kept.items, better);
    double reached = 0.0;
    for (size_t i = 0; i < kept.items.size(); ++i) {
      const Candidate& item = sorted.at(i);
      id = item.id;
      reached += item.probability / kept.total;
      if (reached > u) break;
    }
  }
  seen_.push_back(id);
  return id;
}

std::vector<Candidate> Sampler::candidates(std::span<const float> logits) const {
  Kept kept = keep(adjusted(logits), options_);
  std::sort(kept.items.begin(), kept.items.end(), better);
  for (Candidate& item : kept.items) item.probability /= kept.total;
  return std::move(kept.items);
}

TokenId Sampler::pick(std::span<const Candidate> kept, double u) {
  if (kept.empty()) throw Error("no token is left to sample", "at least one candidate", "none");
  double reached = 0.0;
  for (const Candidate& item : kept) {
    reached += item.probability;
    if (reached > u) return item.id;
  }
  return kept.back().id;
}

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): every seed is a
// good one, 0 and neighbours included.
double Sampler::next_uniform() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double log_probability(std::span<const float> logits, TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= logits.size())
    throw Error("a token is outside the vocabulary", "ids 0 to " + std::to_string(logits.size() - 1),
                std::to_string(id));
  const double best = checked_max(logits);
  double total = 0.0;
  for (const float logit : logits) total += exp_of_negative(static_cast<double>(logit) - best);
  return static_cast<double>(logits[static_cast<size_t>(id)]) - best - std::log(total);
}

}  // namespace ordinal
