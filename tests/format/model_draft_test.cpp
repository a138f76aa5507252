// model_draft_test.cpp: a model file that becomes a draft again and is written anew.
#include "format/model_draft.h"

#include <algorithm>
#include <cstring>

#include "format/page_numbers.h"
#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

WriteOptions as(Dtype dtype) {
  WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  return options;
}

// Sizes that fill neither panels nor blocks; rows of positions; a tokenizer; notes.
ModelDraft odd_model() {
  test::RandomModel model;
  model.config = test::small_config();
  model.config.vocab_size = 257;
  model.config.eos_ids = {256};
  model.position_rows = model.config.max_seq_len;
  model.position = "learned";
  ModelDraft draft = test::random_model(model);
  draft.tokenizer = test::byte_tokenizer();
  draft.notes.trained_positions = {"learned", "none"};
  draft.notes.provenance_json = R"({"source":"odd","remarks":"none to speak of"})";
  return draft;
}

// Number (n, k) of a tensor, by the words of src/format/README.md.
float number_of(const TensorView& tensor, int64_t n, int64_t k) {
  const int64_t k_size = tensor.shape.back(), p = n / 32, lane = n % 32;
  if (dtype_info(tensor.dtype).block_items == 1) {
    float value = 0;
    widen(tensor.dtype, tensor.data, tensor.layout == Layout::rows ? n * k_size + k : (p * k_size + k) * 32 + lane,
          {&value, 1});
    return value;
  }
  return page::number_of(tensor.dtype, tensor.data + p * (tensor.bytes / ((tensor.shape[0] + 31) / 32)), lane, k);
}

}  // namespace

TEST_CASE("model_draft: a file written anew is the same file, byte for byte") {
  const test::Scratch scratch;
  const ModelDraft draft = odd_model();
  for (const DtypeInfo& kind : kDtypes) {
    CAPTURE(kind.name);
    WriteOptions options = as(dtype_from_name(kind.name));
    options.head_dtype = Dtype::bf16;
    write_model_file(draft, scratch.path("first"), options);
    bool rounded = false;
    WriteOptions keep;
    keep.rounded = [&](const std::string&, Dtype, double) { rounded = true; };
    write_model_file(draft_of(ModelFile::open(scratch.path("first"))), scratch.path("second"), keep);
    CHECK(test::read_file(scratch.path("first")) == test::read_file(scratch.path("second")));
    CHECK_FALSE(rounded);
    // Asked for by name, too.
    write_model_file(draft_of(ModelFile::open(scratch.path("first"))), scratch.path("third"), options);
    CHECK(test::read_file(scratch.path("first")) == test::read_file(scratch.path("third")));
    ModelFile::open(scratch.path("second")).verify();
  }
}

TEST_CASE("model_draft: blocks that this program would have rounded otherwise are kept") {
  const test::Scratch scratch;
  test::Random random(5);
  for (const Dtype dtype : {Dtype::q8_0, Dtype::q4_0, Dtype::q4_1}) {
    write_model_file(odd_model(), scratch.path("m"), as(dtype));
    const ModelFile file = ModelFile::open(scratch.path("m"));
    ModelDraft draft = draft_of(file);
    // The up matrix as another program could have written it: scales of 1, any multiples.
    TensorView other = *file.find("blk.0.ffn_up.weight");
    std::vector<std::byte> bytes(static_cast<size_t>(other.bytes));
    for (size_t i = 0; i < bytes.size(); ++i) {
      const size_t within = i % static_cast<size_t>(dtype_info(dtype).block_bytes * 32);
      const auto any = static_cast<std::byte>(random.below(256));
      bytes[i] = within >= 64 ? any : within % 2 == 0 ? std::byte{0x00} : std::byte{0x3c};
    }
    other.data = bytes.data();
    for (TensorSource& source : draft.tensors)
      if (source.name == other.name) source.stored = &other;
    const ModelFile again = write_model_in_memory(draft, "again");
    CHECK(std::memcmp(again.find(other.name)->data, bytes.data(), bytes.size()) == 0);
    again.verify();
  }
}

TEST_CASE("model_draft: numbers come back as the file's description has them, from any row on") {
  const ModelDraft draft = odd_model();
  for (const DtypeInfo& kind : kDtypes) {
    CAPTURE(kind.name);
    const ModelFile file = write_model_in_memory(draft, "m", as(dtype_from_name(kind.name)));
    for (const TensorSource& source : draft_of(file).tensors) {
      CAPTURE(source.name);
      const TensorView& view = *file.find(source.name);
      const int64_t rows = view.shape.size() == 2 ? view.shape[0] : 1, k_size = view.shape.back();
      CHECK(source.shape == view.shape);
      CHECK(source.source_dtype == view.dtype);
      for (const int64_t first : {int64_t{0}, rows / 2, rows - 1}) {
        const int64_t count = std::min<int64_t>(32, rows - first);
        std::vector<float> found(static_cast<size_t>(count * k_size));
        source.read_rows(first, count, found.data());
        bool same = true;
        for (int64_t n = 0; n < count; ++n)
          for (int64_t k = 0; k < k_size; ++k)
            same = same && found[static_cast<size_t>(n * k_size + k)] == number_of(view, first + n, k);
        CHECK(same);
      }
    }
  }
}

TEST_CASE("model_draft: from numbers without loss, another kind is what the first draft gives") {
  const ModelDraft draft = odd_model();
  const ModelDraft again = draft_of(write_model_in_memory(draft, "f32"));
  const test::Scratch scratch;
  for (const DtypeInfo& kind : kDtypes) {
    CAPTURE(kind.name);
    write_model_file(draft, scratch.path("straight"), as(dtype_from_name(kind.name)));
    write_model_file(again, scratch.path("by way"), as(dtype_from_name(kind.name)));
    CHECK(test::read_file(scratch.path("straight")) == test::read_file(scratch.path("by way")));
  }
}

TEST_CASE("model_draft: a vector of 16 bits stays so when kinds are kept, and is widened when they are not") {
  const ModelFile file = write_model_in_memory(odd_model(), "m");
  ModelDraft draft = draft_of(file);
  auto norm = std::ranges::find(draft.tensors, "output_norm.weight", &TensorSource::name);
  REQUIRE(norm != draft.tensors.end());
  std::vector<float> values(static_cast<size_t>(norm->shape[0]));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8;
  std::vector<std::byte> halves(values.size() * 2);
  narrow(Dtype::f16, values, halves.data());
  const TensorView view{norm->name,  Dtype::f16,    Layout::rows,
                        norm->shape, halves.data(), static_cast<int64_t>(halves.size())};
  norm->source_dtype = Dtype::f16;
  norm->stored = &view;
  norm->read_rows = [&](int64_t, int64_t, float* out) { std::ranges::copy(values, out); };
  const ModelFile kept = write_model_in_memory(draft, "kept");
  CHECK(kept.find(view.name)->dtype == Dtype::f16);
  CHECK(std::memcmp(kept.find(view.name)->data, halves.data(), halves.size()) == 0);
  const ModelFile changed = write_model_in_memory(draft, "changed", as(Dtype::bf16));
  CHECK(changed.find(view.name)->dtype == Dtype::f32);
  CHECK(std::memcmp(changed.find(view.name)->data, values.data(), values.size() * 4) == 0);
}
