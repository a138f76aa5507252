// plan.cpp: see plan.h.
#include "model/plan.h"

#include <algorithm>

#include "ordinal/error.h"

namespace ordinal {
void for_each_part(const ModelConfig& config,
                   const std::function<void(const PlannedPart& part, int64_t layer)>& visit) {
  const auto in_layers = [](const PlannedPart& part) { return part.is_in_layers(); };
  const auto* const first = std::ranges::find_if(kPlan, in_layers);
  const auto* const last = std::find_if_not(first, kPlan.end(), in_layers);
  const auto run = [&](const PlannedPart* from, const PlannedPart* to, int64_t layer) {
    for (; from != to; ++from)
      if (from->need(config) != Need::none) visit(*from, layer);
  };
  run(kPlan.begin(), first, 0);
  for (int64_t layer = 0; layer < config.n_layers; ++layer) run(first, last, layer);
  run(last, kPlan.end(), 0);
}

std::string part_name(const PlannedPart& part, int64_t layer) {
  return (part.is_in_layers() ? "blk." + std::to_string(layer) + "." : "") + std::string(part.name);
}

void for_each_tensor(const ModelConfig& config, const std::function<void(const PlannedTensor& tensor)>& visit) {
  for_each_part(config, [&](const PlannedPart& part, int64_t layer) {
    if (part.need(config) != Need::tied) visit(planned_tensor(config, part, layer, false));
    if (part.may_have_bias()) visit(planned_tensor(config, part, layer, true));
  });
}

PlannedTensor planned_tensor(const ModelConfig& config, const PlannedPart& part, int64_t layer, bool is_bias) {
  PlannedTensor tensor{.name = part_name(part, layer) + (is_bias ? ".bias" : ".weight"),
                       .part = &part,
                       .is_bias = is_bias,
                       .layer = layer,
                       .shape = {part.n(config)},
                       .required = !is_bias && part.need(config) == Need::required};
  if (!is_bias && part.k != nullptr) tensor.shape.push_back(part.k(config));
  return tensor;
}

PlannedTensor planned_tensor(const ModelConfig& config, std::string_view name, int64_t layer) {
  const size_t dot = name.rfind('.');
  for (const PlannedPart& part : kPlan)
    if (part.name == name.substr(0, dot)) return planned_tensor(config, part, layer, name.substr(dot) == ".bias");
  throw Error("no model has such a tensor", "a name of the plan, such as attn_q.weight", std::string(name));
}

}  // namespace ordinal
