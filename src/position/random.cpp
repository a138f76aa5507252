// random: a text stands at positions drawn at random from a longer range, in order, so that a model trained so has seen
// large ones.
// Ruoss et al., "Randomized Positional Encodings Boost Length Generalization of Transformers", 2023, section 3
// (arXiv:2305.16843).
//
//   SPEC sees map[p] for p, for queries and keys alike             map: `length` numbers below `range`, ascending
// The draw is by selection: t = 0, 1, ... is taken when (range - t) u < length - taken, u the next number below 1 of
// splitmix64 from `seed` (its upper 53 bits). It depends on these three numbers and holds for the whole session.
// Spec     SPEC;with=random[:range=2048,seed=0,length=(the session's)]
// Acts on  the positions that SPEC gets. Distances are no longer numbers of tokens.
#include <algorithm>

#include "position/modifier.h"

namespace ordinal {
namespace {

std::vector<int64_t> draw(int64_t range, int64_t length, uint64_t state) {
  const auto next = [&state] {  // splitmix64, as a number from 0 to 1
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  };
  std::vector<int64_t> drawn;
  for (int64_t t = 0; t < range; ++t)
    if (static_cast<double>(range - t) * next() < static_cast<double>(length - static_cast<int64_t>(drawn.size())))
      drawn.push_back(t);
  return drawn;
}

class RandomPositions final : public ModifiedScheme {
 public:
  RandomPositions(SharedScheme base, std::vector<int64_t> map)
      : ModifiedScheme(std::move(base)), map_(std::move(map)) {}

  int64_t max_positions() const override { return static_cast<int64_t>(map_.size()); }
  LimitNote limit_note() const override {
    return {"so many positions were drawn when the session was made", "with=random:length=, a larger one"};
  }

  void add_to_embedding(Positions positions, Rows x) const override {
    for_each(positions, [&](int64_t row, Positions there) { base().add_to_embedding(there, x.slice(row, 1)); });
  }
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const override {
    for_each(positions, [&](int64_t row, Positions there) {
      base().transform_query_key(layer, there, q.slice(row, 1), k.slice(row, 1));
    });
  }
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    for_each(positions, [&](int64_t row, Positions there) {
      base().transform_view(layer, view, there, q.slice(row, 1), k.slice(row, 1));
    });
  }
  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    with_site(site, scores,
              [&](const AttentionSite& there, std::span<float> part) { base().add_to_scores(there, q, part); });
  }
  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const override {
    with_site(site, weights,
              [&](const AttentionSite& there, std::span<const float> part) { base().add_to_values(there, part, out); });
  }
  int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    const int count = base().key_runs(layer, mapped(query_position), runs);
    for (KeyRun& run : runs.first(static_cast<size_t>(count)))  // back to where the text's own tokens stand
      if (run.end != kUnlimited) run.end = std::ranges::lower_bound(map_, run.end) - map_.begin();
    return count;
  }

 private:
  int64_t mapped(int64_t position) const { return map_[static_cast<size_t>(position)]; }

  template <class Hook>
  void for_each(Positions positions, const Hook& hook) const {
    for (size_t r = 0; r < positions.size(); ++r) {
      const int64_t there = mapped(positions[r]);
      hook(static_cast<int64_t>(r), Positions(&there, 1));
    }
  }

  // Keys that follow each other are a stretch of the map; others go one by one, unless the scheme wants all at once,
  // and then it reads no positions.
  template <class Numbers, class Hook>
  void with_site(AttentionSite site, Numbers numbers, const Hook& hook) const {
    const Positions keys = site.key_positions;
    const auto count = static_cast<int64_t>(keys.size());
    site.query_position = mapped(site.query_position);
    if (count > 0 && (keys.back() - keys.front() + 1 == count || base().reads_whole_rows())) {
      if (!base().reads_whole_rows())
        site.key_positions = Positions(map_).subspan(static_cast<size_t>(keys.front()), keys.size());
      return hook(site, numbers);
    }
    for (size_t j = 0; j < keys.size(); ++j) {
      const int64_t there = mapped(keys[j]);
      site.key_positions = {&there, 1};
      hook(site, numbers.subspan(j, 1));
    }
  }

  const std::vector<int64_t> map_;  // [length]
};

}  // namespace

SchemePtr make_with_random(ParamReader& params, const AttentionShape& shape, TableReader&, SharedScheme base) {
  const int64_t range = params.whole("range", 2048, 1, 1 << 28);
  const auto seed = static_cast<uint64_t>(params.whole("seed", 0, 0, int64_t{1} << 62));
  const int64_t length = params.session_whole("length", shape.length, 1, 1 << 28);
  if (length > range)
    params.refuse("range", std::to_string(range),
                  "a range with room for the positions of the session, " + std::to_string(length));
  std::vector<int64_t> map = draw(range, length, seed);
  if (map.back() >= base->max_positions())
    throw Error("positions drawn from a range need a scheme that reaches as far",
                base->spec() + " has " + std::to_string(base->max_positions()) + " positions",
                "range=" + std::to_string(range), "a smaller range");
  return std::make_unique<RandomPositions>(std::move(base), std::move(map));
}

}  // namespace ordinal
