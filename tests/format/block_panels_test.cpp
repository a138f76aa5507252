// block_panels_test.cpp: panels of the block kinds, read back as src/format/README.md describes them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/block_panels.h"
#include "format/model_writer.h"
#include "format/page_numbers.h"
#include "format/tiny_model.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr Dtype kBlocks[] = {Dtype::q8_0, Dtype::q4_0, Dtype::q4_1, Dtype::q4_k, Dtype::q5_k, Dtype::q6_k};

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
  for (const Dtype dtype : kBlocks)
    for (const int64_t count : {1, 5, 32})
      for (const int64_t k : {1, 31, 32, 33, 100, 256, 300}) {
        const std::vector<float> rows = random.normals(static_cast<size_t>(count * k));
        const page::Row& kind = page::row_of(dtype);
        const int64_t blocks = (k + kind.weights - 1) / kind.weights;
        std::vector<std::byte> panel(static_cast<size_t>(blocks * kind.bytes), std::byte{7});
        const double reported = pack_block_panel(dtype, rows.data(), count, k, panel.data());
        double error = 0;
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = 0; i < blocks * kind.weights; ++i) {
            const float back = page::number_of(dtype, panel.data(), lane, i);
            if (lane >= count || (i >= k && kind.halves == 1)) REQUIRE(back == 0.0f);
            if (lane >= count || i >= k) continue;
            const float x = rows[static_cast<size_t>(lane * k + i)];
            float largest = 0;
            const int64_t block = i / kind.weights * kind.weights;
            for (int64_t j = block; j < std::min(k, block + kind.weights); ++j)
              largest = std::max(largest, std::abs(rows[static_cast<size_t>(lane * k + j)]));
            // q8_0: half of largest / 127. q4_0 may clip the far end to fit the others better; those with scales in
            // small multiples have steps that are wider than need be.
            const float most = kind.bits == 8 ? 1.0f / 253 : kind.bits == 4 ? 1.0f / 3 : 1.0f / 5;
            REQUIRE(std::abs(back - x) <= most * largest);
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
  for (const Dtype dtype : kBlocks)
    for (const float extreme : {0.0f, 1e-8f, -3.0f, 1000.0f}) {
      std::vector<float> row(static_cast<size_t>(page::row_of(dtype).weights));
      row[17] = extreme;
      std::vector<std::byte> panel(static_cast<size_t>(page::row_of(dtype).bytes));
      pack_block_panel(dtype, row.data(), 1, page::row_of(dtype).weights, panel.data());
      for (int64_t i = 0; i < page::row_of(dtype).weights; ++i) {
        const float back = page::number_of(dtype, panel.data(), 0, i);
        CHECK(std::isfinite(back));
        if (i == 17 && std::abs(extreme) > 1e-3f) CHECK(back == doctest::Approx(extreme).epsilon(2e-3));
        if (i != 17) CHECK(std::abs(back) <= 2e-3f * std::abs(extreme));
      }
    }
}

TEST_CASE("block_panels: random blocks of every kind mean in a panel what the page says, and come back to the bit") {
  test::Random random(33);
  for (const Dtype dtype : kBlocks) {
    const page::Row& kind = page::row_of(dtype);
    const int64_t k = 2 * kind.weights, bytes = dtype_info(dtype).block_bytes;
    REQUIRE(bytes * 32 == kind.bytes);
    std::vector<std::byte> rows(static_cast<size_t>(32 * 2 * bytes)), panel(rows.size());
    for (std::byte& byte : rows) byte = static_cast<std::byte>(random.below(256));
    for (int64_t block = 0; block < 64; ++block)  // f16 numbers that are finite
      for (int64_t half = 0; half < kind.halves; ++half)
        rows[static_cast<size_t>(block * bytes + 2 * half + 1)] &= std::byte{0xbb};
    join_block_panel(dtype, rows.data(), 32, k, panel.data());
    std::vector<float> back(static_cast<size_t>(32 * k)), read(back.size()), wanted;
    unpack_block_panel(dtype, panel.data(), k, 0, 32, back.data());
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < k; ++i) wanted.push_back(page::number_of(dtype, panel.data(), lane, i));
    CHECK(test::same_bits(back, wanted));
    for (int64_t block = 0; block < 64; ++block) {
      std::vector<std::byte> again(static_cast<size_t>(bytes));
      write_block(dtype, read_block(dtype, rows.data() + block * bytes), again.data());
      CHECK(std::equal(again.begin(), again.end(), rows.begin() + block * bytes));
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
  for (const Dtype dtype : kBlocks) {
    options.dtype = dtype;
    const ModelFile file = write_model_in_memory(draft, "blocks", options);
    CHECK(file.find("blk.0.extra.weight")->dtype == (page::row_of(dtype).weights == 32 ? dtype : Dtype::f32));
    CHECK(file.find("token_embd.weight")->dtype == Dtype::f32);  // two inputs
    CHECK_NOTHROW(file.verify());
  }
}
