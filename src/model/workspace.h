// workspace.h: the memory that a pass works in, made with the first session so that a pass asks for none.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "model/products.h"
#include "model/share.h"
#include "ordinal/model_file.h"
#include "ordinal/position.h"

namespace ordinal {

struct SessionState;

// Consecutive rows of a pass that belong to one session.
struct PassPart {
  SessionState* session;
  std::span<const TokenId> tokens;
  int64_t first_row;  // within the pass
  int64_t past;       // tokens that the session's cache holds before these

  // Of its rows, the last so many are asked for; the others are there for their keys and values.
  int64_t wanted = INT64_MAX;
};

// Moves the wanted rows of x, q (in all its views) and h to the front. Returns the parts that they make up.
std::span<const PassPart> keep_wanted(std::span<const PassPart> parts, std::vector<PassPart>& tails, Rows& x, Rows& q,
                                      Rows& h);

// The workspace's buffers by name.
enum Buffer : size_t { kX, kEmbd, kH, kH2, kQ, kK, kV, kMix, kSub, kGate, kUp, kNorm, kEmbdOut, kLastRows, kBuffers };

constexpr int64_t kLogitRows = 32;  // rows whose logits are held at once

// Numbers from one row of `cols` to the next: whole panels and half a panel more, so that neighbouring rows do not
// share cache sets.
int64_t row_stride(int64_t cols);

// Grows to the largest pass it has seen, and never to less than it has reserved.
class Workspace {
 public:
  // Sets memory aside for passes of a session: up to `rows` rows, a cache of `capacity` tokens, a scheme with these
  // views. The system hands it out when it is first written, so what is never used (a fork's, as a rule) costs nothing.
  void reserve(const ModelConfig& config, int64_t rows, int64_t capacity, int n_threads, Views views = {});

  // M rows of `cols` floats in `buffer`; with room for more views of a row behind it, each whole_panels(cols) on.
  Rows rows(Buffer buffer, int64_t m, int64_t cols, int64_t views = 1);

  // Per thread, for attention over a tile of up to kTileRows rows of scores.
  struct ThreadScratch {
    static constexpr int64_t kTileRows = 12;
    std::vector<float> q, scores, mix;
    std::vector<float> view;  // scores of one pair of views, where there are several

    // Makes room for `keys` keys, out of memory for a whole cache of `capacity`. Returns the stride of a row of scores.
    void reserve(int64_t head_dim, int64_t capacity, Views views);
    int64_t make_room(int64_t head_dim, int64_t capacity, int64_t keys, Views views);
  };
  std::vector<ThreadScratch> threads;
  RoundedRows rounded;
  GatherMemory gathered;

  // A call that may take several passes: evaluate_together's notes on its parts.
  struct Call {
    std::vector<const SessionState*> named;
    std::vector<int64_t> before;  // lengths of the sessions when the call came
    std::vector<PassPart> pass;
    std::vector<PassPart> tails;  // what a pass wants of its parts
    void reserve(size_t parts);
  };
  Call call;

 private:
  friend class WorkspacePool;
  std::vector<std::vector<float>> buffers_ = std::vector<std::vector<float>>(kBuffers);
  std::unique_ptr<Workspace> next_free_;
};

// The workspaces of a model. A call of a session takes one and gives it back: sessions that take turns share one, and
// there are as many as calls have overlapped.
class WorkspacePool {
 public:
  class Lease {
   public:
    explicit Lease(WorkspacePool& pool) : pool_(pool), workspace_(pool.take()) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (workspace_ != nullptr) pool_.give_back(std::move(workspace_));
    }
    Workspace& operator*() const { return *workspace_; }
    Workspace* operator->() const { return workspace_.get(); }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

 private:
  std::unique_ptr<Workspace> take();
  void give_back(std::unique_ptr<Workspace> workspace);

  std::mutex mutex_;
  std::unique_ptr<Workspace> free_;
};

}  // namespace ordinal
