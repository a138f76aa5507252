// example_tables.h: made-up tensors for schemes that have some, so that a picture needs no model.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/position.h"

namespace ordinal {

// Seeded tables in the forms that a spec asks for, looking a little like trained ones:
//   position_embd.weight        slow waves along the positions, a frequency and an amplitude per channel, and noise
//   attn_rel_b.weight           a bias that falls with the logarithm of the distance, steeper from head to head
//   blk.N.attn_rel_k, _v        random vectors, shorter with distance
//   attn_xl_r, _u, _v           random
//   rope_factors_short, _long   1 for every pair; rising to 4
class ExampleTables {
 public:
  ExampleTables(std::string_view spec, const AttentionShape& shape);
  TensorLookup lookup() const;  // valid while the object is

 private:
  void add(std::string name, int64_t rows, int64_t cols, std::vector<float> values);

  struct Table {
    std::vector<float> values;
    TensorView view;
  };
  std::deque<Table> tables_;  // views point into it
};

}  // namespace ordinal
