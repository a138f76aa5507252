// batch.cpp: see batch.h. A slot holds a session and the continuation at work in it; a free slot's cache is still good
// for the next prompt that begins the same.
#include "text/batch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "ordinal/error.h"
#include "text/continuation.h"

namespace ordinal {
namespace {

int64_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

class Slot {
 public:
  bool free() const { return !continuation_ || continuation_->done(); }
  bool in_prompt() const { return !free() && !started_; }
  size_t request() const { return request_; }
  const Session* session() const { return session_ ? &*session_ : nullptr; }

  // How much of the beginning of `tokens` the cache holds now, and how much it will when its prompt is evaluated.
  int64_t holds(std::span<const TokenId> tokens) const { return std::min(will_hold(tokens), held()); }
  int64_t will_hold(std::span<const TokenId> tokens) const {
    return continuation_ ? common_prefix(continuation_->context(), tokens) : 0;
  }

  // Goes on from the first `shared` tokens in the cache of `source`, which may be the slot's own.
  void join(const Session& source, int64_t shared, size_t request, std::unique_ptr<Continuation> continuation) {
    if (!session_ || &source != &*session_) session_ = source.fork();
    session_->rewind(shared);
    continuation_ = std::move(continuation);
    request_ = request;
    started_ = handed_over_ = false;
    joined_ = GenerateClock::now();
  }

  // What to evaluate in this step, `room` tokens of the prompt at most; nothing when the continuation ends instead.
  std::optional<Session::Part> part(int64_t room) {
    if (in_prompt()) {
      const auto rest = continuation_->context().subspan(static_cast<size_t>(held()));
      const auto count = std::min(rest.size(), static_cast<size_t>(room));
      if (count == 0) return std::nullopt;
      continuation_->result().timings.prefill_tokens += static_cast<int64_t>(count);
      return Session::Part{&*session_, rest.first(count)};
    }
    continuation_->make_room();
    if (continuation_->done()) return std::nullopt;
    return Session::Part{&*session_, continuation_->next()};
  }

  // Takes the logits of the part's last token; those within the prompt are of no use.
  void take(std::span<const float> logits) {
    if (!started_) {
      if (held() < static_cast<int64_t>(continuation_->context().size())) return;
      started_ = true;
      continuation_->result().timings.prefill_ms = ms_since(joined_);
      continuation_->start(&*session_, GenerateClock::now());
    }
    if (!continuation_->done()) continuation_->draw(logits);
  }

  // The result, once, when there is one.
  std::optional<Generation> hand_over() {
    if (!continuation_ || !continuation_->done() || handed_over_) return std::nullopt;
    if (continuation_->result().finish == Finish::interrupted) return std::nullopt;
    handed_over_ = true;
    return std::move(continuation_->result());
  }

 private:
  int64_t held() const { return session_ ? session_->length() : 0; }

  std::optional<Session> session_;
  std::unique_ptr<Continuation> continuation_;
  size_t request_ = 0;
  bool started_ = false;      // its prompt is evaluated
  bool handed_over_ = false;  // its result
  GenerateClock::time_point joined_;
};

class Batch {
 public:
  Batch(Session& base, const Tokenizer* tokenizer, std::span<const BatchRequest> requests, int64_t parallel,
        const GenerateEvents& events)
      : base_(base),
        tokenizer_(tokenizer),
        requests_(requests),
        events_(events),
        slots_(std::min(requests.size(), static_cast<size_t>(parallel))) {}

  int64_t run() {
    if (!evaluate_common()) return 0;
    while (reported_ < requests_.size() && !cancelled()) {
      while (next_ < requests_.size() && join_next()) ++next_;
      step();
      for (Slot& slot : slots_)
        if (std::optional<Generation> result = slot.hand_over()) collect(slot.request(), std::move(*result));
    }
    return static_cast<int64_t>(reported_);
  }

 private:
  bool cancelled() const { return run_of(requests_.front()).cancelled(); }
  GenerateRun run_of(const BatchRequest& request) const { return {tokenizer_, request.options, events_}; }

  std::vector<TokenId> context_of(const BatchRequest& request, int64_t* dropped = nullptr) const {
    return fitting(request.prompt, base_.capacity(), request.options, dropped);
  }

  // What all prompts begin with goes into the base session, but for the last token of the shortest, whose logits are
  // needed when it joins. False when cancelled.
  bool evaluate_common() {
    base_.rewind(0);
    common_ = context_of(requests_.front());
    for (const BatchRequest& request : requests_) {
      const std::vector<TokenId> context = context_of(request);
      common_.resize(
          static_cast<size_t>(std::min(common_prefix(common_, context), static_cast<int64_t>(context.size()) - 1)));
    }
    return common_.empty() || evaluate_in_chunks(base_, common_, run_of(requests_.front()), false);
  }

  // Puts the next request into a free slot. False when there is none, or when the request had better wait: a prompt
  // that is being evaluated will soon have much of its beginning in a cache.
  bool join_next() {
    const auto slot = std::ranges::find_if(slots_, [](const Slot& s) { return s.free(); });
    if (slot == slots_.end()) return false;
    const BatchRequest& request = requests_[next_];
    int64_t dropped = 0;
    std::vector<TokenId> context = context_of(request, &dropped);
    const auto usable = std::span<const TokenId>(context).first(context.size() - 1);  // the last gives the logits

    // Of slots that hold the same the one to be filled comes first: its cache need not be copied.
    const Session* source = slot->session();
    int64_t shared = slot->holds(usable);
    const auto offer = [&](const Session* session, int64_t length) {
      if (source != nullptr && length <= shared) return;
      source = session;
      shared = length;
    };
    offer(&base_, common_prefix(common_, usable));
    int64_t soon = 0;
    for (const Slot& other : slots_) {
      if (other.session() != nullptr) offer(other.session(), other.holds(usable));
      if (other.in_prompt()) soon = std::max(soon, other.will_hold(usable));
    }
    const int64_t gain = soon - shared, rest = static_cast<int64_t>(context.size()) - shared;
    if (gain >= kWorthWaiting || gain > rest / 2) return false;

    if (dropped > 0 && events_.slide)
      events_.slide(static_cast<int64_t>(next_), static_cast<int64_t>(context.size()), dropped);
    auto continuation =
        std::make_unique<Continuation>(run_of(request), static_cast<int64_t>(next_), std::move(context),
                                       request.options.sampler, base_.model().config().vocab_size, request.prompt);
    if (next_ == 0) continuation->result().timings.prefill_tokens = base_.length();
    slot->join(*source, shared, next_, std::move(continuation));
    return true;
  }

  // One pass: a token of every text that grows, and as many tokens of prompts as a pass takes.
  void step() {
    std::vector<Session::Part> parts;
    std::vector<Slot*> at_work;
    int64_t room = base_.options().chunk;
    for (Slot& slot : slots_) {
      if (slot.free()) continue;
      const bool in_prompt = slot.in_prompt();
      const auto part = slot.part(room);
      if (!part) continue;
      if (in_prompt) room -= static_cast<int64_t>(part->tokens.size());
      parts.push_back(*part);
      at_work.push_back(&slot);
    }
    const auto logits = Session::evaluate_together(parts);
    for (size_t i = 0; i < at_work.size(); ++i) at_work[i]->take(logits[i]);
  }

  // Hands over a result, and those that have waited for it.
  void collect(size_t request, Generation result) {
    collected_.emplace(request, std::move(result));
    for (auto first = collected_.begin(); first != collected_.end() && first->first == reported_;
         first = collected_.erase(first)) {
      if (events_.finished) events_.finished(static_cast<int64_t>(reported_), first->second);
      ++reported_;
    }
  }

  static constexpr int64_t kWorthWaiting = 16;  // tokens: several steps' worth of reading weights

  Session& base_;
  const Tokenizer* tokenizer_;
  const std::span<const BatchRequest> requests_;
  const GenerateEvents& events_;
  std::vector<TokenId> common_;  // what the base session holds
  std::vector<Slot> slots_;
  std::map<size_t, Generation> collected_;  // done, but not those before
  size_t next_ = 0;                         // the next request to join
  size_t reported_ = 0;                     // requests whose results have been handed over
};

}  // namespace

void check_batch_request(const BatchRequest& request, const Session& session, const Tokenizer* tokenizer) {
  check_generate_options(request.options, session.model().config().vocab_size);
  if (request.options.samples != 1)
    throw Error("a request of a batch is for one continuation", "1 sample", std::to_string(request.options.samples),
                "the prompt several times, with different seeds");
  if (request.options.draft_tokens > 0)
    throw Error("a batch takes no drafts", "0 tokens to draft", std::to_string(request.options.draft_tokens),
                "no drafts: texts of a batch share their passes already");
  if (tokenizer == nullptr && !request.options.stop.empty())
    throw Error("stop strings need text, and the model has no tokenizer", "a model with a tokenizer", "ids only");
  fitting(request.prompt, session.capacity(), request.options);
}

int64_t generate_batch(Session& session, const Tokenizer* tokenizer, std::span<const BatchRequest> requests,
                       int64_t parallel, const GenerateEvents& events) {
  if (parallel < 1)
    throw Error("the number of texts at work at once is out of range", "1 or more", std::to_string(parallel));
  for (const BatchRequest& request : requests) check_batch_request(request, session, tokenizer);
  if (requests.empty()) return 0;
  return Batch(session, tokenizer, requests, parallel, events).run();
}

}  // namespace ordinal
