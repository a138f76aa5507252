// panels.h: how rows become a panel and come back.
#pragma once

#include <cstdint>

#include "ordinal/tensor.h"

namespace ordinal {

// panel[k * 32 + lane] = rows[lane * K + k] for `count` rows of K numbers, 0 for the lanes past them.
template <class T>
void pack_panel(const T* rows, int64_t count, int64_t k_size, T* panel);

// The reverse for lanes `first` .. `first + count` of a panel of plain kind: exact.
void unpack_panel(Dtype dtype, const std::byte* panel, int64_t k_size, int64_t first, int64_t count, float* rows);

}  // namespace ordinal
