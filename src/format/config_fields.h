// config_fields.h: the fields of ModelConfig as tables, read by whatever checks, reads, writes or shows a config.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ordinal/model_file.h"

namespace ordinal {

class Json;
class JsonWriter;

struct ConfigSize {
  std::string_view key;
  int64_t ModelConfig::*field;
};
inline constexpr std::array<ConfigSize, 8> kConfigSizes = {{{"vocab_size", &ModelConfig::vocab_size},
                                                            {"max_seq_len", &ModelConfig::max_seq_len},
                                                            {"d_model", &ModelConfig::d_model},
                                                            {"n_layers", &ModelConfig::n_layers},
                                                            {"n_heads", &ModelConfig::n_heads},
                                                            {"n_kv_heads", &ModelConfig::n_kv_heads},
                                                            {"head_dim", &ModelConfig::head_dim},
                                                            {"d_ff", &ModelConfig::d_ff}}};

// Names of the enums' values, in their order.
inline constexpr std::array<std::string_view, 2> kNormKinds = {"layer_norm", "rms_norm"};
inline constexpr std::array<std::string_view, 2> kNormPlaces = {"pre", "post"};
inline constexpr std::array<std::string_view, 4> kActivations = {"gelu_tanh", "gelu_erf", "relu", "silu"};

// The largest value of any size, so that products of two stay far from overflow; ids are 32 bits anyway.
inline constexpr int64_t kMaxConfigSize = INT32_MAX;

// The config as a JSON object whose keys are the fields' names, and back. Reading checks the types and the names;
// ModelConfig::validate() checks the values.
std::string config_json(const ModelConfig& config);
void write_config(JsonWriter& json, const ModelConfig& config);
ModelConfig read_config(const Json& json);

}  // namespace ordinal
