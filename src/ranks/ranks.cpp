// ranks.cpp: see ranks.h; texts over the calls that move bytes, and which ranks are in use.
#include "ranks/ranks.h"

#include <algorithm>
#include <utility>

namespace ordinal {
namespace {

Ranks& run_of_this_process() {
  static Ranks& opened = open_ranks();
  return opened;
}

thread_local Ranks* in_use = nullptr;

}  // namespace

std::vector<int> Ranks::all_end(int status, std::optional<double>) { return {status}; }

Ranks& ranks() { return in_use != nullptr ? *in_use : run_of_this_process(); }

RanksInUse::RanksInUse(Ranks& inner) : outer_(std::exchange(in_use, &inner)) {}
RanksInUse::~RanksInUse() { in_use = outer_; }

void send_text(Ranks& all, std::string& text) {
  auto size = static_cast<int64_t>(text.size());
  all.send_to_all(std::as_writable_bytes(std::span(&size, 1)));
  text.resize(static_cast<size_t>(size));
  all.send_to_all(std::as_writable_bytes(std::span(text.data(), text.size())));
}

std::vector<std::string> gather_texts(Ranks& all, const std::string& mine) {
  const auto count = static_cast<size_t>(all.count()), rank = static_cast<size_t>(all.rank());
  std::vector<int64_t> sizes(count), ends(count);
  for (size_t r = 0; r < count; ++r) ends[r] = static_cast<int64_t>((r + 1) * sizeof(int64_t));
  sizes[rank] = static_cast<int64_t>(mine.size());
  all.gather(reinterpret_cast<std::byte*>(sizes.data()), ends);
  int64_t end = 0;
  for (size_t r = 0; r < count; ++r) ends[r] = end += sizes[r];
  std::string together(static_cast<size_t>(end), ' ');
  std::ranges::copy(mine, together.begin() + ends[rank] - sizes[rank]);
  all.gather(reinterpret_cast<std::byte*>(together.data()), ends);
  std::vector<std::string> texts;
  for (size_t r = 0; r < count; ++r)
    texts.push_back(together.substr(static_cast<size_t>(ends[r] - sizes[r]), static_cast<size_t>(sizes[r])));
  return texts;
}

}  // namespace ordinal
