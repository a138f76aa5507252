// ranks.h: the processes of one run, on one machine or many: who is this one, how many are there, and the few things
// that they say to each other. Nobody else knows that there is MPI.
//
// All ranks run the same command over the same inputs, so they come to the same calls in the same order: results have
// the same bits everywhere, and what depends on time or chance is asked of the first rank (src/ranks/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ordinal {

// This class is itself the run of one rank, in which there is nothing to say. Only the thread that opened the ranks
// may call what is virtual.
class Ranks {
 public:
  Ranks() = default;
  Ranks(int rank, int count) : rank_(rank), count_(count) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  int rank() const { return rank_; }
  int count() const { return count_; }
  bool is_first() const { return rank_ == 0; }
  int64_t bytes_sent() const { return sent_; }  // by this rank, in gathers

  // Rank r has bytes [ends[r - 1], ends[r]) of `data`, the first from 0; afterwards every rank has all of them.
  virtual void gather(std::byte* /*data*/, std::span<const int64_t> /*ends*/) {}
  // What the first rank has in `data`, all have afterwards.
  virtual void send_to_all(std::span<std::byte> /*data*/) {}

  // Messages between two ranks, for work that is handed out. Each arrives once; those of one rank in order.
  struct Message {
    int from = 0;
    std::string text;
  };
  virtual void post(int /*to*/, std::string_view /*text*/) {}
  // A message that is there already.
  virtual std::optional<Message> poll() { return std::nullopt; }

  // The last call but close(): this rank has come to its end with a status. The statuses of all ranks, once they have;
  // none when others are at work still after `patience` seconds, where there is one.
  virtual std::vector<int> all_end(int status, std::optional<double> patience);
  virtual void close() {}
  // Ends all ranks at once, wherever they are.
  virtual void end_all(int /*status*/) {}

 protected:
  int64_t sent_ = 0;

 private:
  const int rank_ = 0, count_ = 1;
};

// Joins the run that this process is part of; once, before anything else. In a build without MPI it is a run of one.
Ranks& open_ranks();

// The ranks that share work on this thread: the run's, or those that a RanksInUse names.
Ranks& ranks();

// While it lives, ranks() are others on this thread: one rank alone, whose models are not shared out.
class RanksInUse {
 public:
  explicit RanksInUse(Ranks& inner);
  RanksInUse(const RanksInUse&) = delete;
  RanksInUse& operator=(const RanksInUse&) = delete;
  ~RanksInUse();

 private:
  Ranks* const outer_;
};

// What the first rank has, on all.
void send_text(Ranks& all, std::string& text);
// What each rank has, on all.
std::vector<std::string> gather_texts(Ranks& all, const std::string& mine);

}  // namespace ordinal
