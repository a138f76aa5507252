// tensor.cpp: sizes of tensors, and conversions of the plain kinds.
#include "ordinal/tensor.h"

#include <bit>
#include <cstring>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

bool multiply(int64_t a, int64_t b, int64_t* product) { return !__builtin_mul_overflow(a, b, product); }

void require_plain(Dtype dtype) {
  if (dtype_info(dtype).block_items != 1)
    throw Error("cannot convert " + std::string(dtype_info(dtype).name) + " number by number", "f32, f16 or bf16",
                std::string(dtype_info(dtype).name));
}

}  // namespace

Dtype dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDtypes.size(); ++i)
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  throw Error("unknown kind of number '" + std::string(name) + "'", joined(kDtypes, ", ", &DtypeInfo::name),
              std::string(name));
}

int64_t tensor_bytes(Dtype dtype, Layout layout, std::span<const int64_t> shape) {
  const DtypeInfo& info = dtype_info(dtype);
  const Error too_large("a tensor's size does not fit", "at most 2^63 - 1 bytes");
  const size_t most = layout == Layout::panels ? 2 : 3;
  if (shape.empty() || shape.size() > most)
    throw Error("a tensor has a shape the engine does not know",
                most == 2 ? "one or two dimensions, in panels" : "one to three dimensions",
                std::to_string(shape.size()));
  for (const int64_t size : shape)
    if (size <= 0) throw Error("a tensor has an empty dimension", "sizes of 1 or more", std::to_string(size));

  int64_t n = 1, k = shape.back();
  for (const int64_t size : shape.first(shape.size() - 1))
    if (!multiply(n, size, &n)) throw too_large;
  if (layout == Layout::panels) {
    if (n > INT64_MAX - kPanelLanes) throw too_large;
    n = whole_panels(n);
  } else if (info.block_items != 1) {
    throw Error("a tensor of kind " + std::string(info.name) + " must be in panels", "layout panels", "layout rows");
  }
  if (k > INT64_MAX - info.block_items) throw too_large;
  int64_t bytes = (k + info.block_items - 1) / info.block_items;
  if (!multiply(bytes, info.block_bytes, &bytes) || !multiply(bytes, n, &bytes)) throw too_large;
  return bytes;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal in f16, exact in f32
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: multiples of 2^-24, the place at which adding 0.5 rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

void widen(Dtype dtype, const std::byte* data, int64_t first, std::span<float> out) {
  require_plain(dtype);
  if (out.empty()) return;
  const std::byte* from = data + first * dtype_info(dtype).block_bytes;
  if (dtype == Dtype::f32) {
    std::memcpy(out.data(), from, out.size_bytes());
    return;
  }
  const auto convert = dtype == Dtype::f16 ? f16_to_f32 : bf16_to_f32;
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, 2);
    out[i] = convert(bits);
  }
}

void narrow(Dtype dtype, std::span<const float> values, std::byte* data) {
  require_plain(dtype);
  if (values.empty()) return;
  if (dtype == Dtype::f32) {
    std::memcpy(data, values.data(), values.size_bytes());
    return;
  }
  const auto convert = dtype == Dtype::f16 ? f32_to_f16 : f32_to_bf16;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = convert(values[i]);
    std::memcpy(data + 2 * i, &bits, 2);
  }
}

}  // namespace ordinal
