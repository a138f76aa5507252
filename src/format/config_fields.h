// config_fields.h: the fields of ModelConfig in one table, by which a config is read, written and checked.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ordinal/model_file.h"

namespace ordinal {

class Json;
class JsonWriter;

// Whether a file states a fact always. One that is added later is written only where it differs from its default: then
// old files stay readable, and old programs refuse exactly the files they would get wrong.
enum class Stated : uint8_t { always, unless_default };

inline constexpr double kAnyNumber = -std::numeric_limits<double>::infinity();

struct ConfigField {
  std::string_view key;
  std::variant<int64_t ModelConfig::*, float ModelConfig::*, bool ModelConfig::*, NormKind ModelConfig::*,
               NormPlace ModelConfig::*, Residual ModelConfig::*, QkNorm ModelConfig::*, Activation ModelConfig::*,
               TokenId ModelConfig::*, std::vector<int64_t> ModelConfig::*, std::vector<float> ModelConfig::*,
               std::vector<TokenId> ModelConfig::*>
      member;         // a list of numbers has one for each layer, a list of ids any number of them
  double lowest = 0;  // of a number or an id, and of each in a list
  Stated stated = Stated::always;
};

inline constexpr std::array kConfigFields = {
    ConfigField{"vocab_size", &ModelConfig::vocab_size, 1},
    ConfigField{"max_seq_len", &ModelConfig::max_seq_len, 1},
    ConfigField{"d_model", &ModelConfig::d_model, 1},
    ConfigField{"n_layers", &ModelConfig::n_layers, 1},
    ConfigField{"n_heads", &ModelConfig::n_heads, 1},
    ConfigField{"n_kv_heads", &ModelConfig::n_kv_heads, 1},
    ConfigField{"head_dim", &ModelConfig::head_dim, 1},
    ConfigField{"d_ff", &ModelConfig::d_ff, 1},
    ConfigField{"norm", &ModelConfig::norm},
    ConfigField{"norm_place", &ModelConfig::norm_place},
    ConfigField{"norm_epsilon", &ModelConfig::norm_epsilon},
    ConfigField{"activation", &ModelConfig::activation},
    ConfigField{"gated_mlp", &ModelConfig::gated_mlp},
    ConfigField{"tied_output", &ModelConfig::tied_output},
    ConfigField{"embedding_scale", &ModelConfig::embedding_scale, kAnyNumber},
    ConfigField{"attention_scale", &ModelConfig::attention_scale, kAnyNumber},
    ConfigField{"final_norm", &ModelConfig::final_norm, 0, Stated::unless_default},
    ConfigField{"residual", &ModelConfig::residual, 0, Stated::unless_default},
    ConfigField{"residual_scale", &ModelConfig::residual_scale, kAnyNumber, Stated::unless_default},
    ConfigField{"embedding_norm", &ModelConfig::embedding_norm, 0, Stated::unless_default},
    ConfigField{"d_embedding", &ModelConfig::d_embedding, 0, Stated::unless_default},
    ConfigField{"attention_softcap", &ModelConfig::attention_softcap, 0, Stated::unless_default},
    ConfigField{"window", &ModelConfig::window, 0, Stated::unless_default},
    ConfigField{"qkv_clip", &ModelConfig::qkv_clip, 0, Stated::unless_default},
    ConfigField{"qk_norm", &ModelConfig::qk_norm, 0, Stated::unless_default},
    ConfigField{"qk_norm_kind", &ModelConfig::qk_norm_kind, 0, Stated::unless_default},
    ConfigField{"logit_scale", &ModelConfig::logit_scale, kAnyNumber, Stated::unless_default},
    ConfigField{"logit_softcap", &ModelConfig::logit_softcap, 0, Stated::unless_default},
    ConfigField{"bos_id", &ModelConfig::bos_id, -1},
    ConfigField{"eos_ids", &ModelConfig::eos_ids},
};

// Names of the enums' values, in their order.
inline constexpr std::array<std::string_view, 2> kNormKinds = {"layer_norm", "rms_norm"};
inline constexpr std::array<std::string_view, 4> kNormPlaces = {"pre", "post", "output", "both"};
inline constexpr std::array<std::string_view, 3> kResiduals = {"serial", "parallel", "parallel_one_norm"};
inline constexpr std::array<std::string_view, 3> kQkNorms = {"none", "head", "width"};
inline constexpr std::array<std::string_view, 5> kActivations = {"gelu_tanh", "gelu_erf", "relu", "silu",
                                                                 "relu_squared"};

// The largest value of any size, so that products of two stay far from overflow; ids are 32 bits anyway.
inline constexpr int64_t kMaxConfigSize = INT32_MAX;

// The config as a JSON object whose keys are the fields' names, and back. Reading checks the types and the names;
// ModelConfig::validate() checks the values.
std::string config_json(const ModelConfig& config);
void write_config(JsonWriter& json, const ModelConfig& config);
ModelConfig read_config(const Json& json);

}  // namespace ordinal
