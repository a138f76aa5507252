// threads.cpp: OpenMP's threads: one parallel region a forward pass or more, and loops inside it that wait for nobody.
//
// A region for every loop would end some eighty times a token with a wait for each thread, on a processor or not:
// beside a busy process decoding fell from 59 tokens a second to 3 (tools/SPEED.md). So the threads of a region stay
// for its whole program. The first runs it; at a loop the pieces lie open, everyone claims them one by one, and the
// first waits only for pieces that somebody claimed. Each thread begins at a place of its own and helps the others when
// it is done: neighbouring pieces, which share memory, mostly stay on one processor. All meet once, at the region's
// end.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

constexpr int kSpins = 4000;            // looks for work before a thread sleeps: a few tens of microseconds
constexpr int kLanes = 8;               // places that threads begin a loop at
constexpr int kPiecesPerLane = 16;      // several, so that a late thread leaves little undone
constexpr int kMostThreads = 1024;      // that a lane's word can name
constexpr uint32_t kOver = UINT32_MAX;  // the last offer: the program has ended

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// The threads of one region. The first calls run() and dismiss(), every other one attend().
class Crew {
 public:
  void run(int n_threads, int64_t count, LoopBody body, void* context) {
    const int64_t lanes = std::min(n_threads, kLanes);
    const int64_t pieces = std::min<int64_t>((count + lanes - 1) / lanes, kPiecesPerLane);
    job_ = {body, context, count, lanes, pieces};
    failure_ = nullptr;
    unfinished_.store(lanes * pieces, std::memory_order_relaxed);
    for (int64_t lane = 0; lane < lanes; ++lane)
      lanes_[lane].open.store(pack(n_threads, pieces), std::memory_order_release);
    offer(offers_ = offers_ % (kOver - 1) + 1);
    work(0);
    for (int spins = 0; unfinished_.load(std::memory_order_acquire) > 0; ++spins) {
      if (spins < kSpins)
        pause();
      else
        std::this_thread::yield();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  void dismiss() { offer(kOver); }

  void attend(int thread) {
    uint32_t seen = 0;
    for (int spins = 0;; ++spins) {
      const uint32_t offered = offered_.load(std::memory_order_acquire);
      if (offered == kOver) return;
      if (offered != seen) {
        seen = offered;
        work(thread);
        spins = 0;
      } else if (spins < kSpins) {
        pause();
      } else {
        offered_.wait(offered);
      }
    }
  }

 private:
  struct Job {
    LoopBody body;
    void* context;
    int64_t count, lanes, pieces;  // pieces of a lane
  };
  struct alignas(64) Lane {
    std::atomic<uint32_t> open{0};
  };

  // Threads that may take part, and pieces of a lane not claimed yet, in one word.
  static uint32_t pack(int n_threads, int64_t left) {
    return static_cast<uint32_t>(n_threads) << 16 | static_cast<uint32_t>(left);
  }
  static int64_t left_of(uint32_t open) { return open & 0xffffu; }

  // Sequentially consistent: a thread that is about to sleep either sees this offer or is seen, and woken.
  void offer(uint32_t offered) {
    offered_.store(offered);
    offered_.notify_all();
  }

  void work(int thread) {
    for (int step = 0; step < kLanes; ++step)
      while (claim((thread + step) % kLanes, thread)) {
      }
  }

  // Takes a piece and runs it. job_ is read after the exchange only: a claimed piece keeps the loop alive.
  bool claim(int lane, int thread) {
    std::atomic<uint32_t>& open = lanes_[lane].open;
    uint32_t found = open.load(std::memory_order_acquire);
    do {
      if (left_of(found) == 0 || thread >= static_cast<int>(found >> 16)) return false;
    } while (!open.compare_exchange_weak(found, found - 1, std::memory_order_acq_rel, std::memory_order_acquire));
    const int64_t piece = lane * job_.pieces + job_.pieces - left_of(found), all = job_.lanes * job_.pieces;
    try {
      const int64_t last = job_.count * (piece + 1) / all;
      for (int64_t i = job_.count * piece / all; i < last; ++i) job_.body(job_.context, i, thread);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    unfinished_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  Lane lanes_[kLanes];
  alignas(64) std::atomic<uint32_t> offered_{0};
  alignas(64) std::atomic<int64_t> unfinished_{0};
  uint32_t offers_ = 0;
  Job job_{};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

// What this thread's loops are shared with: a crew while its program runs, nobody inside a loop.
struct Region {
  Crew* crew = nullptr;
  int n_threads = 0;  // 0: there is no region
};
thread_local Region region;

class Entered {
 public:
  explicit Entered(Region inner) : outer_(region) { region = inner; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { region = outer_; }

 private:
  const Region outer_;
};

// A region's threads, counted over all regions of the process: together they are no more than the processors, since
// each piece whose thread waits for its turn is waited for.
class Share {
 public:
  explicit Share(int wanted) {
    int before = at_work_.load(std::memory_order_relaxed);
    do {
      count_ = std::max(1, std::min(wanted, available_processors() - before));
    } while (!at_work_.compare_exchange_weak(before, before + count_, std::memory_order_relaxed));
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { at_work_.fetch_sub(count_, std::memory_order_relaxed); }
  int count() const { return count_; }

 private:
  static inline std::atomic<int> at_work_{0};
  int count_ = 1;
};

}  // namespace

int available_processors() {
  static const int processors = std::max(1, omp_get_num_procs());
  return processors;
}

int usual_threads() { return std::min(std::max(1, omp_get_max_threads()), available_processors()); }

void parallel_region(int n_threads, RegionBody program, void* context) {
  if (region.n_threads > 0) return program(context);
  const Share share(std::min(n_threads, kMostThreads));
  if (share.count() == 1) {
    const Entered entered({nullptr, 1});
    return program(context);
  }
  Crew crew;
  std::exception_ptr failure;
#pragma omp parallel num_threads(share.count())
  if (omp_get_thread_num() == 0) {
    const Entered entered({&crew, omp_get_num_threads()});
    try {
      program(context);
    } catch (...) {
      failure = std::current_exception();
    }
    crew.dismiss();
  } else {
    crew.attend(omp_get_thread_num());
  }
  if (failure) std::rethrow_exception(failure);
}

void parallel_loop(int n_threads, int64_t count, LoopBody body, void* context) {
  if (region.n_threads == 0 && n_threads > 1 && count > 1)
    return with_threads(n_threads, [&] { parallel_loop(n_threads, count, body, context); });
  const Region outside = region;
  const Entered entered({nullptr, 1});
  const auto used = static_cast<int>(std::min<int64_t>({n_threads, count, outside.n_threads}));
  if (used > 1) return outside.crew->run(used, count, body, context);
  for (int64_t i = 0; i < count; ++i) body(context, i, 0);
}

}  // namespace ordinal
