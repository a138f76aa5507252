// forward.h: the inside of a session, and one pass of tokens of one or several sessions through the model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/kv_cache.h"
#include "model/products.h"
#include "model/share.h"
#include "model/workspace.h"
#include "ordinal/session.h"

namespace ordinal {

struct SessionState {
  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::shared_ptr<const PositionScheme> scheme;
  ModelShare share;  // of the model, among the ranks that work on this session
  Heads heads;       // those that it attends with: the share's, or all where an observer watches
  KvCache cache;
  int64_t length = 0;
  std::vector<int64_t> positions;                  // [capacity]: of every place in the cache
  std::vector<float> logits = {};                  // [R, V] in whole panels: what the last call gave
  std::vector<std::span<const float>> given = {};  // its rows, where a call gave several

  Rows logits_rows(int64_t rows);
};

// For what works with sessions from below; users of the library have no need of it.
struct SessionInside {
  static SessionState& of(Session& session) { return *session.state_; }

  // `to` forgets what it holds and has the first `length` tokens of `from`, as a fork would, without taking memory.
  // Throws Error unless their caches are alike: one model, scheme, capacity, first position and kind of number.
  static void take_over(Session& to, const Session& from, int64_t length);
};

// One pass over all rows of `parts`. Appends to the sessions' caches (their lengths are the caller's to move).
// Returns the final x [R, D] of the rows that the parts want, in order; they live in the workspace.
// Where an observer watches, all rows are wanted, and returned.
Rows forward(std::span<const PassPart> parts, Workspace& work);

// Logits [R, V] of rows of x: the final norm, then the output matrix. They live in `session`.
Rows logits_of(SessionState& session, Rows x, Workspace& work);

// Turns q [M, H*d] and k [M, G*d] by their positions, in place, and puts k and v [M, G*d] into the caches.
void turn_and_store(std::span<const PassPart> parts, int64_t layer, Rows q, Rows k, Rows v);

// q [M, H*d] against the caches, to mix [M, H*d]; keys and values of the rows are stored already.
void attend(std::span<const PassPart> parts, int64_t layer, Rows q, Rows mix, Workspace& work);

// Tells the session's observer, if it has one.
inline void observe(const SessionState& session, std::string_view name, int64_t layer, Rows rows) {
  if (session.options.observer) session.options.observer({name, layer, -1, -1, rows});
}

}  // namespace ordinal
