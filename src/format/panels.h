// panels.h: which tensors lie in panels, and how rows become a panel.
#pragma once

#include <cstdint>
#include <string_view>

#include "ordinal/tensor.h"

namespace ordinal {

// Matrices lie in panels. Tables that a position scheme reads row by row stay in rows, as do tensors of one dimension.
Layout layout_for(std::string_view tensor_name, size_t dimensions);

// panel[k * 32 + lane] = rows[lane * K + k] for `count` rows of K numbers, 0 for the lanes past them.
void pack_panel(const float* rows, int64_t count, int64_t k_size, float* panel);

}  // namespace ordinal
