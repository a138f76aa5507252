// model_draft.cpp: see model_draft.h.
#include "format/model_draft.h"

#include <algorithm>
#include <span>

#include "format/block_panels.h"
#include "format/panels.h"

namespace ordinal {
namespace {

// Rows `first` .. `first + count` of a tensor, however it lies.
void unpack_rows(const TensorView& tensor, int64_t first, int64_t count, float* out) {
  const int64_t k_size = tensor.shape.back();
  if (tensor.layout == Layout::rows)
    return widen(tensor.dtype, tensor.data, first * k_size, {out, static_cast<size_t>(count * k_size)});
  const int64_t panels = panels_of(tensor.shape[0]), panel_bytes = tensor.bytes / panels;
  const bool blocks = dtype_info(tensor.dtype).block_items > 1;
  for (int64_t row = first; row < first + count;) {
    const int64_t lane = row % kPanelLanes, lanes = std::min(kPanelLanes - lane, first + count - row);
    const std::byte* panel = tensor.data + row / kPanelLanes * panel_bytes;
    (blocks ? unpack_block_panel : unpack_panel)(tensor.dtype, panel, k_size, lane, lanes, out);
    out += lanes * k_size;
    row += lanes;
  }
}

}  // namespace

ModelDraft draft_of(const ModelFile& file) {
  ModelDraft draft;
  draft.config = file.config();
  draft.notes = file.notes();
  draft.tokenizer = file.tokenizer();
  for (const TensorView& tensor : file.tensors())
    draft.tensors.push_back({.name = tensor.name,
                             .shape = tensor.shape,
                             .source_dtype = tensor.dtype,
                             .read_rows = [file, view = &tensor](int64_t first, int64_t count,
                                                                 float* out) { unpack_rows(*view, first, count, out); },
                             .stored = &tensor,
                             .is_table = tensor.layout == Layout::rows});
  return draft;
}

}  // namespace ordinal
