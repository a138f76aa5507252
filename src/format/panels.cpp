// panels.cpp: see panels.h.
#include "format/panels.h"

#include <algorithm>
#include <array>
#include <span>

namespace ordinal {
namespace {

// Parts of names that mark tables of positions.
struct RowTable {
  std::string_view text;
  bool begins;  // the name begins with it; otherwise it is anywhere in the name
};
constexpr RowTable kRowTables[] = {{"position_embd", true}, {"rope_", true}, {"attn_rel", false}, {"attn_xl", false}};

// Rows are read this many numbers at a time: 32 runs that fit the nearest cache beside what is written.
constexpr int64_t kStretch = 64;

}  // namespace

Layout layout_for(std::string_view tensor_name, size_t dimensions) {
  if (dimensions < 2) return Layout::rows;
  for (const RowTable& table : kRowTables)
    if (table.begins ? tensor_name.starts_with(table.text) : tensor_name.find(table.text) != std::string_view::npos)
      return Layout::rows;
  return Layout::panels;
}

void pack_panel(const float* rows, int64_t count, int64_t k_size, float* panel) {
  if (count < kPanelLanes) std::fill_n(panel, kPanelLanes * k_size, 0.0f);
  for (int64_t first = 0; first < k_size; first += kStretch) {
    const int64_t stop = std::min(first + kStretch, k_size);
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t k = first; k < stop; ++k) panel[k * kPanelLanes + lane] = rows[lane * k_size + k];
  }
}

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
