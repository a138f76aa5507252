// rope_settings.h: rotary positions as config.json states them, in the form of transformers 5 (rope_parameters) or the
// one before (rope_theta, rope_scaling), as a position spec.
#pragma once

#include <string>

#include "convert/family.h"

namespace ordinal::convert {

// What a family does when the file does not say, and where it says it.
struct RopeCustoms {
  double theta = 10000;
  double partial = 1;  // share of a head's channels that turn
  bool interleaved = false;
  bool must_state_theta = false;
  std::string_view theta_key = "rope_theta", partial_key = "partial_rotary_factor";
  std::string_view layer_type = {};  // of nested rope_parameters: "full_attention"
  bool takes_scaling = true;         // a scaling at the top is for these layers
  bool yarn_is_longrope = false;     // under an old name
};

// "rope:theta=500000,scaling=llama3,..." for heads of facts.model.head_dim and a length of facts.model.max_seq_len. Of
// longrope it puts the factors into facts.tables, and the original length into max_seq_len: transformers would take
// other angles for a longer text, and so does a session with a longer --ctx.
// Throws Error for a scaling that is not known, and where both forms speak and differ.
std::string read_rope(Settings& settings, FamilyFacts& facts, const RopeCustoms& customs = {});

}  // namespace ordinal::convert
