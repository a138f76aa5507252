// plan.cpp: see plan.h.
#include "study/sweep/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/words.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "study/compare/presets.h"

namespace ordinal {
namespace {

constexpr size_t kSchemesOfUnit = 4;  // beside the reference, which each unit runs again
constexpr std::array kProtocols = {kWhole, kSliding};
constexpr std::array<std::string_view, 3> kTasks = {"copy", "find", "passkey"};
constexpr std::array<std::string_view, 9> kKeys = {"models", "texts", "schemes",   "lengths", "protocols",
                                                   "tasks",  "seeds", "reference", "tokens"};
constexpr size_t kMostSpecs = 10000;

// The items of a list, none twice; `read` makes one of a value.
template <class Item, class Read>
void read_list(const Json& plan, std::string_view key, std::vector<Item>& items, const Read& read) {
  const Json* list = find(plan, key);
  if (list == nullptr) return;
  items.clear();
  for (const Json& value : array(*list, std::string(key)))
    for (Item& item : read(value))
      if (std::ranges::find(items, item) == items.end()) items.push_back(std::move(item));
  if (items.empty())
    list->fail("an empty list in a plan", "one value or more, or no '" + std::string(key) + "' at all", "[]");
}

template <size_t N>
auto word_of(const std::array<std::string_view, N>& words, std::string_view key) {
  return [&words, key](const Json& value) {
    return std::vector{std::string(words[one_of(words, value, std::string(key))])};
  };
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view text) {
  std::vector<std::string> specs = {""};
  const auto refuse = [&](const std::string& what) {
    throw Error(what, "a list in braces, as in rope:factor={2,4,8}", in_quotes(text));
  };
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find_first_of("{}", at), text.size());
    for (std::string& spec : specs) spec += text.substr(at, open - at);
    if (open == text.size()) break;
    const size_t close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string_view::npos || text[close] == '{')
      refuse("a brace in a spec has no other half");
    std::vector<std::string> longer;
    for (size_t begin = open + 1; begin <= close;) {
      const size_t end = std::min(text.find(',', begin), close);
      if (end == begin) refuse("a value in braces is empty");
      for (const std::string& spec : specs) longer.push_back(spec + std::string(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    if (longer.size() > kMostSpecs) refuse("the braces of a spec make more than 10,000 specs");
    specs = std::move(longer);
    at = close + 1;
  }
  return specs;
}

SweepPlan parse_sweep_plan(std::string_view json, const std::string& name) {
  const JsonDocument document = parse_json(json, name);
  const Json& root = document;
  check_members(root, "a plan", {}, kKeys);
  SweepPlan plan;
  const auto path = [](const Json& value) { return std::vector{text(value, "a path")}; };
  read_list(root, "models", plan.models, path);
  read_list(root, "texts", plan.texts, path);
  read_list(root, "schemes", plan.schemes, [](const Json& value) {
    std::vector<std::string> specs = expand_braces(text(value, "a scheme"));
    for (const std::string& spec : specs)
      if (!spec.starts_with('@')) check_position_spec(spec);
    return specs;
  });
  read_list(root, "lengths", plan.lengths,
            [](const Json& value) { return std::vector{whole_number(value, "a length", 1, int64_t{1} << 40)}; });
  read_list(root, "protocols", plan.protocols, word_of(kProtocols, "protocols"));
  read_list(root, "tasks", plan.tasks, word_of(kTasks, "tasks"));
  read_list(root, "seeds", plan.seeds, [](const Json& value) { return std::vector{natural(value, "a seed")}; });
  if (const Json* reference = find(root, "reference")) {
    plan.reference = text(*reference, "the reference");
    check_position_spec(plan.reference);
  }
  if (const Json* tokens = find(root, "tokens")) plan.tokens = whole_number(*tokens, "tokens", 0, int64_t{1} << 40);
  return plan;
}

std::vector<SweepUnit> units_of(const SweepPlan& plan, const Model& model, const std::string& model_name,
                                const TokenStream& text) {
  std::vector<int64_t> lengths = plan.lengths;
  if (lengths.empty()) lengths = {model.config().max_seq_len};
  std::vector<SweepUnit> units;
  const std::vector<std::string> positions = chosen_positions(model, plan.schemes, lengths);
  const auto add = [&](const std::string& work, bool is_task, int64_t length, uint64_t seed) {
    for (size_t first = 0; first < positions.size(); first += kSchemesOfUnit) {
      const auto end = positions.begin() + static_cast<ptrdiff_t>(std::min(first + kSchemesOfUnit, positions.size()));
      units.push_back({.model = model_name,
                       .text = text.name,
                       .work = work,
                       .is_task = is_task,
                       .length = length,
                       .seed = is_task ? seed : 0,
                       .positions = {positions.begin() + static_cast<ptrdiff_t>(first), end},
                       .reference = is_task ? "" : plan.reference});
    }
  };
  for (const int64_t length : lengths) {
    for (const std::string& protocol : plan.protocols) add(protocol, false, length, 0);
    for (const std::string& task : plan.tasks)
      for (const uint64_t seed : plan.seeds) add(task, true, length, seed);
  }
  return units;
}

double cost_of(const SweepUnit& unit, const Model& model, const TokenStream& text) {
  constexpr double kTaskWindows = 20;  // at most, about
  const ModelConfig& c = model.config();
  double weights = 0;
  for (const TensorView& tensor : model.file().tensors())
    if (tensor.shape.size() == 2) weights += static_cast<double>(tensor.shape[0] * tensor.shape[1]);
  const auto length = static_cast<double>(unit.length);
  const double attention =
      length * static_cast<double>(c.n_layers * c.n_heads * c.head_dim);  // a token's, halved, twice
  const double tokens = unit.is_task            ? kTaskWindows * length
                        : unit.work == kSliding ? 2 * static_cast<double>(text.tokens.size())
                                                : static_cast<double>(text.tokens.size());
  const auto schemes = static_cast<double>(unit.positions.size() + (unit.reference.empty() ? 0 : 1));
  return tokens * schemes * (weights + attention);
}

}  // namespace ordinal
