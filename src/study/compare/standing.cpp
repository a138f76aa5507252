// standing.cpp: see standing.h.
#include "study/compare/standing.h"

#include <algorithm>

#include "base/words.h"
#include "ordinal/error.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

// Tables that the weights were trained with and that this scheme does not read.
std::vector<std::string> ignored_tables(const PositionScheme& native, const PositionScheme& scheme) {
  std::vector<std::string> names;
  const auto& read = scheme.facts().tensors;
  for (const SchemeTensor& tensor : native.facts().tensors)
    if (std::ranges::find(read, tensor.name, &SchemeTensor::name) == read.end()) names.push_back(tensor.name);
  return names;
}

// The parameters that stretch a scheme and leave it what it is.
struct Stretch {
  std::string_view name;
  std::string_view family;  // it is this scheme with a longer reach
  std::vector<std::string_view> keys;
};
const std::vector<Stretch>& stretches() {
  static const std::vector<Stretch> kAll = {
      {"rope",
       "rope",
       {"scaling", "factor", "original_length", "length", "beta_fast", "beta_slow", "ramp", "truncate",
        "attention_factor", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor"}},
      {"learned", "learned", {"beyond", "alpha", "length"}},
      {"hierarchical", "learned", {"alpha"}},
      {"none", "none", {"logit_scale"}}};
  return kAll;
}

// Modifiers that do likewise: those under which far keys stand nearer, and Qwen's factor past the trained length.
bool carries_further(const std::string& modifier) {
  const SchemeInfo& info = modifier_info(parse_position_spec(modifier).name);
  return info.acts_on == "views" || info.name == "logn";
}

// The model's own positions, taken away in some places.
bool is_ablation(const std::string& spec, const std::string& native) {
  const LayeredSpec mine = parse_layered_spec(spec), its = parse_layered_spec(native);
  if (mine.base != its.base) return false;
  bool taken = false;
  for (const LayeredSpec::Part& part : mine.parts) {
    const bool kept = std::ranges::any_of(
        its.parts, [&](const LayeredSpec::Part& other) { return other.spec == part.spec && part.spec != "none"; });
    if (!kept && part.spec != "none") return false;
    taken = taken || part.spec == "none";
  }
  return taken;
}

Question question_of(const std::string& spec, const std::string& native, const std::vector<std::string>& trained) {
  if (spec == native) return Question::own;
  if (std::ranges::find(trained, spec) != trained.end()) return Question::joint;
  if (is_ablation(spec, native)) return Question::ablation;
  const auto stretched = [&](const std::string& of) { return is_extension(spec, of); };
  return stretched(native) || std::ranges::any_of(trained, stretched) ? Question::extension : Question::swap;
}

}  // namespace

std::string unstretched(const std::string& text) {
  ModifiedSpec plain = parse_modified_spec(text);
  std::erase_if(plain.modifiers, carries_further);
  const PositionSpec spec = parse_position_spec(plain.base);
  const auto found = std::ranges::find(stretches(), spec.name, &Stretch::name);
  if (found == stretches().end()) return plain.text();
  plain.base = found->family;
  char before = ':';
  for (const auto& [key, value] : spec.params) {
    if (std::ranges::find(found->keys, key) != found->keys.end()) continue;
    plain.base += before + key + "=" + value;
    before = ',';
  }
  return plain.text();
}

bool is_extension(const std::string& spec, const std::string& of) {
  if (spec == of) return false;
  const LayeredSpec mine = parse_layered_spec(spec), its = parse_layered_spec(of);
  if (mine.parts.size() != its.parts.size()) return false;
  for (size_t i = 0; i < mine.parts.size(); ++i)
    if (mine.parts[i].list != its.parts[i].list || unstretched(mine.parts[i].spec) != unstretched(its.parts[i].spec))
      return false;
  return unstretched(mine.base) == unstretched(its.base);
}

Stand stand_of(const Model& model, const std::string& spec, int64_t length) {
  std::shared_ptr<const PositionScheme> scheme;
  try {
    scheme = model.make_scheme(spec, length);
  } catch (const Error& error) {
    return {.standing = Standing::refused, .question = Question::swap, .reason = error.summary(), .scheme = nullptr};
  }
  Stand stand = stand_of(model, *scheme, length);
  stand.scheme = std::move(scheme);
  return stand;
}

Stand stand_of(const Model& model, const PositionScheme& scheme, int64_t length) {
  using enum Standing;
  std::vector<std::string> trained_specs = model.file().notes().trained_positions;
  const int64_t trained_length = model.config().max_seq_len;
  // Made only where it is another scheme: some take seconds to make.
  const std::string& stated = model.file().notes().position;
  const std::shared_ptr<const PositionScheme> other_native =
      scheme.spec() == stated ? nullptr : model.make_scheme("native", length);
  const PositionScheme& native = other_native ? *other_native : scheme;
  if (trained_specs.empty()) trained_specs = {native.spec()};  // the file does not say more
  Stand stand;
  stand.question = question_of(scheme.spec(), native.spec(), trained_specs);
  if (length > trained_length) {
    stand.standing = extrapolating;
    stand.reason = "longer than the trained length of " + std::to_string(trained_length) +
                   ": the weights saw no such positions, whatever the scheme";
    return stand;
  }
  if (std::ranges::find(trained_specs, scheme.spec()) != trained_specs.end()) {
    const bool alone = trained_specs.size() == 1;
    stand.standing = alone ? trained : jointly;
    stand.reason =
        alone ? "the weights were trained under it"
              : "the weights were trained under " + std::to_string(trained_specs.size()) + " schemes, this among them";
    return stand;
  }
  const AttentionShape shape = attention_shape(model.config(), length);
  for (const std::string& other : trained_specs)
    if (schemes_agree(scheme, *model.make_scheme(other, length), shape, length)) {
      stand.standing = exact;
      stand.reason = "the same bits as " + other + ", which the weights were trained under, at the first " +
                     std::to_string(length) + " positions";
      return stand;
    }
  stand.standing = untrained;
  stand.reason = "the weights never saw these positions; this shows how they lean on " + joined(trained_specs) +
                 " and is no verdict on the scheme";
  const std::vector<std::string> ignored = ignored_tables(native, scheme);
  if (!ignored.empty()) stand.reason += " (" + joined(ignored) + " ignored)";
  return stand;
}

}  // namespace ordinal
