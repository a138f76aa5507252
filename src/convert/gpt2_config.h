// gpt2_config.h: config.json of a Hugging Face GPT-2 folder as facts.
#pragma once

#include <string>
#include <vector>

#include "convert/json_file.h"
#include "convert/stored.h"
#include "ordinal/model_file.h"

namespace ordinal::convert {

struct Gpt2Config {
  ModelConfig model;  // all but attention_scale and tied_output, which depend on the weights
  bool scale_by_head_dim = true;
  bool scale_by_layer = false;
  bool tie_head = true;
  std::string position;                        // as the folder states it; "learned" when it says nothing
  std::vector<std::string> trained_positions;  // as stated; `position` alone when it says nothing

  // What multiplies q·k in a layer.
  float attention_scale(int64_t layer) const;
};

// Throws Error for a setting that is missing, out of range, or would change what the model computes in a way that
// the engine does not do; also for settings it has never heard of. `name` is the document in messages.
Gpt2Config read_gpt2_config(const Json& config, const std::string& name, const Note& note);

// Takes what ends a text from generation_config.json, which wins over config.json where it says so.
void read_generation_config(const Json& generation, const std::string& name, Gpt2Config& facts, const Note& note);

}  // namespace ordinal::convert
