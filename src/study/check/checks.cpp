// checks.cpp: which checks go with which scheme.
#include "study/check/checks.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "ordinal/error.h"
#include "position/scheme.h"
#include "study/check/check_model.h"
#include "study/check/checks_engine.h"
#include "study/check/checks_scores.h"
#include "study/check/checks_sinusoid.h"
#include "study/check/toy_network.h"
#include "study/places.h"

namespace ordinal {
namespace {

constexpr int64_t kLength = 256;  // of the sessions that schemes are made for: twice the random model's trained length
constexpr int64_t kLayers = 3;
constexpr int64_t kWords = 5000;  // random tokens of C9 and C10

void append(Checks& checks, Checks more) {
  checks.insert(checks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// The names of the schemes in a spec, the first and those of some layers.
std::vector<std::string> names_in(std::string_view spec) {
  const LayeredSpec parsed = parse_layered_spec(spec);
  std::vector<std::string> names = {parse_first_scheme(parsed.base).name};
  for (const LayeredSpec::Part& part : parsed.parts) names.push_back(parse_first_scheme(part.spec).name);
  return names;
}

// Of a scheme's name: whether it acts on this and on nothing else.
auto acts_on(std::string_view what) {
  return [what](std::string_view name) { return scheme_info(name).acts_on == what; };
}

Subject subject_of(std::shared_ptr<const Model> model, std::string_view spec, int64_t length) {
  Subject subject{.model = std::move(model), .scheme = nullptr, .name = ""};
  subject.scheme = subject.model->make_scheme(spec, length);
  subject.name = subject.scheme->spec();
  subject.relative = subject.scheme->facts().kind == "relative";
  subject.anchored = subject.scheme->facts().kind == "anchored";
  subject.turns = std::ranges::any_of(names_in(subject.name), acts_on("q and k"));
  return subject;
}

// Whether a single layer may be blind to the order of three words before it, since their distances share an entry.
bool merges_near_distances(const SchemeFacts& facts) {
  const auto below = [&](const char* key, int64_t most) {
    const std::string value = facts.param(key);
    return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos && std::stoll(value) <= most;
  };
  return below("clip", 2) || below("clamp", 2) || below("buckets", 6);
}

void add_sinusoidal(Checks& checks, const Model& model, std::string_view spec) {
  const auto at_width = [&](int64_t d_model) {
    AttentionShape shape{.n_layers = 1,
                         .d_model = d_model,
                         .n_heads = 1,
                         .n_kv_heads = 1,
                         .head_dim = 64,
                         .trained_length = model.config().max_seq_len,
                         .length = kLength};
    return make_position_scheme(spec, shape, {});
  };
  for (const bool in_double : {true, false}) {
    const auto rows_at = [&](int64_t d_model, Sinusoid& sinusoid) {
      const std::shared_ptr<const PositionScheme> scheme = at_width(d_model);
      sinusoid = sinusoid_of(scheme->facts(), d_model);
      return in_double ? formula_rows(sinusoid, scheme->spec()) : engine_rows(scheme, scheme->spec(), d_model);
    };
    Sinusoid sinusoid;
    PositionRows rows = rows_at(512, sinusoid);
    checks.push_back(check_rotation(rows, sinusoid));
    append(checks, check_dot_products(rows, sinusoid));
    append(checks, check_similarity(rows, sinusoid));
    rows = rows_at(312, sinusoid);
    append(checks, check_dot_products(rows, sinusoid));
    rows = rows_at(64, sinusoid);
    append(checks, check_similarity(rows, sinusoid));
    rows = rows_at(768, sinusoid);
    append(checks, check_bounded(rows, 512, &sinusoid));
    if (in_double) continue;
    append(checks, check_orthogonality(rows, kWords, sinusoid.as_published() && !sinusoid.concat));
    append(checks, check_no_collision(rows, sinusoid, kWords));
  }
}

void add_rope(Checks& checks, const Model& model, std::string_view spec) {
  const ModelConfig& c = model.config();
  const std::shared_ptr<const PositionScheme> scheme = model.make_scheme(spec, kLength);
  const std::string& name = scheme->spec();
  const AttentionShape shape = attention_shape(c, kLength);
  const TensorLookup lookup = [&](std::string_view tensor) { return model.file().find(tensor); };
  const Rotation rotation = rotation_of(spec, shape, lookup);
  const HeadTurn formula = formula_turn(rotation, name, c.head_dim), engine = engine_turn(scheme, name, c.head_dim);
  checks.push_back(check_distance_only(formula));
  checks.push_back(check_distance_only(engine));
  checks.push_back(check_turn(engine, formula));
  if (!rotation.scaled)
    for (const HeadTurn* head : {&formula, &engine}) checks.push_back(check_score_curve(*head, rotation));

  // The toy network's head is narrower: the same scheme with as many pairs as it has room for.
  Rotation narrow = rotation;
  std::vector<double>& frequencies = narrow.angles.frequencies;
  const size_t room = static_cast<size_t>(kToyWidth) / 2, step = std::max<size_t>(1, frequencies.size() / room);
  for (size_t i = 0; i < room && i * step < frequencies.size(); ++i) frequencies[i] = frequencies[i * step];
  frequencies.resize(std::min(room, frequencies.size()));
  const ToyNetwork toy{.n_layers = 2, .causal = true, .turn = formula_turn(narrow, name, kToyWidth).turn};
  checks.push_back(check_toy_shift(toy, name));
}

void add_alibi(Checks& checks, std::string_view spec) {
  for (const int64_t heads : {8, 12}) {
    const AttentionShape shape{.n_layers = 1,
                               .d_model = 64 * heads,
                               .n_heads = heads,
                               .n_kv_heads = heads,
                               .head_dim = 64,
                               .trained_length = 1024,
                               .length = kLength};
    const std::shared_ptr<const PositionScheme> scheme = make_position_scheme(spec, shape, {});
    const bool naive = scheme->facts().param("slopes") == "naive";
    const std::vector<double> slopes = alibi_slopes(heads, std::stod(scheme->facts().param("max_bias")), naive);
    const ScorePenalty engine = engine_penalty(scheme, scheme->spec(), heads);
    checks.push_back(check_slopes(engine, slopes));
    append(checks, check_geometric(formula_penalty(slopes, scheme->spec()), slopes));
    append(checks, check_geometric(engine, slopes));
  }
}

void add_none(Checks& checks, std::string_view spec) {
  for (const int64_t layers : {1, 2, 4}) checks.push_back(check_toy_permuted({.n_layers = layers, .causal = false}));
  for (const int64_t layers : {1, 2, 4}) checks.push_back(check_toy_prefix({.n_layers = layers}));
  append(checks, check_toy_counting({.n_layers = 4}));
  for (const int64_t layers : {int64_t{1}, kLayers})
    checks.push_back(check_prefix(subject_of(make_check_model(spec, layers), spec, kLength)));
  append(checks, check_counting(subject_of(make_check_model(spec, kLayers), spec, kLength)));
}

}  // namespace

std::vector<std::string> specs_to_check() {
  std::vector<std::string> specs;
  for (const SchemeInfo& info : position_modifiers()) specs.push_back("rope;with=" + std::string(info.name));
  for (const SchemeInfo& info : position_schemes())
    if (info.kind != "lab") specs.emplace_back(info.name);
  for (const RopeScaling& scaling : rope_scaling_table()) {
    if (scaling.info.name == "none") continue;
    std::string spec = "rope:scaling=" + std::string(scaling.info.name);
    const AttentionShape shape{.n_layers = 1,
                               .d_model = 64,
                               .n_heads = 1,
                               .n_kv_heads = 1,
                               .head_dim = 64,
                               .trained_length = 1024,
                               .length = kLength};
    for (const SchemeParam& param : describe_position_scheme(spec, shape).params)
      if (param.value.empty()) spec += "," + param.key + "=4";  // what a scaling requires is its factor
    specs.push_back(std::move(spec));
  }
  return specs;
}

Checks check_scheme(std::string_view spec) {
  const std::vector<std::string> names = names_in(spec);
  if (std::ranges::count(names, "native") > 0)
    throw Error("native is the scheme of a model, and no model was named", "a scheme's own spec, or a model",
                std::string(spec), "ordinal positions check " + std::string(spec) + " -m MODEL");
  const std::shared_ptr<const Model> model = make_check_model(spec, kLayers);
  const Subject subject = subject_of(model, spec, kLength);
  Checks checks;

  // Formulas, of each scheme in the spec.
  const LayeredSpec parsed = parse_layered_spec(spec);
  std::vector<std::string> parts = {parsed.base};
  for (const LayeredSpec::Part& part : parsed.parts)
    if (std::ranges::count(parts, part.spec) == 0) parts.push_back(part.spec);
  for (const std::string& part : parts) {
    if (part.find(';') != std::string::npos) continue;  // a modified scheme's formulas are not the scheme's
    const std::string name = parse_position_spec(part).name;
    if (name == "sinusoidal") add_sinusoidal(checks, *model, part);
    if (name == "rope") add_rope(checks, *model, part);
    if (name == "alibi") add_alibi(checks, part);
    if (name == "none") add_none(checks, part);
    if (!acts_on("embedding")(name)) continue;
    const Subject table = subject_of(model, part, kLength);
    if (table.scheme->facts().tensors.empty()) continue;
    checks.push_back(check_collisions(table).back());  // the lengths of random rows say nothing
    append(checks, check_bounded(engine_rows(table.scheme, table.name, model->config().d_model), rows_to_look_at(table),
                                 nullptr));
  }

  // The engine. A single layer sees order only through a scheme.
  append(checks, check_shift(subject));
  append(checks, check_places(subject, places_of_keys));
  if (parts.size() == 1 && parsed.parts.empty() && parsed.base.find(';') == std::string::npos) {
    const Subject single = subject_of(make_check_model(spec, 1), spec, kLength);
    if (!merges_near_distances(single.scheme->facts()))
      checks.push_back(check_word_order(single, !acts_on("nothing")(names.front())));
  }
  checks.push_back(check_word_order(subject, true));
  checks.push_back(check_same_bits(subject));
  return checks;
}

Checks check_checkpoint(const std::shared_ptr<const Model>& model, std::string_view spec) {
  const ModelConfig& c = model->config();
  if (c.vocab_size < 4)
    throw Error("the checks need four different tokens", "a vocabulary of 4 or more", std::to_string(c.vocab_size));
  const Subject subject = subject_of(model, spec, c.max_seq_len);
  const std::string& kind = subject.scheme->facts().kind;
  const std::vector<std::string> names = names_in(subject.name);
  Checks checks;
  // LayerNorm takes away what a lab scheme adds to all channels alike, so nothing is promised of them there.
  const bool unseen = kind == "lab" && c.norm == NormKind::layer_norm;
  // A penalty that is rounded position by position depends on where the text starts, by the rounding.
  const bool rounded = subject.scheme->facts().param("rounding") == "bf16";
  if (!unseen && !rounded) append(checks, check_shift(subject));
  const bool nothing = std::ranges::all_of(names, acts_on("nothing"));
  append(checks, check_places(subject, places_of_keys));
  const bool blind = c.n_layers == 1 && (nothing || unseen);
  if (c.n_layers > 1 || blind || !merges_near_distances(subject.scheme->facts()))
    checks.push_back(check_word_order(subject, !blind));
  if (!subject.relative && !subject.anchored) {
    append(checks, check_collisions(subject));
    const PositionRows rows = engine_rows(subject.scheme, subject.name, c.d_model);
    const int64_t count = rows_to_look_at(subject);
    const bool sines = names.front() == "sinusoidal";
    const Sinusoid sinusoid = sines ? sinusoid_of(subject.scheme->facts(), c.d_model) : Sinusoid{};
    if (count > 1) append(checks, check_bounded(rows, count, sines ? &sinusoid : nullptr));
  }
  checks.push_back(check_same_bits(subject));
  return checks;
}

}  // namespace ordinal
