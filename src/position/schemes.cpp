// schemes.cpp: the list of schemes, and the making of one from a spec.
#include <algorithm>
#include <tuple>

#include "base/words.h"
#include "position/making.h"

namespace ordinal {

void PositionScheme::add_to_embedding(Positions, Rows) const {}
void PositionScheme::transform_query_key(int64_t, Positions, Rows, Rows) const {}
void PositionScheme::add_to_scores(const AttentionSite&, std::span<const float>, std::span<float>) const {}
void PositionScheme::add_to_values(const AttentionSite&, std::span<const float>, std::span<float>) const {}
void PositionScheme::transform_view(int64_t, int, Positions, Rows, Rows) const {}
int PositionScheme::key_runs(int64_t, int64_t, std::span<KeyRun, KeyRun::kMost> runs) const {
  runs[0] = {.end = kUnlimited, .query = 0, .key = 0};
  return 1;
}

namespace {

using Maker = SchemePtr (*)(ParamReader&, const AttentionShape&, TableReader&);

constexpr SchemeInfo kSchemes[] = {
#define SCHEME(name, kind, acts_on, source, summary) {#name, #kind, acts_on, source, summary},
#include "position/schemes.def"
#undef SCHEME
};
constexpr Maker kMakers[] = {
#define SCHEME(name, kind, acts_on, source, summary) make_##name,
#include "position/schemes.def"
#undef SCHEME
};

size_t index_of(std::string_view name) { return static_cast<size_t>(&scheme_info(name) - kSchemes); }

struct Made {
  SchemePtr scheme;
  SchemeFacts facts;
};

Made make_one(std::string_view spec, const AttentionShape& shape, const TensorLookup& lookup) {
  ParamReader params(parse_position_spec(spec));
  const size_t index = index_of(params.scheme());
  TableReader tables(params, shape, lookup);
  Made made;
  made.scheme = kMakers[index](params, shape, tables);
  params.refuse_unknown();
  params.refuse_missing();
  made.facts = params.facts();
  made.facts.kind = kSchemes[index].kind;
  made.facts.tensors = tables.found();
  return made;
}

// The parameters of a scheme, and the tables that it declares.
std::pair<SchemeFacts, std::vector<TableForm>> declare(std::string_view spec, const AttentionShape& shape) {
  ParamReader params(parse_position_spec(spec));
  const size_t index = index_of(params.scheme());
  std::vector<TableForm> forms = forms_of(params, [&](TableReader& tables) { kMakers[index](params, shape, tables); });
  SchemeFacts facts = params.facts();
  facts.kind = kSchemes[index].kind;
  return {std::move(facts), std::move(forms)};
}

SchemeFacts with_tensors(std::pair<SchemeFacts, std::vector<TableForm>> declared) {
  auto& [facts, forms] = declared;
  for (const TableForm& form : forms) {
    SchemeTensor& tensor = facts.tensors.emplace_back();
    tensor.name = form.name;
    for (const TableSize& size : form.shape) tensor.shape.push_back(size.count);
    tensor.is_optional = form.is_optional;
  }
  return std::move(facts);
}

}  // namespace

std::span<const SchemeInfo> position_schemes() { return kSchemes; }

const SchemeInfo& scheme_info(std::string_view name) {
  const auto* found = std::ranges::find(kSchemes, name, &SchemeInfo::name);
  if (found != std::end(kSchemes)) return *found;
  throw Error("there is no position scheme '" + std::string(name) + "'", joined(kSchemes, ", ", &SchemeInfo::name),
              std::string(name), see_list());
}

std::shared_ptr<const PositionScheme> make_position_scheme(std::string_view spec, const AttentionShape& shape,
                                                           const TensorLookup& lookup) {
  Made made;
  const size_t with = spec.rfind(';');
  if (with == std::string_view::npos)
    made = make_one(spec, shape, lookup);
  else if (end_of_modified(spec) == spec.size())
    std::tie(made.scheme, made.facts) =
        make_modified(parse_modified_spec(spec).modifiers.back(),
                      make_position_scheme(spec.substr(0, with), shape, lookup), shape, lookup);
  else
    std::tie(made.scheme, made.facts) =
        make_per_layer(spec, shape, [&](std::string_view part) { return make_position_scheme(part, shape, lookup); });
  made.scheme->facts_ = std::move(made.facts);
  return std::shared_ptr<const PositionScheme>(std::move(made.scheme));
}

SchemeFacts describe_position_scheme(std::string_view spec, const AttentionShape& shape) {
  return with_tensors(declare(spec, shape));
}

SchemeFacts describe_position_modifier(std::string_view modifier, const AttentionShape& shape) {
  return with_tensors(declare_modifier(modifier, shape));
}

std::vector<TableForm> declared_tables(std::string_view spec, const AttentionShape& shape) {
  const ModifiedSpec cut = parse_modified_spec(spec);
  std::vector<TableForm> forms = declare(cut.base, shape).second;
  for (const std::string& modifier : cut.modifiers)
    for (TableForm& form : declare_modifier(modifier, shape).second) forms.push_back(std::move(form));
  return forms;
}

std::vector<std::string> schemes_without_tensors() {
  constexpr AttentionShape kAny{
      .n_layers = 1, .d_model = 64, .n_heads = 1, .n_kv_heads = 1, .head_dim = 64, .trained_length = 1, .length = 1};
  std::vector<std::string> names;
  for (const SchemeInfo& info : kSchemes)
    if (info.kind != "lab" && std::ranges::all_of(declared_tables(info.name, kAny), &TableForm::is_optional))
      names.emplace_back(info.name);
  return names;
}

}  // namespace ordinal
