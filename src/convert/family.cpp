// family.cpp: see family.h.
#include "convert/family.h"

#include <algorithm>
#include <string>

namespace ordinal::convert {
namespace {

struct Widths {
  int64_t q, kv, all;
};

Widths widths_of(const ModelConfig& c) {
  const int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  return {q, kv, q + 2 * kv};
}

}  // namespace

Share q_of_qkv(const ModelConfig& config) {
  const Widths w = widths_of(config);
  return {0, w.q, w.all};
}

Share k_of_qkv(const ModelConfig& config) {
  const Widths w = widths_of(config);
  return {w.q, w.kv, w.all};
}

Share v_of_qkv(const ModelConfig& config) {
  const Widths w = widths_of(config);
  return {w.q + w.kv, w.kv, w.all};
}

std::optional<Origin> find_in_family(std::span<const FamilyPart> family, const ModelConfig& config, HfWeights& weights,
                                     const PlannedTensor& tensor) {
  const auto row = std::ranges::find(family, tensor.part->name, &FamilyPart::part);
  if (row == family.end()) return std::nullopt;
  std::string name = std::string(row->name) + (tensor.is_bias ? ".bias" : ".weight");
  if (const size_t at = name.find('#'); at != std::string::npos) name.replace(at, 1, std::to_string(tensor.layer));
  const bool needed = tensor.is_bias ? row->bias == Bias::always : tensor.required;
  if (!needed && !weights.has(name)) return std::nullopt;

  Origin origin{.at = {}, .turned = row->turned && !tensor.is_bias};
  if (row->share != nullptr) origin.share = row->share(config);
  std::vector<int64_t> shape = tensor.shape;
  shape[0] = origin.share.outputs_in_all(shape[0]);
  if (origin.turned) std::swap(shape[0], shape[1]);
  origin.at = weights.take(name, shape);
  return origin;
}

}  // namespace ordinal::convert
