// machine.cpp: see machine.h.
#include "study/machine.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

constexpr int kRepeats = 5;  // the median counts

template <class Action>
double median_seconds(Action&& action) {
  std::vector<double> seconds;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    action();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRepeats / 2];
}

// The one-row product, so small in arithmetic that memory bounds it. Memory is what it is under any ORDINAL_ISA: the
// quickest kernels read.
double measure_read(int n_threads, const std::vector<float>& buffer, int64_t streams) {
  constexpr int64_t k = 1024;
  const int64_t panels = static_cast<int64_t>(buffer.size()) / (k * kPanelLanes);
  const std::vector<float> x(static_cast<size_t>(k), 0.25f);
  std::vector<float> y(static_cast<size_t>(panels * kPanelLanes));
  const auto product = available_kernels().front()->product[static_cast<size_t>(Dtype::f32)];
  const double seconds = median_seconds([&] {
    parallel_for(n_threads, panels / streams, [&](int64_t group, int) {
      const int64_t panel = group * streams;
      product({.x = x.data(),
               .x_stride = k,
               .m = 1,
               .panels = reinterpret_cast<const std::byte*>(buffer.data() + panel * k * kPanelLanes),
               .panel_stride = k * kPanelLanes * 4,
               .n_panels = streams,
               .k = k,
               .y = y.data() + panel * kPanelLanes,
               .y_stride = panels * kPanelLanes});
    });
  });
  return static_cast<double>(buffer.size() * sizeof(float)) / seconds / 1e9;
}

// The widest register tile over one panel that stays in the nearest cache.
double measure_gflops(int n_threads) {
  constexpr int64_t k = 64, rounds = 20000;
  const int64_t m = kernels().tile_rows, rounds_each = std::max<int64_t>(1, rounds / n_threads);
  const double seconds = median_seconds([&] {
    parallel_for(n_threads, n_threads, [&](int64_t, int) {
      const std::vector<float> x(static_cast<size_t>(m * k), 0.25f), panel(static_cast<size_t>(k * kPanelLanes), 0.5f);
      std::vector<float> y(static_cast<size_t>(m * kPanelLanes));
      for (int64_t round = 0; round < rounds_each; ++round)
        kernels().product[0]({.x = x.data(),
                              .x_stride = k,
                              .m = m,
                              .panels = reinterpret_cast<const std::byte*>(panel.data()),
                              .panel_stride = k * kPanelLanes * 4,
                              .n_panels = 1,
                              .k = k,
                              .y = y.data(),
                              .y_stride = kPanelLanes});
    });
  });
  return 2.0 * static_cast<double>(m * k * kPanelLanes) * static_cast<double>(rounds_each) *
         static_cast<double>(n_threads) / seconds / 1e9;
}

// Instruction sets differ a hundredfold: as many rounds as take a few milliseconds.
double measure_int8_gops(int n_threads) {
  for (int64_t rounds = 1000;; rounds *= 4) {
    int64_t each = 0;
    const double seconds = median_seconds([&] {
      parallel_for(n_threads, n_threads, [&](int64_t i, int) {
        float sum = 0;
        const int64_t done = kernels().integer_peak(rounds, &sum);
        if (i == 0) each = done;
      });
    });
    if (seconds > 0.004) return 2.0 * static_cast<double>(each) * static_cast<double>(n_threads) / seconds / 1e9;
  }
}

}  // namespace

MachineSpeed measure_machine(int n_threads) {
  MachineSpeed speed;
  {
    const std::vector<float> buffer(size_t{1} << 26, 0.5f);  // 256 MiB
    speed.read_gb_per_s = measure_read(n_threads, buffer, 4);
    speed.read_one_stream_gb_per_s = measure_read(n_threads, buffer, 1);
  }
  speed.gflops = measure_gflops(n_threads);
  speed.int8_gops = measure_int8_gops(n_threads);
  return speed;
}

}  // namespace ordinal
