// block_panels_test.cpp: panels of q8_0 and q4_0, read back as src/format/README.md describes them.
#include <cmath>
#include <cstring>

#include "format/block_panels.h"
#include "format/model_writer.h"
#include "format/tiny_model.h"
#include "support.h"

using namespace ordinal;

namespace {

// Number k of a lane, by the page's words.
float number_of(Dtype dtype, const std::byte* panel, int64_t lane, int64_t k) {
  const bool q8 = dtype == Dtype::q8_0;
  const std::byte* block = panel + k / 32 * (q8 ? 1088 : 576);
  uint16_t scale;
  std::memcpy(&scale, block + 2 * lane, 2);
  const int64_t within = k % 32, g = within / 4, i = within % 4;
  int weight;
  if (q8)
    weight = static_cast<int8_t>(block[64 + (g * 32 + lane) * 4 + i]);
  else if (g < 4)
    weight = (static_cast<int>(block[64 + (g * 32 + lane) * 4 + i]) & 15) - 8;
  else
    weight = (static_cast<int>(block[64 + ((g - 4) * 32 + lane) * 4 + i]) >> 4) - 8;
  return f16_to_f32(scale) * static_cast<float>(weight);
}

// Squared error of the usual q4_0 rounding: the scale puts the extreme at -8, multiples go to the nearest.
double usual_q4_error(const float* x, int64_t n) {
  float extreme = 0;
  for (int64_t i = 0; i < n; ++i) extreme = std::abs(x[i]) > std::abs(extreme) ? x[i] : extreme;
  const float scale = f16_to_f32(f32_to_f16(extreme / -8));
  double error = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double q = scale == 0 ? 0 : std::min(15.0, std::floor(x[i] / (extreme / -8) + 8.5)) - 8;
    error += (x[i] - scale * q) * (x[i] - scale * q);
  }
  return error;
}

}  // namespace

TEST_CASE("block_panels: numbers come back within half a step of their block, others as 0") {
  test::Random random(31);
  for (const Dtype dtype : {Dtype::q8_0, Dtype::q4_0})
    for (const int64_t count : {1, 5, 32})
      for (const int64_t k : {1, 31, 32, 33, 100}) {
        const std::vector<float> rows = random.normals(static_cast<size_t>(count * k));
        const int64_t blocks = (k + 31) / 32;
        std::vector<std::byte> panel(static_cast<size_t>(blocks * (dtype == Dtype::q8_0 ? 1088 : 576)), std::byte{7});
        const double reported = pack_block_panel(dtype, rows.data(), count, k, panel.data());
        double error = 0;
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = 0; i < blocks * 32; ++i) {
            const float back = number_of(dtype, panel.data(), lane, i);
            if (lane >= count || i >= k) {
              REQUIRE(back == 0.0f);
              continue;
            }
            const float x = rows[static_cast<size_t>(lane * k + i)];
            float largest = 0;
            for (int64_t j = i / 32 * 32; j < std::min(k, i / 32 * 32 + 32); ++j)
              largest = std::max(largest, std::abs(rows[static_cast<size_t>(lane * k + j)]));
            // q8_0: half of largest / 127. q4_0 may clip the far end to fit the others better.
            REQUIRE(std::abs(back - x) <= (dtype == Dtype::q8_0 ? largest / 253 : largest / 3));
            error += (static_cast<double>(back) - x) * (static_cast<double>(back) - x);
          }
        CHECK(reported == doctest::Approx(error).epsilon(1e-3));
      }
}

TEST_CASE("block_panels: q4_0 is never worse than the usual rounding, and clearly better on the whole") {
  test::Random random(32);
  const int64_t k = 32 * 50;
  double ours = 0, usual = 0;
  for (int round = 0; round < 8; ++round) {
    const std::vector<float> row = random.normals(static_cast<size_t>(k), 0.02f);
    for (int64_t b = 0; b < k; b += 32) {
      std::vector<std::byte> panel(576);
      const double here = pack_block_panel(Dtype::q4_0, row.data() + b, 1, 32, panel.data());
      const double there = usual_q4_error(row.data() + b, 32);
      CHECK(here <= there * 1.0001);
      ours += here;
      usual += there;
    }
  }
  CHECK(ours < 0.9 * usual);
}

TEST_CASE("block_panels: zeros, one extreme and tiny numbers survive") {
  for (const Dtype dtype : {Dtype::q8_0, Dtype::q4_0})
    for (const float extreme : {0.0f, 1e-8f, -3.0f, 1000.0f}) {
      std::vector<float> row(32);
      row[17] = extreme;
      std::vector<std::byte> panel(1088);
      pack_block_panel(dtype, row.data(), 1, 32, panel.data());
      for (int64_t i = 0; i < 32; ++i) {
        const float back = number_of(dtype, panel.data(), 0, i);
        CHECK(std::isfinite(back));
        if (i == 17 && std::abs(extreme) > 1e-3f) CHECK(back == doctest::Approx(extreme).epsilon(2e-3));
        if (i != 17) CHECK(back == 0.0f);
      }
    }
}

TEST_CASE("model_writer: block kinds go to matrices of 32 inputs or more; small ones and tables stay f32") {
  ModelDraft draft = tiny::example();
  draft.tensors.push_back(tiny::source("blk.0.extra.weight", {40, 64}, std::vector<float>(40 * 64, 0.5f)));
  WriteOptions options;
  options.keep_dtype = false;
  std::vector<std::string> told;
  options.rounded = [&](const std::string& name, Dtype, double) { told.push_back(name); };
  for (const Dtype dtype : {Dtype::q8_0, Dtype::q4_0}) {
    options.dtype = dtype;
    const ModelFile file = write_model_in_memory(draft, "blocks", options);
    CHECK(file.find("blk.0.extra.weight")->dtype == dtype);
    CHECK(file.find("token_embd.weight")->dtype == Dtype::f32);  // two inputs
    CHECK_NOTHROW(file.verify());
  }
}
