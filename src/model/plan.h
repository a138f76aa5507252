// plan.h: the parts of a model in one table: their names in a file, their shapes, which configs have them, and the
// members of Weights that they become.
//
// A part is what Weights holds under one name; its tensors are attn_q.weight and, where the model has one, attn_q.bias.
// Binding, importers, random models and checks walk this table: a new part is a row here and a member in model.h.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "ordinal/model.h"

namespace ordinal {

// What a config says of a part. A bias may always be absent.
enum class Need : uint8_t {
  none,      // such models have no such part
  optional,  // they may have it
  required,
  tied,  // its weight is the token embedding; it may have a bias of its own
};

struct PlannedPart {
  using Size = int64_t (*)(const ModelConfig&);
  using Member = std::variant<const TensorView * Weights::*, Norm Weights::*, Linear Weights::*, Norm LayerWeights::*,
                              Linear LayerWeights::*>;

  std::string_view name;
  Member member;
  Size n;            // outputs: the weight is [n, k] in panels, or [n]; the bias is [n]
  Size k = nullptr;  // inputs of a matrix
  Need (*need)(const ModelConfig&) = [](const ModelConfig&) { return Need::required; };

  constexpr bool is_in_layers() const {
    return std::visit([]<class T, class Owner>(T Owner::*) { return std::is_same_v<Owner, LayerWeights>; }, member);
  }
  constexpr bool may_have_bias() const { return !std::holds_alternative<const TensorView * Weights::*>(member); }
};

namespace plan {

constexpr int64_t v(const ModelConfig& c) { return c.vocab_size; }
constexpr int64_t d(const ModelConfig& c) { return c.d_model; }
constexpr int64_t e(const ModelConfig& c) { return c.embedding_width(); }
constexpr int64_t f(const ModelConfig& c) { return c.d_ff; }
constexpr int64_t heads(const ModelConfig& c) { return c.n_heads * c.head_dim; }
constexpr int64_t kv_heads(const ModelConfig& c) { return c.n_kv_heads * c.head_dim; }
constexpr PlannedPart::Size kNoInputs = nullptr;

constexpr Need if_gated(const ModelConfig& c) { return c.gated_mlp ? Need::required : Need::none; }
constexpr Need if_untied(const ModelConfig& c) { return c.tied_output ? Need::tied : Need::required; }
constexpr Need when(bool there) { return there ? Need::required : Need::none; }
constexpr Need if_projected(const ModelConfig& c) { return when(c.d_embedding != 0); }
constexpr Need if_embedding_norm(const ModelConfig& c) { return when(c.embedding_norm); }
constexpr Need if_qk_norm(const ModelConfig& c) { return when(c.qk_norm != QkNorm::none); }
// A norm of what a sublayer reads, or, in a post-norm model, of the sum.
constexpr Need attn_norm(const ModelConfig& c) { return when(c.norm_place != NormPlace::output); }
constexpr Need ffn_norm(const ModelConfig& c) {
  return when(c.norm_place != NormPlace::output && c.residual != Residual::parallel_one_norm);
}
constexpr Need if_norm_on_output(const ModelConfig& c) {
  return when(c.norm_place == NormPlace::output || c.norm_place == NormPlace::both);
}
// The original, post-norm Transformer ends without a norm of its own.
constexpr Need at_the_end(const ModelConfig& c) {
  if (!c.final_norm) return Need::none;
  return c.norm_place == NormPlace::post ? Need::optional : Need::required;
}

}  // namespace plan

// In the order of a file; what is in layers stands together, and in a file once for each layer, as blk.7.attn_q.weight.
inline constexpr std::array kPlan = {
    PlannedPart{"token_embd", &Weights::token_embd, plan::v, plan::e},
    PlannedPart{"token_embd_norm", &Weights::token_embd_norm, plan::e, plan::kNoInputs, plan::if_embedding_norm},
    PlannedPart{"embd_in", &Weights::embd_in, plan::d, plan::e, plan::if_projected},
    PlannedPart{"attn_norm", &LayerWeights::attn_norm, plan::d, plan::kNoInputs, plan::attn_norm},
    PlannedPart{"attn_q", &LayerWeights::attn_q, plan::heads, plan::d},
    PlannedPart{"attn_k", &LayerWeights::attn_k, plan::kv_heads, plan::d},
    PlannedPart{"attn_v", &LayerWeights::attn_v, plan::kv_heads, plan::d},
    PlannedPart{"attn_q_norm", &LayerWeights::attn_q_norm, plan::heads, plan::kNoInputs, plan::if_qk_norm},
    PlannedPart{"attn_k_norm", &LayerWeights::attn_k_norm, plan::kv_heads, plan::kNoInputs, plan::if_qk_norm},
    PlannedPart{"attn_output", &LayerWeights::attn_output, plan::d, plan::heads},
    PlannedPart{"post_attention_norm", &LayerWeights::post_attention_norm, plan::d, plan::kNoInputs,
                plan::if_norm_on_output},
    PlannedPart{"ffn_norm", &LayerWeights::ffn_norm, plan::d, plan::kNoInputs, plan::ffn_norm},
    PlannedPart{"ffn_gate", &LayerWeights::ffn_gate, plan::f, plan::d, plan::if_gated},
    PlannedPart{"ffn_up", &LayerWeights::ffn_up, plan::f, plan::d},
    PlannedPart{"ffn_down", &LayerWeights::ffn_down, plan::d, plan::f},
    PlannedPart{"post_ffw_norm", &LayerWeights::post_ffw_norm, plan::d, plan::kNoInputs, plan::if_norm_on_output},
    PlannedPart{"output_norm", &Weights::output_norm, plan::d, plan::kNoInputs, plan::at_the_end},
    PlannedPart{"embd_out", &Weights::embd_out, plan::e, plan::d, plan::if_projected},
    PlannedPart{"output", &Weights::output, plan::v, plan::e, plan::if_untied},
};

// Each part that a model of this config has or may have, in the order of a file; `layer` is 0 outside of the layers.
void for_each_part(const ModelConfig& config, const std::function<void(const PlannedPart& part, int64_t layer)>& visit);

// "blk.3.attn_q", "output_norm"
std::string part_name(const PlannedPart& part, int64_t layer);

// One tensor of a part.
struct PlannedTensor {
  std::string name;                   // blk.3.attn_q.weight
  const PlannedPart* part = nullptr;  // attn_q
  bool is_bias = false;
  int64_t layer = 0;
  std::vector<int64_t> shape;
  bool required = false;
};

// The same, tensor by tensor.
void for_each_tensor(const ModelConfig& config, const std::function<void(const PlannedTensor& tensor)>& visit);

PlannedTensor planned_tensor(const ModelConfig& config, const PlannedPart& part, int64_t layer, bool is_bias);

// By its name in a layer, "attn_q.weight". Throws Error when that is not in the plan.
PlannedTensor planned_tensor(const ModelConfig& config, std::string_view name, int64_t layer = 0);

// What a model keeps for a part: calls `visit` with a const TensorView*, a Norm or a Linear, as const as `weights`.
template <class AnyWeights, class Visit>
void with_member(const PlannedPart& part, AnyWeights& weights, int64_t layer, const Visit& visit) {
  std::visit(
      [&]<class T, class Owner>(T Owner::*member) {
        if constexpr (std::is_same_v<Owner, Weights>)
          visit(weights.*member);
        else
          visit(weights.layers[static_cast<size_t>(layer)].*member);
      },
      part.member);
}

}  // namespace ordinal
