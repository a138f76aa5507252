// tensor.h: kinds of stored numbers, tensors as views of mapped memory, and rows of floats as the engine passes them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ordinal {

using TokenId = int32_t;

// Outputs stored together in a panel; a lane of a panel is one output of a weight matrix.
inline constexpr int64_t kPanelLanes = 32;

// How many panels hold so many outputs, and how many lanes they have.
constexpr int64_t panels_of(int64_t outputs) { return (outputs + kPanelLanes - 1) / kPanelLanes; }
constexpr int64_t whole_panels(int64_t outputs) { return panels_of(outputs) * kPanelLanes; }

// How one number, or one block of them, is stored. The order is the order of kDtypes.
enum class Dtype : uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k, q5_k, q6_k };

struct DtypeInfo {
  std::string_view name;
  int64_t block_items;  // numbers stored together; 1 for the plain kinds
  int64_t block_bytes;  // bytes of such a block
};

// q8_0, q4_0: 32 weights of 8 or 4 bits and one f16 scale. q4_1: an f16 offset too. q4_k, q5_k: 256 weights of 4 or 5
// bits, every 32 with a scale and an offset of their own in small multiples of two f16 numbers. q6_k: 256 of 6 bits,
// every 16 with a scale of their own. src/format/README.md has the bytes.
inline constexpr std::array<DtypeInfo, 9> kDtypes = {{{"f32", 1, 4},
                                                      {"f16", 1, 2},
                                                      {"bf16", 1, 2},
                                                      {"q8_0", 32, 34},
                                                      {"q4_0", 32, 18},
                                                      {"q4_1", 32, 20},
                                                      {"q4_k", 256, 148},
                                                      {"q5_k", 256, 180},
                                                      {"q6_k", 256, 210}}};

inline constexpr const DtypeInfo& dtype_info(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

// The kind called `name`. Throws Error, listing the kinds there are.
Dtype dtype_from_name(std::string_view name);

// How a tensor of shape [N, K] (or [K], or [M, N, K]) lies in memory.
//   rows    row-major, as written
//   panels  [N, K] as [ceil(N/32)][K][32]: 32 outputs side by side, so a register lane is one output and a sum over K
//   runs in
//           order; lanes past N hold 0. Block kinds keep their blocks along K: see src/format/README.md.
enum class Layout : uint8_t { rows, panels };
inline constexpr std::array<std::string_view, 2> kLayouts = {"rows", "panels"};

// Bytes of a tensor of this kind, shape and layout. Throws Error when a size is not positive, when the product leaves
// 63 bits, when a block kind is not in panels, or what is in panels has more than two dimensions.
int64_t tensor_bytes(Dtype dtype, Layout layout, std::span<const int64_t> shape);

// A tensor that somebody else keeps alive (a mapped file, as a rule). One to three dimensions: [K], [N, K], [M, N, K].
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  Layout layout = Layout::rows;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  int64_t bytes = 0;
};

// Rows of floats in memory that somebody else owns: row r is data[r * stride .. + cols).
struct Rows {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  std::span<float> operator[](int64_t row) const { return {data + row * stride, static_cast<size_t>(cols)}; }
  Rows slice(int64_t first, int64_t count) const { return {data + first * stride, count, cols, stride}; }
};

// Conversions of the 16-bit kinds. Widening is exact; narrowing rounds to nearest, ties to even, keeps NaN a NaN, and
// turns what is too large into infinity (converters check for that and refuse).
float f16_to_f32(uint16_t bits);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
uint16_t f32_to_bf16(float value);

// Numbers `first` .. `first + out.size()` of plain-kind data at `data` as floats; `data` need not be aligned.
void widen(Dtype dtype, const std::byte* data, int64_t first, std::span<float> out);

// The reverse, to `data`, which has room. Block kinds are not for these two: both throw Error for them.
void narrow(Dtype dtype, std::span<const float> values, std::byte* data);

}  // namespace ordinal
