// modifiers.cpp: the list of modifiers, what groups of them share, and the making of a scheme with some.
#include "position/modifier.h"

#include <algorithm>

#include "base/words.h"
#include "position/making.h"

namespace ordinal {
namespace {

using ModifierMaker = SchemePtr (*)(ParamReader&, const AttentionShape&, TableReader&, SharedScheme);

constexpr SchemeInfo kModifiers[] = {
#define MODIFIER(name, kind, acts_on, source, summary) {#name, #kind, acts_on, source, summary},
#include "position/modifiers.def"
#undef MODIFIER
};
constexpr ModifierMaker kModifierMakers[] = {
#define MODIFIER(name, kind, acts_on, source, summary) make_with_##name,
#include "position/modifiers.def"
#undef MODIFIER
};

ParamReader reader_of(std::string_view modifier) { return ParamReader(parse_position_spec(modifier), "modifier"); }

ModifierMaker maker_of(const ParamReader& params) {
  return kModifierMakers[&modifier_info(params.scheme()) - kModifiers];
}

// A scheme that any modifier takes, for those that are only asked what they can be told.
SharedScheme any_base(AttentionShape shape) {
  shape.head_dim += shape.head_dim % 2;
  return make_position_scheme("rope", shape, {});
}

}  // namespace

std::span<const SchemeInfo> position_modifiers() { return kModifiers; }

const SchemeInfo& modifier_info(std::string_view name) {
  const auto* found = std::ranges::find(kModifiers, name, &SchemeInfo::name);
  if (found != std::end(kModifiers)) return *found;
  throw Error("there is no modifier '" + escaped(name) + "' of position schemes",
              joined(kModifiers, ", ", &SchemeInfo::name), "with=" + escaped(name), see_list());
}

std::pair<SchemePtr, SchemeFacts> make_modified(std::string_view modifier, const SharedScheme& base,
                                                const AttentionShape& shape, const TensorLookup& lookup) {
  ParamReader params = reader_of(modifier);
  TableReader tables(params, shape, lookup);
  SchemePtr scheme = maker_of(params)(params, shape, tables, base);
  params.refuse_unknown();
  params.refuse_missing();
  const SchemeFacts own = params.facts();
  SchemeFacts facts = base->facts();
  facts.spec += ";with=" + own.spec;
  if (facts.kind == "relative") facts.kind = modifier_info(params.scheme()).kind;
  for (const std::string& remark : own.remarks) facts.remarks.push_back(params.scheme() + ": " + remark);
  for (const SchemeTensor& tensor : tables.found()) facts.tensors.push_back(tensor);
  return {std::move(scheme), std::move(facts)};
}

std::pair<SchemeFacts, std::vector<TableForm>> declare_modifier(std::string_view modifier,
                                                                const AttentionShape& shape) {
  ParamReader params = reader_of(modifier);
  const ModifierMaker make = maker_of(params);
  std::vector<TableForm> forms =
      forms_of(params, [&](TableReader& tables) { make(params, shape, tables, any_base(shape)); });
  SchemeFacts facts = params.facts();
  facts.kind = modifier_info(params.scheme()).kind;
  return {std::move(facts), std::move(forms)};
}

void ScaledQueries::transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const {
  base().transform_query_key(layer, positions, q, k);
  for (size_t r = 0; r < positions.size(); ++r) scale(layer, positions[r], q[static_cast<int64_t>(r)]);
}

void ScaledQueries::transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const {
  base().transform_view(layer, view, positions, q, k);
  for (size_t r = 0; r < positions.size(); ++r) scale(layer, positions[r], q[static_cast<int64_t>(r)]);
}

void refuse_views(const ParamReader& params, const PositionScheme& base) {
  if (!base.views().several()) return;
  throw Error("two modifiers cannot both move the keys of a text", "one of sinks, lambda, rerope, dca and their like",
              base.spec() + ";with=" + params.scheme(), "leave one of them out");
}

MovedKeys::MovedKeys(const ParamReader& params, SharedScheme moved, Views views)
    : ModifiedScheme(std::move(moved)), turning_(dynamic_cast<const TurningScheme*>(&base())), views_(views) {
  refuse_views(params, base());
  if (turning_ == nullptr)
    throw Error("modifier '" + params.scheme() + "' gives keys other places, so it needs a scheme that turns q and k",
                "rope, with any of its parameters, right before it", base().spec() + ";with=" + params.scheme(),
                "rope;with=" + params.scheme() + " (other modifiers after it)");
}

void MovedKeys::transform_query_key(int64_t, Positions positions, Rows q, Rows k) const {
  transform_view(0, 0, positions, q, k);
}

void MovedKeys::transform_view(int64_t, int view, Positions positions, Rows q, Rows k) const {
  for (size_t r = 0; r < positions.size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    if (view < views_.queries) turning_->turn(query_place(view, positions[r]), q[row]);
    if (view < views_.keys) turning_->turn(key_place(view, positions[r]), k[row]);
  }
}

template <class Numbers, class Hook>
void BothEnds::for_each_end(AttentionSite site, Numbers numbers, const Hook& hook) const {
  const std::optional<Ends> ends = base().reads_whole_rows() ? std::nullopt : ends_of(site.query_position);
  if (!ends) return hook(site, numbers);
  const Positions keys = site.key_positions;
  const auto count_below = [&](int64_t position) {
    return static_cast<size_t>(std::ranges::lower_bound(keys, position) - keys.begin());
  };
  const size_t far = count_below(ends->far_end), near = count_below(ends->near_begin);
  site.key_positions = keys.subspan(near);
  hook(site, numbers.subspan(near));
  if (far == 0) return;
  site.query_position = ends->query_place;
  site.key_positions = (ends->far_places.empty() ? keys : ends->far_places).first(far);
  hook(site, numbers.first(far));
}

void BothEnds::add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const {
  for_each_end(site, scores,
               [&](const AttentionSite& end, std::span<float> part) { base().add_to_scores(end, q, part); });
}

void BothEnds::add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const {
  for_each_end(site, weights,
               [&](const AttentionSite& end, std::span<const float> part) { base().add_to_values(end, part, out); });
}

int FarKeys::key_runs(int64_t, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const {
  const int far = query_position >= window_ ? 1 : 0;
  if (far == 1) runs[0] = {.end = query_position - window_ + 1, .query = 1, .key = 1};
  runs[static_cast<size_t>(far)] = {.end = kUnlimited, .query = 0, .key = 0};
  return far + 1;
}

}  // namespace ordinal
