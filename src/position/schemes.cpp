// schemes.cpp: the list of schemes, and the making of one from a spec.
#include <algorithm>
#include <tuple>

#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {

void PositionScheme::add_to_embedding(Positions, Rows) const {}
void PositionScheme::transform_query_key(int64_t, Positions, Rows, Rows) const {}
void PositionScheme::add_to_scores(const AttentionSite&, std::span<const float>, std::span<float>) const {}
void PositionScheme::add_to_values(const AttentionSite&, std::span<const float>, std::span<float>) const {}

namespace {

using Maker = SchemePtr (*)(ParamReader&, const AttentionShape&, const TensorLookup&);

constexpr SchemeInfo kSchemes[] = {
#define SCHEME(name, kind, acts_on, tensors, source, summary) {#name, #kind, acts_on, tensors, source, summary},
#include "position/schemes.def"
#undef SCHEME
};
constexpr Maker kMakers[] = {
#define SCHEME(name, kind, acts_on, tensors, source, summary) make_##name,
#include "position/schemes.def"
#undef SCHEME
};

size_t index_of(const std::string& name) {
  const auto* found = std::ranges::find(kSchemes, name, &SchemeInfo::name);
  if (found != std::end(kSchemes)) return static_cast<size_t>(found - kSchemes);
  throw Error("there is no position scheme '" + name + "'", joined(kSchemes, ", ", &SchemeInfo::name), name,
              see_list());
}

struct Made {
  SchemePtr scheme;
  SchemeFacts facts;
};

Made make_one(std::string_view spec, const AttentionShape& shape, const TensorLookup& lookup) {
  ParamReader params(parse_position_spec(spec));
  const size_t index = index_of(params.scheme());
  std::vector<std::string> tensors;
  const auto check_params = [&] {
    params.refuse_unknown();
    params.refuse_missing();
  };
  const TensorLookup noting = [&](std::string_view name) {
    check_params();  // all were asked for by now: a wrong key is a clearer fault than the table it leads to
    const TensorView* view = lookup ? lookup(name) : nullptr;
    if (view != nullptr && std::ranges::find(tensors, name) == tensors.end()) tensors.emplace_back(name);
    return view;
  };
  Made made;
  made.scheme = kMakers[index](params, shape, noting);
  check_params();
  made.facts = params.facts();
  made.facts.kind = kSchemes[index].kind;
  made.facts.tensors = std::move(tensors);
  return made;
}

}  // namespace

std::span<const SchemeInfo> position_schemes() { return kSchemes; }

std::shared_ptr<const PositionScheme> make_position_scheme(std::string_view spec, const AttentionShape& shape,
                                                           const TensorLookup& lookup) {
  const bool by_layer = spec.find(';') != std::string_view::npos;
  Made made;
  if (by_layer)
    std::tie(made.scheme, made.facts) =
        make_per_layer(spec, shape, [&](std::string_view part) { return make_position_scheme(part, shape, lookup); });
  else
    made = make_one(spec, shape, lookup);
  made.scheme->facts_ = std::move(made.facts);
  return std::shared_ptr<const PositionScheme>(std::move(made.scheme));
}

SchemeFacts describe_position_scheme(std::string_view spec, const AttentionShape& shape) {
  ParamReader params(parse_position_spec(spec));
  const size_t index = index_of(params.scheme());
  std::vector<std::string> tensors;
  bool lacked_one = false;
  try {
    kMakers[index](params, shape, [&](std::string_view name) -> const TensorView* {
      tensors.emplace_back(name);
      lacked_one = true;
      return nullptr;
    });
  } catch (const Error&) {
    if (!lacked_one) throw;
  }
  params.refuse_unknown();
  SchemeFacts facts = params.facts();
  facts.kind = kSchemes[index].kind;
  facts.tensors = std::move(tensors);
  return facts;
}

}  // namespace ordinal
