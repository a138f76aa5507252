// products.cpp: see products.h.
#include "model/products.h"

#include <algorithm>

namespace ordinal {
namespace {

constexpr int64_t kGroup = 4;  // panels per unit of work: as many streams as the one-row kernel reads at once

// Below this many multiply-adds a parallel loop costs more than it saves.
constexpr int64_t kWorthThreads = 1 << 17;

int64_t groups_of(const Product& product) {
  return (product.linear.n + kGroup * kPanelLanes - 1) / (kGroup * kPanelLanes);
}

void run_group(const Product& p, int64_t group) {
  const TensorView& weight = *p.linear.weight;
  const int64_t panels = (p.linear.n + kPanelLanes - 1) / kPanelLanes;
  const int64_t first = group * kGroup, count = std::min(kGroup, panels - first);
  const int64_t panel_bytes = weight.bytes / panels;
  const int64_t column = first * kPanelLanes;
  const int64_t width = std::min(count * kPanelLanes, p.linear.n - column);
  kernels().product[static_cast<size_t>(weight.dtype)]({.x = p.x.data,
                                                        .x_stride = p.x.stride,
                                                        .m = p.x.rows,
                                                        .panels = weight.data + first * panel_bytes,
                                                        .panel_stride = panel_bytes,
                                                        .n_panels = count,
                                                        .k = p.linear.k,
                                                        .y = p.y.data + column,
                                                        .y_stride = p.y.stride});
  for (int64_t r = 0; r < p.x.rows; ++r) {
    float* y = p.y.data + r * p.y.stride + column;
    if (!p.linear.bias.empty()) kernels().add(y, p.linear.bias.data() + column, width);
    if (p.activation != nullptr) p.activation(y, width);
    if (p.combine != nullptr) p.combine(p.into.data + r * p.into.stride + column, y, width);
  }
}

}  // namespace

void multiply(int n_threads, std::initializer_list<Product> products) {
  int64_t groups = 0, work = 0;
  for (const Product& product : products) {
    groups += groups_of(product);
    work += product.x.rows * product.linear.n * product.linear.k;
  }
  parallel_for(work < kWorthThreads ? 1 : n_threads, groups, [&](int64_t group, int) {
    for (const Product& product : products) {
      if (group < groups_of(product)) return run_group(product, group);
      group -= groups_of(product);
    }
  });
}

void normalize(int n_threads, const ModelConfig& config, const Norm& norm, Rows x, Rows y) {
  constexpr auto layer_norm = &Kernels::layer_norm;
  constexpr auto rms_norm = &Kernels::rms_norm;
  const auto function = kernels().*(config.norm == NormKind::layer_norm ? layer_norm : rms_norm);
  const float* bias = norm.bias.empty() ? nullptr : norm.bias.data();
  parallel_for(x.rows * x.cols < kWorthThreads / 8 ? 1 : n_threads, x.rows, [&](int64_t r, int) {
    function(x[r].data(), norm.weight.data(), bias, config.norm_epsilon, y[r].data(), x.cols);
  });
}

void embed(const TensorView& table, TokenId id, float scale, std::span<float> out) {
  const int64_t width = static_cast<int64_t>(out.size());
  const int64_t first = id / kPanelLanes * width * kPanelLanes + id % kPanelLanes;
  for (int64_t c = 0; c < width; ++c) widen(table.dtype, table.data, first + c * kPanelLanes, out.subspan(c, 1));
  if (scale != 1.0f)
    for (float& value : out) value *= scale;
}

}  // namespace ordinal
