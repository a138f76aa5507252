// panels.h: which tensors lie in panels, and how rows become a panel and come back.
#pragma once

#include <cstdint>
#include <string_view>

#include "ordinal/tensor.h"

namespace ordinal {

// Matrices lie in panels. Tables that a position scheme reads row by row stay in rows, as do tensors of one dimension.
Layout layout_for(std::string_view tensor_name, size_t dimensions);

// panel[k * 32 + lane] = rows[lane * K + k] for `count` rows of K numbers, 0 for the lanes past them.
void pack_panel(const float* rows, int64_t count, int64_t k_size, float* panel);

// The reverse for lanes `first` .. `first + count` of a panel of plain kind: exact.
void unpack_panel(Dtype dtype, const std::byte* panel, int64_t k_size, int64_t first, int64_t count, float* rows);

}  // namespace ordinal
