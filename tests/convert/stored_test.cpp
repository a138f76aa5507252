// stored_test.cpp: parts of fused tensors, however they are fused, and matrices stored with inputs first.
#include "convert/stored.h"

#include "convert/family.h"
#include "convert/foreign_files.h"
#include "reference/random_model.h"

using namespace foreign;
using ordinal::ModelDraft, ordinal::TensorSource;
using ordinal::convert::Origin, ordinal::convert::Share, ordinal::convert::source_of, ordinal::convert::Stored;

namespace {

// A fused matrix of `rows` outputs and `inputs`, each number naming its place: 1000 * row + input.
struct Fused {
  int64_t rows, inputs;
  test::Scratch scratch;

  Stored store(bool turned) const {
    std::vector<float> values;
    for (int64_t i = 0; i < (turned ? inputs : rows); ++i)
      for (int64_t j = 0; j < (turned ? rows : inputs); ++j)
        values.push_back(static_cast<float>(turned ? 1000 * j + i : 1000 * i + j));
    const std::string path = scratch.path(turned ? "turned" : "rows");
    test::write_file(path, "head" + bytes_of(values));
    return {.file = ordinal::MappedFile::open(path), .offset = 4};
  }

  // Which rows a part gets, read a few at a time.
  std::vector<int64_t> rows_of(const Share& share, int64_t outputs, bool turned) const {
    const TensorSource source = source_of("part", {outputs, inputs}, {store(turned), share, turned}, {});
    std::vector<float> numbers(static_cast<size_t>(outputs * inputs));
    for (int64_t first = 0; first < outputs; first += 5)
      source.read_rows(first, std::min<int64_t>(5, outputs - first), numbers.data() + first * inputs);
    std::vector<int64_t> found;
    for (int64_t n = 0; n < outputs; ++n) {
      found.push_back(static_cast<int64_t>(numbers[n * inputs]) / 1000);
      for (int64_t k = 0; k < inputs; ++k)
        CHECK_EQ(numbers[n * inputs + k], static_cast<float>(1000 * found.back() + k));
    }
    return found;
  }
};

using Places = std::vector<int64_t>;

}  // namespace

TEST_CASE("stored: a share of a fused tensor is the rows it says, in either orientation") {
  const Fused fused{12, 3, {}};
  for (const bool turned : {false, true}) {
    CAPTURE(turned);
    CHECK_EQ(fused.rows_of({}, 12, turned), Places{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    // q, k, v after one another.
    CHECK_EQ(fused.rows_of({8, 4, 12}, 4, turned), Places{8, 9, 10, 11});
    // Per head [q; k; v], two heads of two rows.
    CHECK_EQ(fused.rows_of({0, 2, 6}, 4, turned), Places{0, 1, 6, 7});
    CHECK_EQ(fused.rows_of({2, 2, 6}, 4, turned), Places{2, 3, 8, 9});
    CHECK_EQ(fused.rows_of({4, 2, 6}, 4, turned), Places{4, 5, 10, 11});
    // Per group [two heads of q; k; v], three groups of one row a head.
    CHECK_EQ(fused.rows_of({0, 2, 4}, 6, turned), Places{0, 1, 4, 5, 8, 9});
    CHECK_EQ(fused.rows_of({3, 1, 4}, 3, turned), Places{3, 7, 11});
  }
  CHECK_EQ(Share{3, 1, 4}.outputs_in_all(3), 12);
  CHECK_EQ(Share{}.outputs_in_all(7), 7);
}

TEST_CASE("stored: a share of a fused bias is the numbers it says, all at once") {
  const Fused fused{12, 1, {}};
  const TensorSource source = source_of("bias", {4}, {fused.store(false), {2, 2, 6}}, {});
  std::vector<float> numbers(4);
  source.read_rows(0, 1, numbers.data());
  CHECK_EQ(numbers, std::vector<float>{2000, 3000, 8000, 9000});
}

TEST_CASE("stored: q, k and v in one tensor have the rows of their heads, grouped heads too") {
  ordinal::ModelConfig config = test::small_config();
  config.n_heads = 6;
  config.n_kv_heads = 2;
  config.head_dim = 4;
  const Share q = ordinal::convert::q_of_qkv(config), k = ordinal::convert::k_of_qkv(config),
              v = ordinal::convert::v_of_qkv(config);
  CHECK_EQ(q.first, 0);
  CHECK_EQ(q.count, 24);
  CHECK_EQ(k.first, 24);
  CHECK_EQ(k.count, 8);
  CHECK_EQ(v.first, 32);
  CHECK_EQ(v.count, 8);
  for (const Share& share : {q, k, v}) CHECK_EQ(share.every, 40);
}
