// scheduler.cpp: see scheduler.h.
#include "text/scheduler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/kernels.h"
#include "model/forward.h"
#include "ordinal/error.h"
#include "text/continuation.h"
#include "text/draft.h"

namespace ordinal {
namespace {

constexpr int64_t kWorthWaiting = 16;  // tokens of a prompt: several steps' worth of reading weights

// Whether it matters that so many of the tokens to evaluate are evaluated already.
bool is_worth(int64_t spared, int64_t tokens) { return spared >= kWorthWaiting || spared > tokens / 2; }

int64_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

bool is_cancelled(const GenerateRequest& request) {
  return request.events.cancel != nullptr && request.events.cancel->load(std::memory_order_relaxed);
}

// Whether the session's own scheme will not do. Some schemes depend on how long the context is.
bool needs_own_scheme(const GenerateRequest& request, const Session& session) {
  return !request.position.empty() || (request.options.context > 0 && request.options.context != session.capacity());
}

// Tokens that a session of this scheme can hold for a request with these options, beside sessions like this one.
int64_t capacity_under(const PositionScheme& scheme, const Session& session, const GenerateOptions& options) {
  const int64_t first = session.options().first_position, last = scheme.max_positions();
  if (first >= last)
    throw Error("position " + std::to_string(first) + " is past the end of the position scheme " + scheme.spec(),
                "positions 0 to " + std::to_string(last - 1), "a text that begins at " + std::to_string(first),
                "a position scheme without an end: none");
  return std::min(options.context > 0 ? options.context : session.capacity(), last - first);
}

void check_request_under(const GenerateRequest& request, const PositionScheme& scheme, const Session& session,
                         const Tokenizer* tokenizer) {
  const int64_t vocab_size = session.model().config().vocab_size;
  check_generate_options(request.options, vocab_size);
  if (request.options.samples != 1)
    throw Error("a request is for one continuation", "1 sample", std::to_string(request.options.samples),
                "the prompt several times, with different seeds");
  if (tokenizer == nullptr && !request.options.stop.empty())
    throw Error("stop strings need text, and the model has no tokenizer", "a model with a tokenizer", "ids only");
  for (const TokenId id : request.prompt)
    if (id < 0 || id >= vocab_size)
      throw Error("a token id is outside the vocabulary", "0 to " + std::to_string(vocab_size - 1), std::to_string(id));
  fitting(request.prompt, capacity_under(scheme, session, request.options), request.options);
}

// A timeline that a cache belongs to: keys of another scheme, or of one made for another length, are other keys.
struct Timeline {
  std::string scheme;  // canonical spec: equal ones share their caches
  int64_t capacity = 0;

  bool operator==(const Timeline&) const = default;
};

// Rows of logits that a pass may give for prompts that are scored: memory, bounded also for large vocabularies.
int64_t most_scored_rows(int64_t vocab_size) {
  constexpr int64_t kBytes = int64_t{16} << 20;
  return std::max<int64_t>(16, kBytes / (vocab_size * static_cast<int64_t>(sizeof(float))));
}

}  // namespace

// A request in the queue; where it names a scheme, with that.
struct Scheduler::Waiting {
  std::unique_ptr<GenerateRequest> request;
  std::shared_ptr<const PositionScheme> scheme;
};

class Scheduler::Slot {
 public:
  bool free() const { return request_ == nullptr; }
  bool done() const { return !free() && continuation_->done(); }
  // Whether more of its text is to be evaluated than the token drawn last.
  bool reading() const { return !free() && (!started_ || pending() > 1); }
  const GenerateRequest& request() const { return *request_; }
  const Session* session() const { return session_; }
  bool is_on(const Timeline& timeline) const {
    return session_ != nullptr && timeline == Timeline{session_->scheme().spec(), session_->capacity()};
  }
  int64_t held() const { return session_ != nullptr ? session_->length() : 0; }
  int64_t since() const { return since_; }  // when its request joined, or the last one left

  // How much of the beginning of `tokens` the cache holds now, and how much it will when its prompt is evaluated;
  // nothing on another timeline.
  int64_t holds(std::span<const TokenId> tokens, const Timeline& timeline) const {
    return std::min(will_hold(tokens, timeline), held());
  }
  int64_t will_hold(std::span<const TokenId> tokens, const Timeline& timeline) const {
    return continuation_ != nullptr && is_on(timeline) ? common_prefix(continuation_->context(), tokens) : 0;
  }

  // Works in a session of its own, or in one that it is lent.
  void use(Session session) { session_ = &own_.emplace(std::move(session)); }
  void use_lent(Session& session) {
    own_.reset();
    session_ = &session;
  }

  // Goes on from the first `shared` tokens in the cache of `source`, which may be its own. When this throws, the
  // request is still the caller's, and the cache counts as empty.
  void join(std::unique_ptr<GenerateRequest>& request, std::vector<TokenId> context, const Session& source,
            int64_t shared, const Tokenizer* tokenizer, int64_t now) {
    continuation_.reset();
    SessionInside::take_over(*session_, source, shared);
    lookup_.reset();
    const GenerateOptions& options = request->options;
    if (options.draft_tokens > 0) lookup_.emplace(options.draft_tokens).append(request->prompt);
    known_ = 0;
    continuation_ = std::make_unique<Continuation>(GenerateRun{tokenizer, options, request->events}, request->id,
                                                   std::move(context), options.sampler,
                                                   session_->model().config().vocab_size, request->prompt);
    request_ = std::move(request);
    started_ = false;
    since_ = now;
    joined_ = GenerateClock::now();
  }

  // Before a pass: makes room for the token drawn last and guesses what follows it, or ends the text instead.
  void prepare() {
    if (reading()) return;
    // Of a window that did not fit into the last pass, the token drawn last may be what is left.
    if (pending() == 0) continuation_->make_room();
    if (done() || reading()) return;
    tokens_.assign(1, continuation_->next());
    if (!lookup_) return;
    const std::vector<TokenId>& drawn = continuation_->result().ids;
    lookup_->append(std::span(drawn).subspan(known_));
    known_ = drawn.size();
    const std::vector<TokenId> draft = lookup_->propose(continuation_->draft_room());
    tokens_.insert(tokens_.end(), draft.begin(), draft.end());
  }

  // Whether every token of what is read in this pass is to have logits.
  bool scores() const { return !started_ && request_->options.prompt_logprobs >= 0; }

  // What to evaluate in this pass: `room` tokens at most of what is to be read.
  Session::Part part(int64_t room) {
    reads_ = reading();
    if (!reads_) return {session_, tokens_, std::ssize(tokens_)};
    const auto rest = continuation_->context().subspan(static_cast<size_t>(held()));
    const auto count = std::min(rest.size(), static_cast<size_t>(room));
    if (!started_) continuation_->result().timings.prefill_tokens += static_cast<int64_t>(count);
    return {session_, rest.first(count), scores() ? static_cast<int64_t>(count) : 1};
  }

  // Takes the logits that the part wanted; those within a text that is being read are of no use.
  void take(std::span<const std::span<const float>> logits) {
    if (pending() <= 0) continuation_->window_is_read();
    if (!reads_) {
      const auto draft = std::span<const TokenId>(tokens_).subspan(1);
      const int64_t accepted = continuation_->draw_along(draft, logits);
      if (lookup_) lookup_->learn(std::ssize(draft), accepted);
      return;
    }
    if (scores()) score(logits);
    if (!started_ && request_->events.prompt) request_->events.prompt(held(), std::ssize(continuation_->context()));
    if (pending() > 0) return;
    if (!started_) {
      started_ = true;
      continuation_->result().timings.prefill_ms = ms_since(joined_);
      continuation_->start(session_, GenerateClock::now());
    }
    if (!done()) continuation_->draw(logits.back());
  }

  void interrupt() { continuation_->finish(Finish::interrupted); }

  // The request leaves; the cache and what is known of it stay.
  std::unique_ptr<GenerateRequest> leave(int64_t now) {
    since_ = now;
    return std::move(request_);
  }
  const Generation& result() const { return continuation_->result(); }

 private:
  // Each row of logits is a prediction of the token after its own; the last one's may be a token not yet drawn.
  void score(std::span<const std::span<const float>> logits) {
    const auto context = continuation_->context();
    const auto first = static_cast<size_t>(held()) - logits.size() + 1;
    std::vector<TokenLogprob>& scored = continuation_->result().prompt_logprobs;
    const size_t count = std::min(logits.size(), context.size() - first);
    scored.resize(scored.size() + count);
    parallel_for(session_->options().n_threads, static_cast<int64_t>(count), [&](int64_t i, int) {
      const auto row = static_cast<size_t>(i);
      scored[scored.size() - count + row] =
          logprob_of(logits[row], context[first + row], request_->options.prompt_logprobs);
    });
  }

  int64_t pending() const { return std::ssize(continuation_->context()) - held(); }

  std::optional<Session> own_;
  Session* session_ = nullptr;
  std::unique_ptr<GenerateRequest> request_;
  std::unique_ptr<Continuation> continuation_;  // of the request, or of the last one
  std::optional<LookupDraft> lookup_;
  size_t known_ = 0;             // drawn tokens that the lookup has seen
  std::vector<TokenId> tokens_;  // of a pass: the one drawn last, and a draft
  bool started_ = false;         // its prompt is evaluated
  bool reads_ = false;           // in this pass
  int64_t since_ = 0;
  GenerateClock::time_point joined_;
};

std::shared_ptr<const PositionScheme> own_scheme(const GenerateRequest& request, const Session& session) {
  const SessionOptions& options = session.options();
  if (request.scheme != nullptr || !needs_own_scheme(request, session)) return request.scheme;
  if (request.position.empty() && options.scheme != nullptr) return options.scheme;
  const int64_t context = request.options.context > 0 ? request.options.context : session.capacity();
  return session.model().make_scheme(request.position.empty() ? options.position : request.position,
                                     options.first_position + context);
}

void check_request(const GenerateRequest& request, const Session& session, const Tokenizer* tokenizer) {
  const auto scheme = own_scheme(request, session);
  check_request_under(request, scheme != nullptr ? *scheme : session.scheme(), session, tokenizer);
}

Scheduler::Scheduler(Session& session, const Tokenizer* tokenizer, int64_t parallel)
    : base_(session), tokenizer_(tokenizer), parallel_(parallel) {
  if (parallel < 1)
    throw Error("the number of texts at work at once is out of range", "1 or more", std::to_string(parallel));
  base_.rewind(0);
}

Scheduler::~Scheduler() = default;

int64_t Scheduler::at_work() const {
  return std::ranges::count_if(slots_, [](const auto& slot) { return !slot->free(); });
}

int64_t Scheduler::tokens_held() const {
  int64_t tokens = 0;
  for (const auto& slot : slots_) tokens += slot->held();
  return tokens;
}

void Scheduler::submit(GenerateRequest request) {
  std::shared_ptr<const PositionScheme> scheme = request.scheme;
  if (scheme == nullptr && needs_own_scheme(request, base_)) {
    std::erase_if(schemes_, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<const PositionScheme>& known = schemes_[{request.position, request.options.context}];
    scheme = known.lock();
    if (scheme == nullptr) known = scheme = own_scheme(request, base_);
  }
  check_request_under(request, scheme != nullptr ? *scheme : base_.scheme(), base_, tokenizer_);
  auto owned = std::make_unique<GenerateRequest>(std::move(request));
  queue_.push_back(std::make_unique<Waiting>(Waiting{std::move(owned), std::move(scheme)}));
}

void Scheduler::cancel(int64_t id) { cancelled_.push_back(id); }

void Scheduler::cancel_all() {
  for (const auto& slot : slots_)
    if (!slot->free()) cancel(slot->request().id);
  for (const auto& waiting : queue_) cancel(waiting->request->id);
}

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
  const std::vector<int64_t> ids = std::exchange(cancelled_, {});
  const auto ends = [&](const GenerateRequest& request) {
    return is_cancelled(request) || std::ranges::find(ids, request.id) != ids.end();
  };
  for (const auto& slot : slots_) {
    if (slot->free() || !ends(slot->request())) continue;
    try {
      slot->interrupt();
    } catch (...) {
      tell_error(*slot->leave(++clock_));
    }
  }
  std::vector<std::unique_ptr<Waiting>> gone;  // before any is told, which may submit others
  for (auto& waiting : queue_)
    if (ends(*waiting->request)) gone.push_back(std::move(waiting));
  std::erase(queue_, nullptr);
  for (const auto& waiting : gone) {
    Generation result;
    result.seed = waiting->request->options.sampler.seed;
    result.finish = Finish::interrupted;
    finish(*waiting->request, result);
  }
}

// Puts the next request into a free slot. False when there is none, or when the request had better wait.
bool Scheduler::join_next() {
  const bool may_add = std::ssize(slots_) < parallel_;
  if (!may_add && at_work() == parallel_) return false;
  const Waiting& next = *queue_.front();
  const PositionScheme& scheme = next.scheme != nullptr ? *next.scheme : base_.scheme();
  const GenerateOptions& options = next.request->options;
  const Timeline timeline{scheme.spec(), capacity_under(scheme, base_, options)};
  int64_t dropped = 0;
  std::vector<TokenId> context = fitting(next.request->prompt, timeline.capacity, options, &dropped);
  // The last token gives the logits; where all are to give theirs, all are evaluated.
  const auto usable = std::span<const TokenId>(context).first(options.prompt_logprobs >= 0 ? 0 : context.size() - 1);

  Slot* slot = nullptr;  // to fill
  int64_t shared = 0, soon = 0;
  const Session* source = nullptr;  // holds so many of the context's first tokens
  for (const auto& other : slots_) {
    const int64_t length = other->holds(usable, timeline);
    if (length > shared) {
      shared = length;
      source = other->session();
    }
    if (other->reading()) soon = std::max(soon, other->will_hold(usable, timeline));
  }
  if (is_worth(soon - shared, std::ssize(context) - shared)) return false;

  // Its cache need not be copied where that is free; other free caches may yet be of use to others.
  int64_t most = 0;
  for (const auto& other : slots_) {
    if (!other->free()) continue;
    const int64_t length = other->holds(usable, timeline), value = is_worth(length, std::ssize(usable)) ? length : 0;
    if (slot != nullptr && (value < most || (value == most && other->since() >= slot->since()))) continue;
    slot = other.get();
    most = value;
  }
  if (slot == nullptr || (most == 0 && may_add)) slot = slots_.emplace_back(std::make_unique<Slot>()).get();
  join(*slot, source, shared, std::move(context), dropped);
  return true;
}

void Scheduler::join(Slot& slot, const Session* source, int64_t shared, std::vector<TokenId> context, int64_t dropped) {
  Waiting next = std::move(*queue_.front());
  queue_.pop_front();
  try {
    const PositionScheme& scheme = next.scheme != nullptr ? *next.scheme : base_.scheme();
    const Timeline timeline{scheme.spec(), capacity_under(scheme, base_, next.request->options)};
    if (!slot.is_on(timeline)) {
      if (timeline == Timeline{base_.scheme().spec(), base_.capacity()} && !is_lent()) {
        slot.use_lent(base_);
      } else {
        SessionOptions options = base_.options();
        options.capacity = timeline.capacity;
        if (next.scheme != nullptr) {
          options.position = "native";
          options.scheme = next.scheme;
        }
        slot.use(Session(base_.share_model(), options));
      }
    }
    if (dropped > 0 && next.request->events.slide)
      next.request->events.slide(next.request->id, std::ssize(context), dropped);
    slot.join(next.request, std::move(context), source != nullptr ? *source : *slot.session(), shared, tokenizer_,
              ++clock_);
  } catch (...) {
    tell_error(*next.request);
  }
}

bool Scheduler::is_lent() const {
  return std::ranges::any_of(slots_, [&](const auto& slot) { return slot->session() == &base_; });
}

// One pass: a token of every text that grows, and as many of texts to be read as there is room for beside them.
void Scheduler::pass() {
  std::vector<Slot*> live;
  for (const auto& slot : slots_) {
    if (slot->free() || slot->done()) continue;
    try {
      slot->prepare();
      if (!slot->done()) live.push_back(slot.get());
    } catch (...) {
      tell_error(*slot->leave(++clock_));
    }
  }
  std::ranges::sort(live, {}, [](const Slot* slot) { return std::pair(slot->reading(), slot->since()); });
  std::vector<Session::Part> parts;
  int64_t room = base_.options().chunk, scored_room = most_scored_rows(base_.model().config().vocab_size);
  bool none_reads = true;  // yet; the first always gets on
  for (Slot* slot : live) {
    const bool scores = slot->scores();
    const int64_t own_room = scores ? std::min(room, scored_room) : room;
    if (slot->reading()) {
      if (own_room <= 0 && !none_reads) break;
      none_reads = false;
    }
    parts.push_back(slot->part(std::max<int64_t>(own_room, 1)));
    room -= std::ssize(parts.back().tokens);
    if (scores) scored_room -= std::ssize(parts.back().tokens);
  }
  live.resize(parts.size());
  if (parts.empty()) return;

  std::span<const std::span<const float>> logits;
  try {
    logits = Session::evaluate_together(parts);
  } catch (...) {
    for (Slot* slot : live) tell_error(*slot->leave(++clock_));
    return;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto wanted = static_cast<size_t>(parts[i].wanted);
    try {
      live[i]->take(logits.first(wanted));
    } catch (...) {
      tell_error(*live[i]->leave(++clock_));
    }
    logits = logits.subspan(wanted);
  }
}

void Scheduler::deliver() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[i];
    if (slot.done()) finish(*slot.leave(++clock_), slot.result());
  }
}

void Scheduler::finish(const GenerateRequest& request, const Generation& result) {
  try {
    if (request.events.finished) request.events.finished(request.id, result);
  } catch (...) {
    tell_error(request);
  }
}

// Tells the request of the exception that is being handled.
void Scheduler::tell_error(const GenerateRequest& request) {
  try {
    if (!request.failed) throw;
    request.failed(std::current_exception());
  } catch (...) {
    if (!untold_) untold_ = std::current_exception();
  }
}

int64_t generate_batch(Session& session, const Tokenizer* tokenizer, std::span<const GenerateRequest> requests,
                       int64_t parallel, const GenerateEvents& events) {
  Scheduler scheduler(session, tokenizer, parallel);
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
