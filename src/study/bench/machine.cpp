// machine.cpp: see machine.h.
#include "study/bench/machine.h"

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
  const std::vector<float> x(k, 0.25f);
  std::vector<float> y(panels * kPanelLanes);
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

// Thousands of millions of operations a second of a peak loop on registers; a multiply-add is two. Instruction sets
// differ a hundredfold: as many rounds as take a few milliseconds.
double measure_peak(int n_threads, int64_t (*peak)(int64_t rounds, float* sum)) {
  for (int64_t rounds = 1000;; rounds *= 4) {
    int64_t each = 0;
    const double seconds = median_seconds([&] {
      parallel_for(n_threads, n_threads, [&](int64_t i, int) {
        float sum = 0;
        const int64_t done = peak(rounds, &sum);
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
    speed.read_gb_per_s = measure_read(n_threads, buffer, 8);
    speed.read_one_stream_gb_per_s = measure_read(n_threads, buffer, 1);
  }
  with_threads(n_threads, [&] {  // in attendance: a piece is short, and nobody should take two
    speed.gflops = measure_peak(n_threads, kernels().multiply_add_peak);
    speed.int8_gops = measure_peak(n_threads, kernels().integer_peak);
  });
  return speed;
}

}  // namespace ordinal
