// places.cpp: see places.h.
#include "study/places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "position/scheme.h"

namespace ordinal {
namespace {

// The angle that a pair of channels has in a view of a query or of a key that stands at `position`.
double angle_in(const PositionScheme& scheme, int view, int64_t position, bool of_query) {
  std::array<float, 2> row{1, 0};
  const Rows rows{row.data(), 1, 2, 2}, nothing{row.data(), 1, 0, 2};
  const Rows &q = of_query ? rows : nothing, &k = of_query ? nothing : rows;
  if (view == 0)
    scheme.transform_query_key(0, {&position, 1}, q, k);
  else
    scheme.transform_view(0, view, {&position, 1}, q, k);
  return std::atan2(static_cast<double>(row[1]), static_cast<double>(row[0]));
}

}  // namespace

std::vector<double> places_of_keys(std::string_view spec, const AttentionShape& model, int64_t position) {
  const AttentionShape shape{.n_layers = 1,
                             .d_model = 2,
                             .n_heads = 1,
                             .n_kv_heads = 1,
                             .head_dim = 2,
                             .trained_length = model.trained_length,
                             .length = position + 1};
  // So slow that no place is more than half a turn from another, as long as no modifier goes past 4 positions a token.
  const double turns_once_in = 8 * static_cast<double>(std::max<int64_t>(position, 512)) + 8;
  const std::string_view first = spec.substr(0, end_of_modified(spec));
  const size_t with = std::min(first.find(';'), first.size());
  const auto scheme = make_position_scheme(
      "rope:scaling=linear,factor=" + number_text(turns_once_in / 6) + std::string(first.substr(with)), shape, {});
  std::array<KeyRun, KeyRun::kMost> runs;
  const int count = scheme->key_runs(0, position, runs);
  std::vector<double> places;
  int run = 0;
  for (int64_t key = 0; key <= position; ++key) {
    while (run + 1 < count && key >= runs[static_cast<size_t>(run)].end) ++run;
    const KeyRun& seen = runs[static_cast<size_t>(run)];
    if (seen.query == KeyRun::kUnseen) {
      places.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const double apart = angle_in(*scheme, seen.query, position, true) - angle_in(*scheme, seen.key, key, false);
    places.push_back(std::remainder(apart, 2 * std::numbers::pi) * turns_once_in / 6);
  }
  return places;
}

}  // namespace ordinal
