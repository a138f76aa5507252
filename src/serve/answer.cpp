// answer.cpp: see answer.h.
#include "serve/answer.h"

#include <algorithm>
#include <utility>

namespace ordinal::serve {

void Answer::follow(GenerateRequest& request, size_t index) {
  const auto self = shared_from_this();
  request.events.cancel = &cancelled_;  // outlives the request, whose events hold the answer
  request.events.logprob = [self, index](int64_t, const TokenLogprob& logprob) {
    const std::lock_guard lock(self->mutex_);
    self->parts_[index].fresh.logprobs.push_back(logprob);
  };
  request.events.token = [self, index](int64_t, TokenId id) {
    {
      const std::lock_guard lock(self->mutex_);
      self->parts_[index].fresh.ids.push_back(id);
      self->parts_[index].readable |= !self->has_text_;
    }
    if (!self->has_text_) self->changed_.notify_one();
    if (self->tokens_.fetch_add(1) > 0) return;
    const auto waited = std::chrono::steady_clock::now() - self->made_;
    self->first_token_us_.store(
        std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::microseconds>(waited).count()));
  };
  request.events.text = [self, index](int64_t, std::string_view text) {
    {
      const std::lock_guard lock(self->mutex_);
      self->parts_[index].fresh.text += text;
      self->parts_[index].readable = true;
    }
    self->changed_.notify_one();
  };
  request.events.finished = [self, index](int64_t, const Generation& result) { self->end(index, &result, nullptr); };
  request.failed = [self, index](std::exception_ptr error) { self->end(index, nullptr, std::move(error)); };
}

void Answer::end(size_t index, const Generation* result, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (result != nullptr) parts_[index].result = *result;
    if (error && !error_) error_ = std::move(error);
    left_.fetch_sub(1);
  }
  changed_.notify_one();
}

std::optional<Answer::Piece> Answer::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto ready = [](const Part& part) { return !part.taken_all && (part.readable || part.result); };
  changed_.wait_for(lock, patience, [&] { return error_ || std::ranges::any_of(parts_, ready); });
  if (error_) std::rethrow_exception(error_);
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[(next_ + i) % parts_.size()];
    if (!ready(part)) continue;
    Piece piece = std::exchange(part.fresh, {});
    piece.index = (next_ + i) % parts_.size();
    piece.first = !std::exchange(part.started, true);
    part.readable = false;
    if (part.result) {
      piece.result = part.result;
      part.taken_all = true;
    }
    next_ = piece.index + 1;
    return piece;
  }
  return std::nullopt;
}

bool Answer::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return error_ || left_.load() == 0; });
  if (error_) std::rethrow_exception(error_);
  return left_.load() == 0;
}

std::vector<Generation> Answer::results() {
  const std::lock_guard lock(mutex_);
  std::vector<Generation> results;
  for (Part& part : parts_) results.push_back(std::move(*part.result));
  return results;
}

}  // namespace ordinal::serve
