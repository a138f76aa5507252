// engine.cpp: see engine.h.
#include "serve/engine.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "kernels/kernels.h"
#include "model/kv_cache.h"

namespace ordinal::serve {

Engine::Engine(std::shared_ptr<const Model> model, const Tokenizer* tokenizer, const EngineOptions& options)
    : model_(std::move(model)),
      tokenizer_(tokenizer),
      options_(options),
      session_(model_, options.session),
      position_(session_.scheme().spec()),
      context_(session_.capacity()),
      thread_([this] { work(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    cancels_ = ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<const PositionScheme> Engine::scheme_of(const GenerateRequest& request) {
  constexpr size_t kKnown = 32;
  const std::lock_guard lock(schemes_mutex_);
  const auto known = std::ranges::find_if(schemes_, [&](const KnownScheme& row) {
    return row.position == request.position && row.context == request.options.context;
  });
  if (known != schemes_.end()) {
    schemes_.splice(schemes_.begin(), schemes_, known);
    return known->scheme;
  }
  auto scheme = own_scheme(request, session_);
  schemes_.push_front({request.position, request.options.context, scheme});
  if (schemes_.size() > kKnown) schemes_.pop_back();
  return scheme;
}

void Engine::prepare(GenerateRequest& request) {
  request.scheme = scheme_of(request);
  check_request(request, session_, tokenizer_);
}

std::string Engine::position_of(const std::string& position, int64_t context) {
  GenerateRequest request;
  request.position = position;
  request.options.context = context;
  const auto scheme = scheme_of(request);
  return scheme != nullptr ? scheme->spec() : position_;
}

bool Engine::submit(std::vector<GenerateRequest> requests) {
  const auto count = std::ssize(requests);
  for (GenerateRequest& request : requests) {
    request.events.finished = [this, told = std::move(request.events.finished)](int64_t id, const Generation& result) {
      leave();
      told(id, result);
    };
    request.failed = [this, told = std::move(request.failed)](std::exception_ptr error) {
      leave();
      told(std::move(error));
    };
  }
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || outstanding() + count > options_.parallel + options_.queue) return false;
    outstanding_.fetch_add(count);
    std::ranges::move(requests, std::back_inserter(inbox_));
  }
  wake_.notify_all();
  return true;
}

void Engine::cancel_all() {
  {
    const std::lock_guard lock(mutex_);
    cancels_ = true;
  }
  wake_.notify_all();
}

// What came in since the last pass.
void Engine::take(Scheduler& scheduler) {
  std::vector<GenerateRequest> taken;
  bool cancels = false;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(inbox_);
    cancels = std::exchange(cancels_, false);
  }
  for (GenerateRequest& request : taken) {
    const auto failed = request.failed;
    try {
      scheduler.submit(std::move(request));
    } catch (...) {
      failed(std::current_exception());
    }
  }
  if (cancels) scheduler.cancel_all();
}

void Engine::work() {
  using Clock = std::chrono::steady_clock;
  Scheduler scheduler(session_, tokenizer_, options_.parallel);
  const int64_t panel_bytes = KvCache::bytes_of(model_->config(), kPanelLanes, session_.options().kv_dtype);
  const auto one_pass = [&] {
    const auto start = Clock::now();
    take(scheduler);
    bool more = false;
    try {
      more = scheduler.step();
    } catch (...) {  // every request has a `failed`, which has been told
      more = true;
    }
    at_work_.store(scheduler.at_work());
    cache_bytes_.store(panel_bytes * scheduler.tokens_held() / kPanelLanes);
    busy_us_.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
    return more;
  };
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !inbox_.empty() || cancels_ || ends_; });
      if (ends_ && inbox_.empty() && outstanding() == 0) return;
    }
    // The threads that compute stand by as long as there is work.
    with_threads(session_.options().n_threads, [&] {
      while (one_pass()) {
      }
    });
  }
}

}  // namespace ordinal::serve
