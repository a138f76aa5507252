// scheduler.cpp: see scheduler.h.
#include "text/scheduler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kernels/kernels.h"
#include "ordinal/error.h"
#include "text/continuation.h"
#include "text/draft.h"

namespace ordinal {
namespace {

constexpr int64_t kWorthWaiting = 16;  // tokens of a prompt: several steps' worth of reading weights

int64_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

bool is_cancelled(const GenerateRequest& request) {
  return request.events.cancel != nullptr && request.events.cancel->load(std::memory_order_relaxed);
}

}  // namespace

class Scheduler::Slot {
 public:
  bool free() const { return request_ == nullptr; }
  bool in_prompt() const { return !free() && !started_; }
  bool done() const { return !free() && continuation_->done(); }
  const GenerateRequest& request() const { return *request_; }
  const Session* session() const { return session_; }

  // How much of the beginning of `tokens` the cache holds now, and how much it will when its prompt is evaluated;
  // nothing for another scheme.
  int64_t holds(std::span<const TokenId> tokens, const std::string& scheme) const {
    return std::min(will_hold(tokens, scheme), held());
  }
  int64_t will_hold(std::span<const TokenId> tokens, const std::string& scheme) const {
    return continuation_ && session_->scheme().spec() == scheme ? common_prefix(continuation_->context(), tokens) : 0;
  }

  // Goes on from the first `shared` tokens in the cache of `source`, which may be the slot's own session, one that it
  // is lent, or one to fork.
  void join(std::unique_ptr<GenerateRequest> request, std::vector<TokenId> context, Session* lent,
            std::optional<Session> forked, int64_t shared, const Tokenizer* tokenizer) {
    if (forked) own_ = std::move(forked);
    if (lent != nullptr)
      session_ = lent;
    else if (own_)
      session_ = &*own_;
    session_->rewind(shared);
    request_ = std::move(request);
    const GenerateOptions& options = request_->options;
    continuation_ = std::make_unique<Continuation>(GenerateRun{tokenizer, request_->options, request_->events},
                                                   request_->id, std::move(context), options.sampler,
                                                   session_->model().config().vocab_size, request_->prompt);
    lookup_.reset();
    if (options.draft_tokens > 0) lookup_.emplace(options.draft_tokens).append(request_->prompt);
    known_ = 0;
    started_ = false;
    joined_ = GenerateClock::now();
  }

  // What to evaluate in this step, `room` tokens of the prompt at most; nothing when there is none, or when the text
  // ends instead.
  std::optional<Session::Part> part(int64_t room) {
    if (in_prompt()) {
      const auto rest = continuation_->context().subspan(static_cast<size_t>(held()));
      const auto count = std::min(rest.size(), static_cast<size_t>(room));
      if (count == 0) return std::nullopt;
      continuation_->result().timings.prefill_tokens += static_cast<int64_t>(count);
      return Session::Part{session_, rest.first(count)};
    }
    continuation_->make_room();
    if (continuation_->done()) return std::nullopt;
    tokens_.assign(1, continuation_->next());
    if (lookup_) {
      const std::vector<TokenId>& drawn = continuation_->result().ids;
      lookup_->append(std::span(drawn).subspan(known_));
      known_ = drawn.size();
      const std::vector<TokenId> draft = lookup_->propose(continuation_->draft_room());
      tokens_.insert(tokens_.end(), draft.begin(), draft.end());
    }
    return Session::Part{session_, tokens_, static_cast<int64_t>(tokens_.size())};
  }

  // Takes the logits of what the part wanted; those within the prompt are of no use.
  void take(std::span<const std::span<const float>> logits) {
    if (started_) {
      const auto draft = std::span<const TokenId>(tokens_).subspan(1);
      const int64_t accepted = continuation_->draw_along(draft, logits);
      if (lookup_) lookup_->learn(static_cast<int64_t>(draft.size()), accepted);
      return;
    }
    const auto length = static_cast<int64_t>(continuation_->context().size());
    if (request_->events.prompt) request_->events.prompt(held(), length);
    if (held() < length) return;
    started_ = true;
    continuation_->result().timings.prefill_ms = ms_since(joined_);
    continuation_->start(session_, GenerateClock::now());
    if (!continuation_->done()) continuation_->draw(logits.back());
  }

  void interrupt() { continuation_->finish(Finish::interrupted); }

  // The request leaves; the cache and what is known of it stay.
  std::unique_ptr<GenerateRequest> leave() { return std::move(request_); }
  Generation result() { return std::move(continuation_->result()); }

 private:
  int64_t held() const { return session_ != nullptr ? session_->length() : 0; }

  std::optional<Session> own_;
  Session* session_ = nullptr;
  std::unique_ptr<GenerateRequest> request_;
  std::unique_ptr<Continuation> continuation_;  // of the request, or of the last one
  std::optional<LookupDraft> lookup_;
  size_t known_ = 0;             // drawn tokens that the lookup has seen
  std::vector<TokenId> tokens_;  // of this pass: the last one drawn, and a draft
  bool started_ = false;         // its prompt is evaluated
  GenerateClock::time_point joined_;
};

void check_request(const GenerateRequest& request, const Session& session, const Tokenizer* tokenizer) {
  check_generate_options(request.options, session.model().config().vocab_size);
  if (request.options.samples != 1)
    throw Error("a request is for one continuation", "1 sample", std::to_string(request.options.samples),
                "the prompt several times, with different seeds");
  if (tokenizer == nullptr && !request.options.stop.empty())
    throw Error("stop strings need text, and the model has no tokenizer", "a model with a tokenizer", "ids only");
  fitting(request.prompt, session.capacity(), request.options);
}

Scheduler::Scheduler(Session& session, const Tokenizer* tokenizer, int64_t parallel)
    : base_(session), tokenizer_(tokenizer) {
  if (parallel < 1)
    throw Error("the number of texts at work at once is out of range", "1 or more", std::to_string(parallel));
  base_.rewind(0);
  slots_.resize(static_cast<size_t>(parallel));
}

Scheduler::~Scheduler() = default;

int64_t Scheduler::at_work() const {
  return std::ranges::count_if(slots_, [](const auto& slot) { return slot != nullptr && !slot->free(); });
}

void Scheduler::submit(GenerateRequest request) {
  check_request(request, base_, tokenizer_);
  queue_.push_back(std::make_unique<GenerateRequest>(std::move(request)));
}

void Scheduler::cancel(int64_t id) { cancelled_.push_back(id); }

void Scheduler::run() {
  with_threads(base_.options().n_threads, [&] {
    while (step()) {
    }
  });
}

bool Scheduler::step() {
  end_cancelled();
  while (!queue_.empty() && join_next()) {
  }
  pass();
  deliver();
  if (untold_) std::rethrow_exception(std::exchange(untold_, nullptr));
  return !queue_.empty() || at_work() > 0;
}

void Scheduler::end_cancelled() {
  const auto ends = [&](const GenerateRequest& request) {
    return is_cancelled(request) || std::ranges::find(cancelled_, request.id) != cancelled_.end();
  };
  for (const auto& slot : slots_)
    if (slot != nullptr && !slot->free() && ends(slot->request())) slot->interrupt();
  std::vector<std::unique_ptr<GenerateRequest>> gone;
  for (auto& request : queue_)
    if (ends(*request)) gone.push_back(std::move(request));
  std::erase(queue_, nullptr);
  cancelled_.clear();
  for (const auto& request : gone) {
    Generation result;
    result.seed = request->options.sampler.seed;
    result.finish = Finish::interrupted;
    if (request->events.finished) request->events.finished(request->id, result);
  }
}

// Puts the next request into a free slot. False when there is none, or when the request had better wait.
bool Scheduler::join_next() {
  auto slot = std::ranges::find_if(slots_, [](const auto& s) { return s == nullptr || s->free(); });
  if (slot == slots_.end()) return false;
  const GenerateRequest& request = *queue_.front();
  std::optional<Session> fresh;
  try {
    // The scheme by its canonical spec: equal ones share their caches.
    std::string scheme = base_.scheme().spec();
    SessionOptions options = base_.options();
    if (!request.position.empty()) {
      options.position = request.position;
      options.scheme = nullptr;
      scheme = base_.model().make_scheme(request.position, options.first_position + options.capacity)->spec();
    }
    int64_t dropped = 0;
    std::vector<TokenId> context = fitting(request.prompt, base_.capacity(), request.options, &dropped);
    const auto usable = std::span<const TokenId>(context).first(context.size() - 1);  // the last gives the logits

    // Of free slots the one that holds most, of those that hold the same the first: its cache need not be copied.
    for (auto other = slot; other != slots_.end(); ++other)
      if (*other != nullptr && (*other)->free() &&
          (*slot == nullptr || (*other)->holds(usable, scheme) > (*slot)->holds(usable, scheme)))
        slot = other;
    const bool fits = *slot != nullptr && (*slot)->session()->scheme().spec() == scheme;
    const Session* source = nullptr;  // to fork
    int64_t shared = fits ? (*slot)->holds(usable, scheme) : 0, soon = 0;
    for (const auto& other : slots_) {
      if (other == nullptr) continue;
      if (const int64_t length = other->holds(usable, scheme); length > shared) {
        shared = length;
        source = other->session();
      }
      if (other->in_prompt()) soon = std::max(soon, other->will_hold(usable, scheme));
    }
    const int64_t gain = soon - shared, rest = static_cast<int64_t>(context.size()) - shared;
    if (gain >= kWorthWaiting || gain > rest / 2) return false;

    // A session of its own: a fork, the one that was lent where nobody has it, or a new one.
    const bool lent =
        !fits && source == nullptr && scheme == base_.scheme().spec() &&
        std::ranges::none_of(slots_, [&](const auto& s) { return s != nullptr && s->session() == &base_; });
    if (source != nullptr)
      fresh = source->fork();
    else if (!fits && !lent)
      fresh.emplace(base_.share_model(), options);
    if (dropped > 0 && request.events.slide)
      request.events.slide(request.id, static_cast<int64_t>(context.size()), dropped);
    if (*slot == nullptr) *slot = std::make_unique<Slot>();
    std::unique_ptr<GenerateRequest> joining = std::move(queue_.front());
    queue_.pop_front();
    (*slot)->join(std::move(joining), std::move(context), lent ? &base_ : nullptr, std::move(fresh), shared,
                  tokenizer_);
  } catch (...) {
    const std::unique_ptr<GenerateRequest> failed = std::move(queue_.front());
    queue_.pop_front();
    if (failed->failed)
      failed->failed(std::current_exception());
    else if (!untold_)
      untold_ = std::current_exception();
  }
  return true;
}

// One pass: a token of every text that grows, and as many tokens of prompts as there is room for beside them.
void Scheduler::pass() {
  std::vector<Session::Part> parts;
  std::vector<Slot*> in_pass;
  const auto add = [&](Slot& slot, int64_t room) {
    try {
      const std::optional<Session::Part> part = slot.part(room);
      if (!part) return int64_t{0};
      parts.push_back(*part);
      in_pass.push_back(&slot);
      return static_cast<int64_t>(part->tokens.size());
    } catch (...) {
      fail(slot);
      return int64_t{0};
    }
  };
  int64_t room = base_.options().chunk, least = 1;  // the first prompt always gets on
  for (const bool prompts : {false, true})
    for (const auto& slot : slots_) {
      if (slot == nullptr || slot->free() || slot->done() || slot->in_prompt() != prompts) continue;
      room -= add(*slot, std::max(room, least));
      if (prompts) least = 0;
    }
  if (parts.empty()) return;
  std::span<const std::span<const float>> logits;
  try {
    logits = Session::evaluate_together(parts);
  } catch (...) {
    for (Slot* slot : in_pass) fail(*slot);
    return;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto wanted = static_cast<size_t>(parts[i].wanted);
    try {
      in_pass[i]->take(logits.first(wanted));
    } catch (...) {
      fail(*in_pass[i]);
    }
    logits = logits.subspan(wanted);
  }
}

// Ends the slot's request with the exception at hand.
void Scheduler::fail(Slot& slot) {
  const std::unique_ptr<GenerateRequest> request = slot.leave();
  if (request->failed)
    request->failed(std::current_exception());
  else if (!untold_)
    untold_ = std::current_exception();
}

void Scheduler::deliver() {
  for (const auto& slot : slots_) {
    if (slot == nullptr || !slot->done()) continue;
    const std::unique_ptr<GenerateRequest> request = slot->leave();
    if (!request->events.finished) continue;
    try {
      request->events.finished(request->id, slot->result());
    } catch (...) {
      if (request->failed)
        request->failed(std::current_exception());
      else if (!untold_)
        untold_ = std::current_exception();
    }
  }
}

int64_t generate_batch(Session& session, const Tokenizer* tokenizer, std::span<const GenerateRequest> requests,
                       int64_t parallel, const GenerateEvents& events) {
  for (const GenerateRequest& request : requests) check_request(request, session, tokenizer);
  Scheduler scheduler(session, tokenizer, std::min(parallel, std::max<int64_t>(1, std::ssize(requests))));
  std::map<int64_t, Generation> done;  // but not those before
  int64_t reported = 0;
  GenerateEvents each = events;
  each.prompt = nullptr;
  each.finished = [&](int64_t index, const Generation& result) {
    if (result.finish == Finish::interrupted) return;
    done.emplace(index, result);
    for (auto first = done.begin(); first != done.end() && first->first == reported; first = done.erase(first)) {
      if (events.finished) events.finished(reported, first->second);
      ++reported;
    }
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    GenerateRequest request = requests[i];
    request.events = each;
    request.id = static_cast<int64_t>(i);
    scheduler.submit(std::move(request));
  }
  scheduler.run();
  return reported;
}

}  // namespace ordinal
