// engine.h: a model at work for many clients: the thread that owns its scheduler, and the line in front of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ordinal/model.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "text/scheduler.h"

namespace ordinal::serve {

struct EngineOptions {
  SessionOptions session;  // its capacity is the context of requests that name none
  int64_t parallel = 8;    // sequences at work
  int64_t queue = 256;     // sequences waiting
};

// Safe to call from any thread. What happens to a request is told on the engine's own thread, so its events return
// soon and throw nothing.
class Engine {
 public:
  // `tokenizer` may be null; it must outlive the engine. Throws Error for options that do not fit the model.
  Engine(std::shared_ptr<const Model> model, const Tokenizer* tokenizer, const EngineOptions& options);
  ~Engine();  // cancels what is left, and waits for it to end
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Gives the request its scheme, which is made once for all that name it. Throws Error for a request that cannot be
  // answered.
  void prepare(GenerateRequest& request);
  // The canonical spec of a scheme that a request named, "" for none.
  std::string position_of(const std::string& position, int64_t context);

  // Takes all of the requests, or none when there is no room for them. Each ends with one call of its `finished` or
  // `failed`, both of which must be there.
  bool submit(std::vector<GenerateRequest> requests);

  void cancel_all();

  const Model& model() const { return *model_; }
  const Tokenizer* tokenizer() const { return tokenizer_; }
  const std::string& position() const { return position_; }  // of requests that name none
  int64_t context() const { return context_; }               // likewise
  const EngineOptions& options() const { return options_; }

  // As of the last pass.
  int64_t outstanding() const { return outstanding_.load(); }
  int64_t at_work() const { return at_work_.load(); }
  int64_t waiting() const { return std::max<int64_t>(0, outstanding() - at_work()); }
  int64_t cache_bytes() const { return cache_bytes_.load(); }
  double busy_seconds() const { return static_cast<double>(busy_us_.load()) * 1e-6; }

 private:
  void work();
  void take(Scheduler& scheduler);
  void leave() { outstanding_.fetch_sub(1); }
  std::shared_ptr<const PositionScheme> scheme_of(const GenerateRequest& request);

  const std::shared_ptr<const Model> model_;
  const Tokenizer* const tokenizer_;
  const EngineOptions options_;
  Session session_;  // the thread's, but for what never changes
  const std::string position_;
  const int64_t context_;

  // Schemes by spec and context, the last used in front.
  struct KnownScheme {
    std::string position;
    int64_t context;
    std::shared_ptr<const PositionScheme> scheme;
  };
  std::mutex schemes_mutex_;
  std::list<KnownScheme> schemes_;

  std::atomic<int64_t> outstanding_{0}, at_work_{0}, cache_bytes_{0}, busy_us_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<GenerateRequest> inbox_;
  bool cancels_ = false, ends_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace ordinal::serve
