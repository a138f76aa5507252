// products.cpp: see products.h.
#include "model/products.h"

#include <algorithm>

#include "format/block_panels.h"

namespace ordinal {
namespace {

// Most panels in a unit of work: as many streams as the one-row kernel reads at once.
constexpr int64_t kMostPanels = 8;

// Below this many multiply-adds a parallel loop costs more than it saves.
constexpr int64_t kWorthThreads = 1 << 17;

bool needs_rounding(const Product& product) { return dtype_info(product.linear.weight->dtype).block_items > 1; }

Extent own_panels(const Product& product) {
  return {product.panels.first, std::min(product.panels.last, panels_of(product.linear.n))};
}

// Groups of panels of nearly equal size, as many for every thread where there are enough.
int64_t groups_of(const Product& product, int n_threads) {
  const int64_t panels = own_panels(product).count(), groups = (panels + kMostPanels - 1) / kMostPanels;
  return std::min(panels, (groups + n_threads - 1) / n_threads * n_threads);
}

void round_rows(int n_threads, Rows x, RoundedRows& rounded) {
  const int64_t blocks = (x.cols + 31) / 32;
  const size_t count = static_cast<size_t>(x.rows * blocks);
  if (rounded.scales.size() < count) {
    rounded.bytes.resize(count * 32);
    rounded.scales.resize(count);
    rounded.sums.resize(count * 2);
  }
  if (kernels().words && rounded.words.size() < count * 64) rounded.words.resize(count * 64);
  parallel_for(x.rows < 8 ? 1 : n_threads, x.rows, [&](int64_t r, int) {
    const int64_t first = r * blocks;
    int8_t* words = kernels().words ? rounded.words.data() + first * 64 : nullptr;
    kernels().quantize(x[r].data(), x.cols, rounded.bytes.data() + first * 32, words, rounded.scales.data() + first,
                       rounded.sums.data() + first * 2);
  });
}

void run_group(Rows x, const RoundedRows& rounded, const Product& p, int64_t group, int64_t groups) {
  const TensorView& weight = *p.linear.weight;
  const Extent own = own_panels(p);
  const int64_t first = own.first + own.count() * group / groups;
  const int64_t count = own.first + own.count() * (group + 1) / groups - first;
  const int64_t panel_bytes = weight.bytes / panels_of(p.linear.n);
  const int64_t column = first * kPanelLanes;
  const int64_t width = std::min(count * kPanelLanes, p.linear.n - column);
  kernels().product[static_cast<size_t>(weight.dtype)](
      {.x = x.data,
       .x_stride = needs_rounding(p) ? (x.cols + 31) / 32 * 32 : x.stride,
       .x_bytes = rounded.bytes.data(),
       .x_words = rounded.words.data(),
       .x_scales = rounded.scales.data(),
       .x_sums = rounded.sums.data(),
       .m = x.rows,
       .panels = weight.data + first * panel_bytes,
       .panel_stride = panel_bytes,
       .n_panels = count,
       .k = p.linear.k,
       .y = p.y.data + column,
       .y_stride = p.y.stride});
  for (int64_t r = 0; r < x.rows; ++r) {
    float* y = p.y.data + r * p.y.stride + column;
    if (!p.linear.bias.empty()) kernels().add(y, p.linear.bias.data() + column, width);
    if (p.activation != nullptr) p.activation(y, width);
    if (p.combine != nullptr) p.combine(p.into.data + r * p.into.stride + column, y, width);
  }
}

}  // namespace

void RoundedRows::reserve(int64_t rows, int64_t cols) {
  const size_t blocks = static_cast<size_t>(rows * ((cols + 31) / 32));
  bytes.reserve(blocks * 32);
  if (kernels().words) words.reserve(blocks * 64);
  scales.reserve(blocks);
  sums.reserve(blocks * 2);
}

void matmul(int n_threads, Rows x, std::initializer_list<Product> products, RoundedRows& rounded) {
  int64_t units = 0, work = 0;
  for (const Product& product : products) work += x.rows * own_panels(product).count() * kPanelLanes * product.linear.k;
  const int threads = work < kWorthThreads ? 1 : n_threads;
  for (const Product& product : products) units += product.follows ? 0 : groups_of(product, threads);
  if (std::any_of(products.begin(), products.end(), needs_rounding)) round_rows(threads, x, rounded);
  parallel_for(threads, units, [&](int64_t unit, int) {
    for (const Product* product = products.begin(); product != products.end(); ++product) {
      if (product->follows) continue;
      const int64_t groups = groups_of(*product, threads);
      if (unit < groups) {
        do run_group(x, rounded, *product++, unit, groups);
        while (product != products.end() && product->follows);
        return;
      }
      unit -= groups;
    }
  });
}

void normalize(int n_threads, NormKind kind, float epsilon, const Norm& norm, Rows x, Rows y, int64_t groups) {
  const auto function = kind == NormKind::layer_norm ? kernels().layer_norm : kernels().rms_norm;
  const int64_t width = x.cols / groups;
  for_rows(n_threads, x, [&](int64_t r) {
    for (int64_t at = 0; at < x.cols; at += width)
      function(x[r].data() + at, norm.weight.data() + at, norm.bias.empty() ? nullptr : norm.bias.data() + at, epsilon,
               y[r].data() + at, width);
  });
}

void embed(const TensorView& table, TokenId id, float scale, std::span<float> out) {
  const int64_t width = static_cast<int64_t>(out.size()), lane = id % kPanelLanes;
  const int64_t panel_bytes = table.bytes / panels_of(table.shape[0]);
  const std::byte* panel = table.data + id / kPanelLanes * panel_bytes;
  if (dtype_info(table.dtype).block_items > 1)
    unpack_block_panel(table.dtype, panel, width, lane, 1, out.data());
  else
    for (int64_t c = 0; c < width; ++c)
      widen(table.dtype, panel, c * kPanelLanes + lane, out.subspan(static_cast<size_t>(c), 1));
  if (scale != 1.0f)
    for (float& value : out) value *= scale;
}

void embed_rows(int n_threads, const ModelShare& share, const TensorView& table, std::span<const TokenId> ids,
                float scale, Rows out, GatherMemory& memory) {
  for_rows(n_threads, out, [&](int64_t r) {
    const TokenId id = ids[static_cast<size_t>(r)];
    if (share.has_row(id)) embed(table, id, scale, out[r]);
  });
  share.gather_embedded(out, ids, memory);
}

}  // namespace ordinal
