// tables.cpp: finds a scheme's own tensors and checks their form.
#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

std::string form_of(const TensorView& view) {
  return view.name + " [" + joined(view.shape) + "], " + std::string(kLayouts[static_cast<size_t>(view.layout)]) +
         ", " + std::string(dtype_info(view.dtype).name);
}

bool plain_rows(const TensorView& view) {
  return view.layout == Layout::rows && dtype_info(view.dtype).block_items == 1;
}

std::string without_tensors() {
  std::vector<std::string> names;
  for (const SchemeInfo& info : position_schemes())
    if (info.tensors.empty() && info.kind != "lab") names.emplace_back(info.name);
  return "a scheme that needs no tensors: " + joined(names);
}

Error has_other_form(std::string_view scheme, const std::string& wanted, const TensorView& view) {
  return Error("a tensor of position scheme '" + std::string(scheme) + "' has another form", wanted + ", rows, plain",
               form_of(view));
}

}  // namespace

const TensorView& require_table(const TensorLookup& lookup, std::string_view tensor, std::string_view scheme,
                                int64_t rows, int64_t cols) {
  const TensorView* view = lookup ? lookup(tensor) : nullptr;
  const std::string wanted =
      std::string(tensor) + " [" + (rows < 0 ? "rows" : std::to_string(rows)) + ", " + std::to_string(cols) + "]";
  if (view == nullptr)
    throw Error("this model cannot run under '" + std::string(scheme) + "': it lacks that scheme's tensor", wanted,
                "no tensor of that name", without_tensors());
  if (view->shape.size() != 2 || view->shape[1] != cols || (rows >= 0 && view->shape[0] != rows) || !plain_rows(*view))
    throw has_other_form(scheme, wanted, *view);
  return *view;
}

const TensorView& require_layer_table(const TensorLookup& lookup, std::string_view tensor, int64_t layer,
                                      std::string_view scheme, int64_t rows, int64_t cols) {
  const std::string own = "blk." + std::to_string(layer) + "." + std::string(tensor);
  const bool has_own = lookup && lookup(own) != nullptr;
  return require_table(lookup, has_own ? std::string_view(own) : tensor, scheme, rows, cols);
}

std::vector<float> table_values(const TensorView& table) {
  std::vector<float> values(static_cast<size_t>(table.shape[0] * table.shape[1]));
  widen(table.dtype, table.data, 0, values);
  return values;
}

std::vector<double> optional_factors(const TensorLookup& lookup, std::string_view tensor, std::string_view scheme,
                                     int64_t n) {
  const TensorView* view = lookup ? lookup(tensor) : nullptr;
  if (view == nullptr) return {};
  if (view->shape != std::vector<int64_t>{n} || !plain_rows(*view))
    throw has_other_form(scheme, std::string(tensor) + " [" + std::to_string(n) + "]", *view);
  std::vector<float> values(static_cast<size_t>(n));
  widen(view->dtype, view->data, 0, values);
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !(std::isfinite(v) && v > 0); });
  if (bad != values.end())
    throw Error("a tensor of position scheme '" + std::string(scheme) + "' holds a number that is no factor",
                std::string(tensor) + ": finite numbers above 0", number_text(*bad));
  return {values.begin(), values.end()};
}

}  // namespace ordinal
