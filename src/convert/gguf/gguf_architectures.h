// gguf_architectures.h: what GGUF's architectures are, as facts of a model: one row each.
#pragma once

#include <string>
#include <string_view>

#include "convert/gguf/gguf_file.h"
#include "ordinal/model_file.h"

namespace ordinal::convert {

// A file while its architecture is read: what the row sets, and what it may ask.
struct GgufFacts {
  GgufFile& file;
  std::string architecture;
  ModelConfig config = {};
  std::string position = {};  // the native spec

  // A key of the architecture: "rope.freq_base" is "llama.rope.freq_base".
  std::string key(std::string_view name) const { return architecture + "." + std::string(name); }
  bool has_tensor(std::string_view name) const { return file.tensors.contains(name); }
};

struct GgufArchitecture {
  std::string_view name;
  NormKind norm;
  Activation activation;
  bool gated_mlp;
  void (*position)(GgufFacts& facts);
  void (*particular)(GgufFacts& facts) = [](GgufFacts&) {};

  // What the file calls a part of the plan, where that is not its name.
  std::string_view (*name_of)(const GgufFacts& facts,
                              std::string_view part) = [](const GgufFacts&, std::string_view part) { return part; };
};

// The row that general.architecture picks. Throws Error when there is none.
const GgufArchitecture& gguf_architecture(GgufKeys& keys);

// Reads the config and the position spec by the row. Throws Error for keys that are missing, out of range, or of the
// architecture and not known.
void read_gguf_facts(const GgufArchitecture& row, GgufFacts& facts);

}  // namespace ordinal::convert
