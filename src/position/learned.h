// learned.h: a trained table of positions, and what to do past its end; shared by `learned` and `hierarchical`.
#pragma once

#include "position/scheme.h"

namespace ordinal {

// A row to add, as table[row] + weight * (table[toward] - table[from]).
struct BlendedRow {
  int64_t row = 0;
  double weight = 0;
  int64_t toward = 0;
  int64_t from = 0;
};

// What a policy may look at.
struct TableReach {
  int64_t rows = 0;    // L: positions that the table has a row for
  int64_t length = 0;  // positions it is stretched to (resample)
  double alpha = 0;    // share of the outer digit (hierarchical)
};

// How positions become rows. `reach` is one past the last position.
struct BeyondPolicy {
  std::string_view name;
  int64_t (*reach)(const TableReach&);
  BlendedRow (*row)(const TableReach&, int64_t position);
};
std::span<const BeyondPolicy> beyond_policies();

// Asks for alpha and checks it.
double read_alpha(ParamReader& params);

// position_embd.weight [offset + L, d_model].
SchemeTable read_positions(TableReader& tables, const AttentionShape& shape, int64_t offset);

// The scheme over that table, whose first `offset` rows no position has.
SchemePtr make_learned_table(const BeyondPolicy& policy, SchemeTable table, int64_t offset, TableReach reach);

}  // namespace ordinal
