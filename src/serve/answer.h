// answer.h: what the engine has of a body's sequences so far, between its thread and the one that serves the client.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "text/scheduler.h"

namespace ordinal::serve {

// Safe to call from both threads. Shared: the client's may go first.
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  // `has_text`: the model has a tokenizer, and pieces come as characters become whole.
  Answer(size_t sequences, bool has_text) : has_text_(has_text), parts_(sequences), left_(sequences) {}

  // Lets sequence `index` be told of by the request's events.
  void follow(GenerateRequest& request, size_t index);

  // What has come of a sequence since it was last taken: whole characters, and the tokens drawn up to them.
  struct Piece {
    size_t index = 0;
    std::string text;
    std::vector<TokenId> ids;
    std::vector<TokenLogprob> logprobs;
    bool first = false;
    std::optional<Generation> result;  // with the last
  };

  // The next piece, or nothing when there is none within the time. Throws on what ended a sequence.
  std::optional<Piece> next(std::chrono::milliseconds patience);
  // Whether all sequences have ended within the time. Throws likewise.
  bool wait(std::chrono::milliseconds patience);
  std::vector<Generation> results();  // when all have ended

  void cancel() { cancelled_.store(true); }
  bool ended() const { return left_.load() == 0; }

  // Milliseconds from when the answer was made to the first token of any sequence; 0: none yet.
  double first_token_ms() const { return static_cast<double>(first_token_us_.load()) * 1e-3; }
  int64_t tokens() const { return tokens_.load(); }

 private:
  struct Part {
    Piece fresh;
    bool started = false, readable = false, taken_all = false;
    std::optional<Generation> result;
  };
  void end(size_t index, const Generation* result, std::exception_ptr error);

  const bool has_text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  std::exception_ptr error_;
  size_t next_ = 0;  // whose turn it is
  std::atomic<size_t> left_;
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> first_token_us_{0}, tokens_{0};
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
};

}  // namespace ordinal::serve
