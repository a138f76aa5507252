// dispatch.cpp: which kernels run on this processor, and the loop over threads.
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "ordinal/error.h"

namespace ordinal {

extern const Kernels kGenericKernels;
#if defined(__x86_64__)
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx2Kernels;
#endif

namespace {

// Best first.
const Kernels* const kAll[] = {
#if defined(__x86_64__)
    &kAvx512Kernels, &kAvx2Kernels,
#endif
    &kGenericKernels};

const std::vector<const Kernels*>& tables_here() {
  static const std::vector<const Kernels*> tables = [] {
    std::vector<const Kernels*> found;
    for (const Kernels* table : kAll)
      if (table->runs_here()) found.push_back(table);
    return found;
  }();
  return tables;
}

const Kernels* choose() {
  const char* wanted = std::getenv("ORDINAL_ISA");
  if (wanted == nullptr || *wanted == '\0') return tables_here().front();
  std::string names;
  for (const Kernels* table : tables_here()) {
    if (std::string_view(wanted) == table->name) return table;
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  throw Error("ORDINAL_ISA asks for kernels that this machine has not", names, wanted,
              "unset ORDINAL_ISA to use " + std::string(tables_here().front()->name));
}

std::atomic<const Kernels*> in_use{nullptr};

// A thread's share of [0, count): contiguous, so that its reads of memory run forward.
void run_share(int64_t thread, int64_t n_threads, int64_t count, LoopBody body, void* context) {
  const int64_t last = count * (thread + 1) / n_threads;
  for (int64_t i = count * thread / n_threads; i < last; ++i) body(context, i, static_cast<int>(thread));
}

}  // namespace

const Kernels& kernels() {
  const Kernels* table = in_use.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = choose();
    in_use.store(table, std::memory_order_release);
  }
  return *table;
}

std::span<const Kernels* const> available_kernels() { return tables_here(); }

void use_kernels_for_test(const Kernels& table) { in_use.store(&table, std::memory_order_release); }

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

void parallel_loop(int n_threads, int64_t count, LoopBody body, void* context) {
  const int used = count < n_threads ? static_cast<int>(count) : n_threads;
  if (used <= 1) {
    for (int64_t i = 0; i < count; ++i) body(context, i, 0);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto guarded_share = [&](int thread) {
    try {
      run_share(thread, used, count, body, context);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
#ifdef _OPENMP
  // A schedule clause of one iteration per thread, so that every share runs even if the team is smaller than asked.
#pragma omp parallel for num_threads(used) schedule(static, 1)
  for (int thread = 0; thread < used; ++thread) guarded_share(thread);
#else
  std::vector<std::thread> team;
  for (int thread = 1; thread < used; ++thread) team.emplace_back(guarded_share, thread);
  guarded_share(0);
  for (std::thread& member : team) member.join();
#endif
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ordinal
