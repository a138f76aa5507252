// session.h: one timeline of tokens through a model: its cache of keys and values, its position scheme, its logits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ordinal/model.h"
#include "ordinal/position.h"
#include "ordinal/tensor.h"

namespace ordinal {

// Named intermediate rows, for parity tests, attention maps and studies. Names, in the order they come:
//   x [M, D]             the embedding with what the scheme added
//   attn_norm [M, D], q [M, H*d], k and v [M, G*d]    per layer, q and k after the scheme turned them
//   scores, weights [1, keys]                         per layer, head and row; from several threads at once
//   attn_mix [M, H*d], attn_out [M, D]                per layer: mixed values; x after the residual
//   ffn_norm [M, D], ffn_act [M, F], ffn_out [M, D]   per layer: x after the second residual
//   norm [R, D]                                       the final norm of the rows that get logits
struct Observed {
  std::string_view name;
  int64_t layer = -1;
  int64_t head = -1;  // of scores and weights
  int64_t row = -1;   // of scores and weights: the row within the forward pass
  Rows rows;
};
using Observer = std::function<void(const Observed&)>;

struct SessionOptions {
  std::string position = "native";  // spec of the scheme
  // A scheme that the program brings itself, in place of a spec; `position` stays "native" or is the scheme's spec().
  // It has to fit the model, whose layers, heads and widths its hooks are given. It may serve several sessions.
  std::shared_ptr<const PositionScheme> scheme = {};
  int64_t capacity = 0;         // most tokens held at once; 0: the trained length
  int64_t first_position = 0;   // position of the first token
  int n_threads = 0;            // 0: as OpenMP's variables say, no more than there are processors
  int64_t chunk = 256;          // most rows of one forward pass
  Dtype kv_dtype = Dtype::f32;  // kind that keys and values are kept in; f16 and bf16 take half the memory
  Observer observer = {};
};

struct SessionState;  // src/model/forward.h

// Memory is taken when a session is made (or forked): evaluating takes none, but for the first evaluate_together() with
// so many sessions.
// Not for several threads at once; sessions of the same model are independent of each other.
// The logits of a token have the same bits for any chunk, thread count and instruction set, cached or recomputed.
// (Of one kv_dtype: rounding keys and values changes them.)
class Session {
 public:
  // Receives the logits [V] of row `row` (0 is the first token of the call); the span is valid during the call.
  using LogitsSink = std::function<void(int64_t row, std::span<const float> logits)>;

  // Throws Error for options that do not fit the model (capacity past the scheme's last position among them), or each
  // other (a scheme, and a spec that is not its own).
  explicit Session(std::shared_ptr<const Model> model, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const Model& model() const;
  std::shared_ptr<const Model> share_model() const;
  const PositionScheme& scheme() const;
  const SessionOptions& options() const;
  int64_t length() const;       // tokens in the cache
  int64_t capacity() const;     // tokens it can hold
  int64_t cache_bytes() const;  // once all of the capacity is used

  // Appends tokens and returns the logits [V] of the last; the span is valid until the next call.
  // Throws Error, leaving the session as it was, for no tokens, an id outside the vocabulary, or too many tokens.
  std::span<const float> evaluate(std::span<const TokenId> tokens);

  // The same, handing over the logits of every token in order.
  void evaluate_all(std::span<const TokenId> tokens, const LogitsSink& sink);

  // Forgets all but the first `length` tokens. Throws Error when there are fewer.
  void rewind(int64_t length);

  // A second timeline with the same past.
  Session fork() const;

  // One forward pass over rows of several sessions of one model; row counts and position schemes may differ, and each
  // session gets what evaluate() would have given it, bit for bit. The results: the logits of the last `wanted` tokens
  // of each part, part after part. All of it is valid until the next call on any of the sessions. Throws Error, leaving
  // all sessions as they were, for sessions of different models or a session named twice.
  struct Part {
    Session* session;
    std::span<const TokenId> tokens;
    int64_t wanted = 1;  // 1 to as many as there are tokens
  };
  static std::span<const std::span<const float>> evaluate_together(std::span<const Part> parts);

 private:
  friend struct SessionInside;  // src/model/forward.h
  explicit Session(std::unique_ptr<SessionState> state);
  std::unique_ptr<SessionState> state_;
};

}  // namespace ordinal
