// panels.cpp: see panels.h.
#include "format/panels.h"

#include <algorithm>
#include <array>
#include <span>

namespace ordinal {
namespace {

// Rows are read this many numbers at a time: 32 runs that fit the nearest cache beside what is written.
constexpr int64_t kStretch = 64;

}  // namespace

template <class T>
void pack_panel(const T* rows, int64_t count, int64_t k_size, T* panel) {
  if (count < kPanelLanes) std::fill_n(panel, kPanelLanes * k_size, T{});
  for (int64_t first = 0; first < k_size; first += kStretch) {
    const int64_t stop = std::min(first + kStretch, k_size);
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t k = first; k < stop; ++k) panel[k * kPanelLanes + lane] = rows[lane * k_size + k];
  }
}

template void pack_panel(const float* rows, int64_t count, int64_t k_size, float* panel);
template void pack_panel(const uint16_t* rows, int64_t count, int64_t k_size, uint16_t* panel);

void unpack_panel(Dtype dtype, const std::byte* panel, int64_t k_size, int64_t first, int64_t count, float* rows) {
  std::array<float, kStretch * kPanelLanes> wide;
  for (int64_t start = 0; start < k_size; start += kStretch) {
    const int64_t n = std::min(kStretch, k_size - start);
    widen(dtype, panel, start * kPanelLanes, std::span(wide).first(static_cast<size_t>(n * kPanelLanes)));
    for (int64_t row = 0; row < count; ++row)
      for (int64_t k = 0; k < n; ++k)
        rows[row * k_size + start + k] = wide[static_cast<size_t>(k * kPanelLanes + first + row)];
  }
}

}  // namespace ordinal
