// family.h: what a family of models calls the parts of the plan, and how it fuses them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "convert/hf_weights.h"
#include "convert/stored.h"
#include "model/plan.h"

namespace ordinal::convert {

// The outputs of q, k and v in a tensor that holds all of q, then all of k, then all of v.
Share q_of_qkv(const ModelConfig& config);
Share k_of_qkv(const ModelConfig& config);
Share v_of_qkv(const ModelConfig& config);

enum class Bias : uint8_t { always, maybe };

struct FamilyPart {
  std::string_view part;                         // "attn_q", a name of the plan
  std::string_view name;                         // "h.#.attn.c_attn", # standing for the layer
  Share (*share)(const ModelConfig&) = nullptr;  // of a tensor that holds several parts
  bool turned = false;                           // the weight is [inputs, outputs], as Conv1D keeps it
  Bias bias = Bias::always;
};

// Where a tensor of the plan lies, or nothing where the family need not have it. Throws Error when it must be there and
// is not, or has another shape.
std::optional<Origin> find_in_family(std::span<const FamilyPart> family, const ModelConfig& config, HfWeights& weights,
                                     const PlannedTensor& tensor);

}  // namespace ordinal::convert
