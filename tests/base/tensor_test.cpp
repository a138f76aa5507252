// tensor_test.cpp: sizes of tensors and the 16-bit kinds. Published values: ../shared/cases num-02.
#include <bit>
#include <cmath>
#include <limits>

#include "ordinal/tensor.h"
#include "support.h"

using namespace ordinal;

TEST_CASE("tensor: narrowing rounds to nearest even, keeps subnormals, and overflows to infinity") {
  const struct {
    float value;
    uint16_t bf16, f16;
  } cases[] = {{0.0f, 0x0000, 0x0000},
               {-0.0f, 0x8000, 0x8000},
               {1.0f, 0x3f80, 0x3c00},
               {1.00390625f, 0x3f80, 0x3c04},
               {1.01171875f, 0x3f82, 0x3c0c},
               {1.00048828125f, 0x3f80, 0x3c00},
               {1.00146484375f, 0x3f80, 0x3c02},
               {65504.0f, 0x4780, 0x7bff},
               {65519.0f, 0x4780, 0x7bff},
               {65520.0f, 0x4780, 0x7c00},
               {100000.0f, 0x47c3, 0x7c00},
               {6.103515625e-05f, 0x3880, 0x0400},
               {5.960464477539063e-08f, 0x3380, 0x0001},
               {2.9802322387695312e-08f, 0x3300, 0x0000},
               {1e-10f, 0x2edc, 0x0000},
               {3.3e+38f, 0x7f78, 0x7c00}};
  for (const auto& c : cases) {
    CAPTURE(c.value);
    CHECK(f32_to_bf16(c.value) == c.bf16);
    CHECK(f32_to_f16(c.value) == c.f16);
  }
}

TEST_CASE("tensor: narrowing keeps NaN a NaN and infinity an infinity of its sign") {
  for (const uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffc00001u, 0x7fbfffffu}) {
    CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(bits)))));
    CHECK(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(bits)))));
  }
  const float inf = std::numeric_limits<float>::infinity();
  for (const float value : {inf, -inf}) {
    CHECK(bf16_to_f32(f32_to_bf16(value)) == value);
    CHECK(f16_to_f32(f32_to_f16(value)) == value);
  }
}

TEST_CASE("tensor: every 16-bit number survives widening and narrowing, and narrowing picks the nearest") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const float half = f16_to_f32(b), brain = bf16_to_f32(b);
    if (!std::isnan(half)) REQUIRE(f32_to_f16(half) == b);
    if (!std::isnan(brain)) REQUIRE(f32_to_bf16(brain) == b);
  }
  test::Random random(9);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random.bits()));
    if (!(std::abs(value) < 65000.0f)) continue;
    const uint16_t half = f32_to_f16(value);
    const float here = std::abs(f16_to_f32(half) - value);
    for (const int step : {-1, 1}) {
      const auto neighbour = static_cast<uint16_t>(half + step);
      if (((neighbour ^ half) & 0x8000) != 0 || !std::isfinite(f16_to_f32(neighbour))) continue;
      REQUIRE(here <= std::abs(f16_to_f32(neighbour) - value));
    }
  }
}

TEST_CASE("tensor: widen and narrow work at any address and from any element") {
  test::Random random(10);
  const std::vector<float> values = random.normals(37);
  for (const Dtype kind : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    std::vector<std::byte> bytes(37 * 4 + 1);
    narrow(kind, values, bytes.data() + 1);
    std::vector<float> all(37), tail(7);
    widen(kind, bytes.data() + 1, 0, all);
    widen(kind, bytes.data() + 1, 30, tail);
    CHECK(std::vector<float>(all.begin() + 30, all.end()) == tail);
    for (size_t i = 0; i < 37; ++i) CHECK(all[i] == doctest::Approx(values[i]).epsilon(0.005));
  }
  std::vector<float> one(1);
  std::vector<std::byte> block(34);
  CHECK(test::mentions(test::error_of([&] { widen(Dtype::q8_0, block.data(), 0, one); }), {"q8_0"}));
}

TEST_CASE("tensor: sizes count padded lanes and whole blocks, and refuse what does not fit") {
  const auto bytes = [](Dtype dtype, Layout layout, std::vector<int64_t> shape) {
    return tensor_bytes(dtype, layout, shape);
  };
  CHECK(bytes(Dtype::f32, Layout::rows, {7}) == 28);
  CHECK(bytes(Dtype::bf16, Layout::rows, {3, 5}) == 30);
  CHECK(bytes(Dtype::f32, Layout::panels, {1, 5}) == 5 * 32 * 4);
  CHECK(bytes(Dtype::f16, Layout::panels, {33, 5}) == 2 * 5 * 32 * 2);
  CHECK(bytes(Dtype::q8_0, Layout::panels, {32, 33}) == 2 * 34 * 32);
  CHECK(bytes(Dtype::q4_0, Layout::panels, {64, 64}) == 2 * 18 * 64);
  const int64_t huge = INT64_MAX;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{},
                                                                             {0},
                                                                             {-1, 4},
                                                                             {4, 0},
                                                                             {huge, 2},
                                                                             {2, huge},
                                                                             {huge, huge},
                                                                             {int64_t{1} << 32, int64_t{1} << 31},
                                                                             {huge, 2, 1},
                                                                             {1, 1, 1, 1}})
    for (const Layout layout : {Layout::rows, Layout::panels})
      test::error_of([&] { bytes(Dtype::f32, layout, shape); });
  CHECK(bytes(Dtype::f16, Layout::rows, {2, 3, 5}) == 60);  // three in rows only
  test::error_of([&] { bytes(Dtype::f32, Layout::panels, {2, 3, 5}); });
  test::error_of([&] { bytes(Dtype::q8_0, Layout::rows, {32, 32}); });
  CHECK(test::mentions(test::error_of([] { dtype_from_name("f64"); }), {"bf16"}));
  CHECK(dtype_from_name("q4_0") == Dtype::q4_0);
}

TEST_CASE("error: reads as summary, expected, found, try, leaving out empty parts") {
  CHECK(std::string(Error("a", "b", "c", "d").what()) == "a\n  expected: b\n  found:    c\n  try:      d");
  CHECK(std::string(Error("a", "", "c").what()) == "a\n  found:    c");
}
