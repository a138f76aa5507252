// dispatch_test.cpp: the tables there are, and the loop over threads.
#include <atomic>
#include <stdexcept>
#include <thread>

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

TEST_CASE("kernels: the loops of a region run every index once, one after the other") {
  for (const int threads : {1, 2, 8}) {
    std::vector<int64_t> numbers(1000, 1);
    with_threads(threads, [&] {
      for (int loop = 0; loop < 200; ++loop)  // each reads what the one before it wrote, other indices included
        parallel_for(threads, 500, [&](int64_t i, int) {
          if (loop % 2 == 0)
            numbers[500 + i] = numbers[499 - i] + 1;
          else
            numbers[i] = numbers[999 - i] + 1;
        });
    });
    for (const int64_t number : std::span(numbers).first(500)) CHECK(number == 201);
  }
}

TEST_CASE("kernels: a region ends with what its program throws, and so does a loop in it") {
  for (const int threads : {1, 4}) {
    CHECK_THROWS_AS(with_threads(threads, [] { throw std::runtime_error("program"); }), std::runtime_error);
    int after = 0;
    with_threads(threads, [&] {
      CHECK_THROWS_AS(parallel_for(threads, 64,
                                   [](int64_t i, int) {
                                     if (i == 40) throw std::out_of_range("loop");
                                   }),
                      std::out_of_range);
      parallel_for(threads, 1, [&](int64_t, int) { ++after; });
    });
    CHECK(after == 1);
  }
}

TEST_CASE("kernels: regions and loops inside regions and loops are plain calls") {
  std::atomic<int> bodies{0};
  with_threads(2, [&] {
    with_threads(2, [&] {
      parallel_for(2, 8, [&](int64_t, int) {
        parallel_for(2, 8, [&](int64_t, int thread) {
          CHECK(thread == 0);
          ++bodies;
        });
        with_threads(2, [&] { ++bodies; });
      });
    });
  });
  CHECK(bodies == 72);
}

TEST_CASE("kernels: all regions together use no more threads than there are processors") {
  std::atomic<int> at_work{0}, most{0};
  const auto count = [&](int64_t, int) {
    const int now = ++at_work;
    for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    for (volatile int spin = 0; spin < 2000;) spin = spin + 1;
    --at_work;
  };
  parallel_for(64, 4000, count);
  CHECK(most <= available_processors());
  CHECK(usual_threads() <= available_processors());
}

TEST_CASE("kernels: regions of several threads of a program do not disturb each other") {
  std::vector<std::thread> hosts;
  std::atomic<int64_t> sum{0};
  for (int host = 0; host < 4; ++host)
    hosts.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        with_threads(2, [&] {
          int64_t own[32] = {};
          parallel_for(2, 32, [&](int64_t i, int) { own[i] = i; });
          for (const int64_t number : own) sum += number;
        });
    });
  for (std::thread& host : hosts) host.join();
  CHECK(sum == 4 * 100 * 496);
}

// What `make thread` must be told of; never run otherwise.
TEST_CASE("planted race: threads of a loop add to one number" * doctest::skip()) {
  int64_t sum = 0;
  parallel_for(2, 1 << 20, [&](int64_t i, int) { sum += i; });
  CHECK(sum != 0);
}

TEST_CASE("kernels: there is at least one processor") { CHECK(available_processors() >= 1); }
