// share.h: what one rank computes of a model that several ranks share out: whole panels of every matrix's outputs and
// whole heads of attention with their keys and values. Outputs are put together, never added up, so every sum is the
// one of a single process and has its bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/tensor.h"
#include "ranks/ranks.h"

namespace ordinal {

struct Extent {
  int64_t first = 0, last = 0;  // [first, last)

  int64_t count() const { return last - first; }
};

// How rows of some width are dealt out: this rank has the columns `own`, and computes the panels that hold them.
struct Split {
  Extent own, panels;
  std::vector<int64_t> ends;  // rank r has columns [ends[r - 1], ends[r])
  std::vector<int64_t> byte_ends;
};

// Heads of attention that a rank attends with. Query heads are dealt out one by one; a key/value head is held by every
// rank that has one of its query heads.
struct Heads {
  Extent query, kv;
};

// Memory to put rows together in.
struct GatherMemory {
  std::vector<float> numbers;
  std::vector<int64_t> ends, next;
  void reserve(const ModelConfig& config, int64_t rows, int ranks);
};

class ModelShare {
 public:
  // A share of everything, and the shares of several ranks.
  ModelShare(const ModelConfig& config, Ranks& among);

  int ranks() const { return among_->count(); }
  bool is_whole() const { return ranks() == 1; }
  const Heads& heads() const { return heads_; }

  // Makes rows whole, on all ranks, of which each had its own columns.
  void gather(Rows rows, const Split& split, GatherMemory& memory) const;

  // Of an embedding table, each rank looks up what is in its own panels (those of `vocab`).
  bool has_row(TokenId id) const { return id >= vocab.own.first && id < vocab.own.last; }
  void gather_embedded(Rows rows, std::span<const TokenId> ids, GatherMemory& memory) const;

  // Columns of heads that other ranks attend with, set to 0: what turns whole rows is to find no leftovers.
  void clear_other_heads(Rows q, Rows k, Rows v) const;

  // Numbers that a pass moves: of `rows` rows, of which `wanted` go through all of the last layer and `logits` get
  // logits. Each goes from the rank that has it to all others. What gather() has sent is held against this.
  static int64_t numbers_of_pass(const ModelConfig& config, int64_t rows, int64_t wanted, int64_t logits,
                                 bool whole_heads);

  Split d_model, d_ff, embedding, vocab;
  Split query_heads, kv_heads;  // columns of q and of k and v
  Extent kv_panels;             // of k and v, of the heads that this rank attends with

 private:
  void gather(float* numbers, std::span<const int64_t> byte_ends) const;

  Ranks* among_;
  int64_t head_dim_;
  Heads heads_;
};

// What this process keeps and moves, for reports on a run of several ranks.
struct Ledger {
  int64_t cache_bytes = 0, most_cache_bytes = 0;  // of the sessions that are alive at once
  int64_t tokens = 0;                             // that went through a pass
  int64_t numbers = 0;                            // that ranks have for each other, by ModelShare::numbers_of_pass
  int64_t bytes_sent = 0, gathers = 0;            // by this rank, in gathers of rows
  double gather_seconds = 0;                      // in them, most of it waiting for others
};
Ledger& ledger();  // of this thread

// Bytes of the matrices that are this rank's to read; norms, biases and tables of positions are everybody's.
int64_t weight_bytes_of(const Model& model, const ModelShare& share);

}  // namespace ordinal
