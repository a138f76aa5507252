// scheduler.h: texts that grow side by side in one model, a step at a time: one pass for all of them. Requests come and
// go while others run; each result is, bit for bit, what the request alone gives.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/generator.h"

namespace ordinal {

// One text to be continued.
struct GenerateRequest {
  std::vector<TokenId> prompt;
  GenerateOptions options;                            // one sample
  std::string position = {};                          // spec of a scheme; empty: that of the scheduler's session
  std::shared_ptr<const PositionScheme> scheme = {};  // own_scheme() of this request, where it has been made already

  // What happens to it, told within step(). `sample` is `id` for all of them. Events may submit and cancel, not step.
  // A request ends with one call of `finished`, also when it was cancelled, or with one of `failed`.
  GenerateEvents events = {};
  std::function<void(std::exception_ptr error)> failed = {};  // see Scheduler::step
  int64_t id = 0;                                             // the caller's
};

// The scheme of a request beside sessions like this one; null when the session's own will do. Throws Error for a spec
// that does not fit the model.
std::shared_ptr<const PositionScheme> own_scheme(const GenerateRequest& request, const Session& session);

// Throws Error for a request that could not be answered beside sessions like this one.
void check_request(const GenerateRequest& request, const Session& session, const Tokenizer* tokenizer);

// For one thread: whoever makes a scheduler calls all of it; its model may be at work in others. (The flag
// GenerateEvents::cancel may be set from anywhere.)
//
// A slot is a session and the request at work in it; there are at most `parallel`, made when they are first needed. A
// free slot keeps its cache: what a prompt has in common with what any cache holds is taken over, and a prompt waits
// for another that is being evaluated when that will soon hold much of it. Of free slots that hold nothing of use the
// one that has lain idle longest is filled. Prompts, and windows after a slide, are evaluated in what room a pass has
// beside a token of every text that grows, first come, first served: a long one delays the others by no more than a
// pass of SessionOptions::chunk rows.
class Scheduler {
 public:
  // `session` is started over and becomes one of the slots; its options are those of all others. `tokenizer` may be
  // null: ids only. Both must outlive the scheduler. Throws Error when `parallel` is not positive.
  Scheduler(Session& session, const Tokenizer* tokenizer, int64_t parallel);
  ~Scheduler();  // requests that are left end without a word
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Puts a request at the end of the queue. Throws Error for one that check_request refuses. Under a scheme with an
  // end, the context is no longer than that.
  void submit(GenerateRequest request);

  // Ends requests of this id before the next pass; they finish as Finish::interrupted, with what they have.
  void cancel(int64_t id);
  void cancel_all();

  // Ends what is cancelled, lets requests join, and evaluates one pass. Returns whether anything is left to do.
  // An error that belongs to one request (its events threw, no token is left to draw) ends that request alone and is
  // told to its `failed`; without one it is thrown when the step is over. An error of the pass (memory) ends the
  // requests in it.
  bool step();

  // Steps until nothing is left, its threads in attendance all the while.
  void run();

  int64_t waiting() const { return std::ssize(queue_); }
  int64_t at_work() const;
  int64_t tokens_held() const;  // in caches, those of free slots too

 private:
  class Slot;
  struct Waiting;
  void end_cancelled();
  bool join_next();
  void join(Slot& slot, const Session* source, int64_t shared, std::vector<TokenId> context, int64_t dropped);
  void pass();
  void deliver();
  void finish(const GenerateRequest& request, const Generation& result);
  void tell_error(const GenerateRequest& request);
  bool is_lent() const;

  Session& base_;
  const Tokenizer* tokenizer_;
  const int64_t parallel_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<std::unique_ptr<Waiting>> queue_;
  // Of requests, by spec and context.
  std::map<std::pair<std::string, int64_t>, std::weak_ptr<const PositionScheme>> schemes_;
  std::vector<int64_t> cancelled_;
  std::exception_ptr untold_;  // an error whose request has no `failed`
  int64_t clock_ = 0;          // counts requests that joined or left, so that they have an order
};

// Continues every prompt, at most `parallel` at once. `finished` comes in order, so a result waits for those before it,
// with the index of a request as `sample`. Returns how many have finished so: all, unless cancelled. Throws Error,
// before anything is evaluated, for a request that check_request refuses; the first error of any ends all.
int64_t generate_batch(Session& session, const Tokenizer* tokenizer, std::span<const GenerateRequest> requests,
                       int64_t parallel, const GenerateEvents& events = {});

}  // namespace ordinal
