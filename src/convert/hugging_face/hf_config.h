// hf_config.h: config.json of a Hugging Face folder as facts: which family it is, and what that family makes of it.
#pragma once

#include <string>

#include "base/json.h"
#include "convert/family.h"

namespace ordinal::convert {

struct HfConfig {
  const Family* family = nullptr;
  FamilyFacts facts;
};

// Throws Error for a model that is no decoder of a known family, and for a setting that is missing, out of range, or
// would change what the model computes in a way that the engine does not do. `name` is the document in messages.
HfConfig read_hf_config(const Json& config, const std::string& name, const Note& note);

// Takes what ends a text from generation_config.json, which wins over config.json where it says so.
void read_generation_config(const Json& generation, const std::string& name, FamilyFacts& facts, const Note& note);

}  // namespace ordinal::convert
