// thread_pool.cpp: the loop over threads: helpers take pieces of a loop, and nobody waits for a helper that took none.
//
// A fork-join runtime waits at the end of every loop until each thread has been on a processor once. With more threads
// than processors, or another busy process, that is a scheduler's time slice per loop: measured here, decoding fell to
// a quarter of the speed of one thread (tools/SPEED.md). In this pool the caller works too, pieces are claimed one by
// one, and the caller waits only for pieces that were claimed. Helpers look for work a short while, then sleep.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

constexpr int kMostHelpers = 1024;
constexpr int kSpins = 4000;  // looks at the ticket before a helper sleeps: a few tens of microseconds

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

class ThreadPool {
 public:
  static ThreadPool& instance() {
    static ThreadPool pool;
    return pool;
  }

  ~ThreadPool() {
    {
      const std::lock_guard lock(sleep_mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }

  // False when another loop is using the pool; the caller then runs its loop alone.
  bool run(int n_threads, int64_t count, LoopBody body, void* context) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    while (static_cast<int>(helpers_.size()) + 1 < n_threads) {
      const int thread = static_cast<int>(helpers_.size()) + 1;
      helpers_.emplace_back([this, thread] { help(thread); });
    }
    // Pieces: several a thread, so that a late helper leaves little undone.
    const int64_t pieces = std::min<int64_t>(count, int64_t{n_threads} * 16);
    job_ = {body, context, count, pieces};
    failure_ = nullptr;
    unfinished_.store(pieces, std::memory_order_relaxed);
    ticket_.store(pack(n_threads, pieces), std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
      {
        const std::lock_guard lock(sleep_mutex_);
      }
      wake_.notify_all();
    }
    while (claim(0)) {
    }
    for (int spins = 0; unfinished_.load(std::memory_order_acquire) > 0; ++spins) {
      if (spins < kSpins)
        pause();
      else
        std::this_thread::yield();
    }
    const std::exception_ptr failure = failure_;
    busy_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  struct Job {
    LoopBody body;
    void* context;
    int64_t count, pieces;
  };

  // Threads that may take part, and pieces not claimed yet, in one word.
  static uint64_t pack(int n_threads, int64_t remaining) {
    return static_cast<uint64_t>(n_threads) << 32 | static_cast<uint64_t>(remaining);
  }
  static int threads_of(uint64_t ticket) { return static_cast<int>(ticket >> 32); }
  static int64_t remaining_of(uint64_t ticket) { return static_cast<int64_t>(ticket & 0xffffffffu); }
  bool has_work(int thread) const {
    const uint64_t ticket = ticket_.load(std::memory_order_seq_cst);
    return remaining_of(ticket) > 0 && thread < threads_of(ticket);
  }

  // Takes a piece and runs it. job_ is read after the exchange only: a claimed piece keeps the loop alive.
  bool claim(int thread) {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    do {
      if (remaining_of(ticket) == 0 || thread >= threads_of(ticket)) return false;
    } while (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire));
    const int64_t piece = job_.pieces - remaining_of(ticket);
    try {
      const int64_t last = job_.count * (piece + 1) / job_.pieces;
      for (int64_t i = job_.count * piece / job_.pieces; i < last; ++i) job_.body(job_.context, i, thread);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    unfinished_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  void help(int thread) {
    for (;;) {
      for (int spins = 0; spins < kSpins; ++spins) {
        if (claim(thread))
          spins = 0;
        else
          pause();
      }
      std::unique_lock lock(sleep_mutex_);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock, [&] { return stopping_ || has_work(thread); });
      sleepers_.fetch_sub(1, std::memory_order_seq_cst);
      if (stopping_) return;
    }
  }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::vector<std::thread> helpers_;  // touched by the one who set busy_
  Job job_{};
  std::atomic<uint64_t> ticket_{0};
  std::atomic<int64_t> unfinished_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::atomic<int> sleepers_{0};
  bool stopping_ = false;
};

}  // namespace

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

void parallel_loop(int n_threads, int64_t count, LoopBody body, void* context) {
  // More threads than processors take turns: each piece whose thread waits for its turn is waited for. Measured on two
  // processors, eight threads decoded at 0.6 of the speed of two.
  static const int processors = available_processors();
  const int used = static_cast<int>(std::min<int64_t>({n_threads, count, kMostHelpers, processors}));
  if (used > 1 && ThreadPool::instance().run(used, count, body, context)) return;
  for (int64_t i = 0; i < count; ++i) body(context, i, 0);
}

}  // namespace ordinal
