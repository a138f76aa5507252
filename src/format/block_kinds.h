// block_kinds.h: the block kinds as rows of a table: where a block has which of its numbers, and how it is rounded.
#pragma once

#include "format/block_panels.h"

namespace ordinal {

// A block begins with `halves` numbers in f16: d and, where there are offsets, o. Then come stretches of 32 weights:
// signed bytes that are their scales and offsets, and 4 * `bits` bytes with the multiples, each `zero` higher.
//   8 bits     signed bytes
//   4 bits     byte i has weight i in its lower half and weight i + 16 in its upper one
//   5, 6 bits  the same, then the bits above: those of weight i = 4 g + j in byte j of every four, from bit g * (bits -
//   4)
//              of these on
struct BlockKind {
  Dtype dtype;
  int halves;
  int stretches;
  int scales, offsets;  // bytes of a stretch
  int bits;
  int zero;
  BlockNumbers (*round)(const float* x);  // from block_items numbers

  int head_bytes() const { return 2 * halves; }
  int stretch_bytes() const { return scales + offsets + 4 * bits; }
};

// Throws Error for a kind that is not one of blocks.
const BlockKind& block_kind(Dtype dtype);

}  // namespace ordinal
