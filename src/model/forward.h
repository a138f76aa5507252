// forward.h: the inside of a session, and one pass of tokens of one or several sessions through the model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/kv_cache.h"
#include "model/products.h"
#include "model/workspace.h"
#include "ordinal/session.h"

namespace ordinal {

struct SessionState {
  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::shared_ptr<const PositionScheme> scheme;
  KvCache cache;
  int64_t length = 0;
  std::vector<int64_t> positions;  // [capacity]: of every place in the cache
  Workspace workspace;
};

// For what measures sessions from below; users of the library have no need of it.
struct SessionInside {
  static SessionState& of(Session& session) { return *session.state_; }
};

// One pass over all rows of `parts`. Appends to the sessions' caches (their lengths are the caller's to move).
// Returns the final x [R, D] of the rows that the parts want, in order; they live in the first session's workspace.
// Where an observer watches, all rows are wanted, and returned.
Rows forward(std::span<const PassPart> parts);

// Logits [R, V] of rows of x: the final norm, then the output matrix. Lives in `session`'s workspace.
Rows logits_of(SessionState& session, Rows x);

// q [M, H*d] against the caches, to mix [M, H*d]; `keys` and values of the rows are stored already.
void attend(std::span<const PassPart> parts, int64_t layer, Rows q, Rows mix);

// Tells the session's observer, if it has one.
inline void observe(const SessionState& session, std::string_view name, int64_t layer, Rows rows) {
  if (session.options.observer) session.options.observer({name, layer, -1, -1, rows});
}

}  // namespace ordinal
