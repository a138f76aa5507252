// thread_ranks.h: ranks that are threads of this process, for tests of what is shared between ranks without MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "ranks/ranks.h"

namespace test {

class ThreadRanks final : public ordinal::Ranks {
 public:
  // What the threads meet at; one for all of them.
  struct Meeting {
    explicit Meeting(int count) : data(static_cast<size_t>(count)), met(count) {}
    std::vector<std::byte*> data;
    std::barrier<> met;
  };

  ThreadRanks(int rank, int count, Meeting& meeting) : Ranks(rank, count), meeting_(meeting) {}

  void gather(std::byte* data, std::span<const int64_t> ends) override {
    meeting_.data[static_cast<size_t>(rank())] = data;
    meeting_.met.arrive_and_wait();
    int64_t begin = 0;
    for (int r = 0; r < count(); begin = ends[static_cast<size_t>(r++)]) {
      const int64_t size = ends[static_cast<size_t>(r)] - begin;
      if (r == rank())
        sent_ += size * (count() - 1);
      else
        std::copy_n(meeting_.data[static_cast<size_t>(r)] + begin, size, data + begin);
    }
    meeting_.met.arrive_and_wait();
  }

  void send_to_all(std::span<std::byte> data) override {
    meeting_.data[static_cast<size_t>(rank())] = data.data();
    meeting_.met.arrive_and_wait();
    if (rank() > 0) std::copy_n(meeting_.data.front(), data.size(), data.data());
    meeting_.met.arrive_and_wait();
  }

 private:
  Meeting& meeting_;
};

// Calls work(rank) on so many ranks at once. It may not throw.
template <class Work>
void on_ranks(int count, const Work& work) {
  ThreadRanks::Meeting meeting(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks mine(rank, count, meeting);
      const ordinal::RanksInUse in_use(mine);
      work(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace test
