// dispatch_test.cpp: the tables there are, and the loop over threads.
#include <atomic>
#include <stdexcept>

#include "kernels/kernels.h"
#include "support.h"

using namespace ordinal;

TEST_CASE("kernels: the generic table is always there, last, and the table in use is one of those that run here") {
  REQUIRE(!available_kernels().empty());
  CHECK(std::string(available_kernels().back()->name) == "generic");
  bool found = false;
  for (const Kernels* table : available_kernels()) found = found || table == &kernels();
  CHECK(found);
}

TEST_CASE("kernels: a parallel loop runs every index once, whatever the number of threads") {
  for (const int threads : {1, 2, 3, 8, 33})
    for (const int64_t count : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      std::atomic<bool> thread_in_range{true};
      parallel_for(threads, count, [&](int64_t i, int thread) {
        seen[static_cast<size_t>(i)].fetch_add(1);
        if (thread < 0 || thread >= threads) thread_in_range = false;
      });
      for (const auto& times : seen) CHECK(times.load() == 1);
      CHECK(thread_in_range.load());
    }
}

TEST_CASE("kernels: an exception inside a parallel loop reaches the caller") {
  for (const int threads : {1, 4})
    CHECK_THROWS_AS(parallel_for(threads, 10,
                                 [](int64_t i, int) {
                                   if (i == 5) throw std::runtime_error("five");
                                 }),
                    std::runtime_error);
}

TEST_CASE("kernels: there is at least one processor") { CHECK(available_processors() >= 1); }
