// mpi_ranks.cpp: the ranks of `make mpi`: processes that mpirun or srun started. The only file that knows MPI.
// MPI: A Message-Passing Interface Standard, version 3.1, 2015.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "ranks/ranks.h"

namespace ordinal {
namespace {

constexpr auto kLook = std::chrono::milliseconds(1);

int part_of(MPI_Comm world, int (*ask)(MPI_Comm, int*)) {
  int answer = 0;
  ask(world, &answer);
  return answer;
}

// MPI's own errors end the run with a message that names the rank: its default, and right here.
class MpiRanks final : public Ranks {
 public:
  MpiRanks() : Ranks(part_of(MPI_COMM_WORLD, MPI_Comm_rank), part_of(MPI_COMM_WORLD, MPI_Comm_size)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &endings_);
    counts_.resize(static_cast<size_t>(count()));
    begins_.resize(counts_.size());
  }

  void gather(std::byte* data, std::span<const int64_t> ends) override {
    int64_t begin = 0;
    for (size_t r = 0; r < ends.size(); ++r) {
      begins_[r] = static_cast<int>(begin);
      counts_[r] = static_cast<int>(ends[r] - begin);
      begin = ends[r];
    }
    sent_ += int64_t{counts_[static_cast<size_t>(rank())]} * (count() - 1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts_.data(), begins_.data(), MPI_BYTE, MPI_COMM_WORLD);
  }

  void send_to_all(std::span<std::byte> data) override {
    for (size_t done = 0; done < data.size(); done += kMostAtOnce) {
      const auto part = data.subspan(done, std::min(kMostAtOnce, data.size() - done));
      MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
  }

  void post(int to, std::string_view text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  }

  std::optional<Message> poll() override {
    int there = 0, size = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message{.from = status.MPI_SOURCE, .text = std::string(static_cast<size_t>(size), ' ')};
    MPI_Recv(message.text.data(), size, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

  std::vector<int> all_end(int status, std::optional<double> patience) override {
    const auto start = std::chrono::steady_clock::now();
    ended_.resize(static_cast<size_t>(count()));
    status_ = status;
    MPI_Request request;
    MPI_Iallgather(&status_, 1, MPI_INT, ended_.data(), 1, MPI_INT, endings_, &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return ended_;
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (patience && waited.count() > *patience) return {};
      std::this_thread::sleep_for(kLook);
    }
  }

  void close() override { MPI_Finalize(); }
  void end_all(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  static constexpr int kTag = 1;
  static constexpr size_t kMostAtOnce = size_t{1} << 30;  // MPI counts in int

  MPI_Comm endings_ = MPI_COMM_NULL;  // of its own, since a rank may end while others gather
  std::vector<int> counts_, begins_, ended_;
  int status_ = 0;
};

}  // namespace

Ranks& open_ranks() {
  static Ranks& opened = []() -> Ranks& {
    // Calls come from one thread: the one that runs the program inside a region of OpenMP's too (kernels/threads.cpp).
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    static MpiRanks of_mpi;
    return of_mpi;
  }();
  return opened;
}

}  // namespace ordinal
