// open_any_model_test.cpp: from foreign checkpoints to opened models, in memory and by way of files.
#include <nlohmann/json.hpp>

#include "convert/foreign_files.h"
#include "reference/random_model.h"

using namespace foreign;
using namespace ordinal;
using test::error_of, test::mentions, test::Scratch;

namespace {

// The numbers of a tensor of an opened model, whatever its layout (src/format/README.md describes panels).
std::vector<float> numbers_in(const ModelFile& model, const std::string& name) {
  const TensorView* view = model.find(name);
  REQUIRE_MESSAGE(view != nullptr, "no tensor ", name);
  const int64_t n = view->shape.size() == 2 ? view->shape[0] : 1, k = view->shape.back();
  std::vector<float> stored(static_cast<size_t>(view->bytes / dtype_info(view->dtype).block_bytes)), values;
  widen(view->dtype, view->data, 0, stored);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t col = 0; col < k; ++col)
      values.push_back(stored[static_cast<size_t>(view->layout == Layout::panels ? (row / 32 * k + col) * 32 + row % 32
                                                                                 : row * k + col)]);
  return values;
}

}  // namespace

TEST_CASE("open_any_model: every foreign format opens, with its numbers and a remark on converting it") {
  Scratch scratch;
  const ModelDraft gpt2 = small_gpt2(), llama = small_llama();
  write_gpt2_folder(gpt2, scratch.path("folder"), "", {"transformer.", Dtype::f16});
  test::write_file(scratch.path("llmc.bin"), llmc_file(gpt2, 5, 128));
  test::write_file(scratch.path("llama.bin"), llama2c_file(llama, 1));
  for (const char* name : {"folder", "folder/", "llmc.bin", "llama.bin"}) {
    CAPTURE(name);
    std::vector<std::string> notes;
    ImportOptions options;
    options.note = [&](const std::string& note) { notes.push_back(note); };
    const ModelFile model = open_any_model(scratch.path(name), options);
    const ModelDraft& draft = name[1] == 'l' && name[2] == 'a' ? llama : gpt2;
    CHECK_EQ(model.tensors().size(), draft.tensors.size());
    for (const TensorSource& tensor : draft.tensors)
      CHECK_MESSAGE(test::same_bits(numbers_in(model, tensor.name), numbers_of(draft, tensor.name)), tensor.name);
    model.verify();
    CHECK(mentions(notes.back(), {"ordinal convert " + scratch.path(name)}));
    const auto provenance = nlohmann::json::parse(model.notes().provenance_json);
    CHECK(mentions(std::string(name), {provenance["source"].get<std::string>()}));
    CHECK(mentions(notes[notes.size() - 2], {draft.config.gated_mlp ? "Llama, " : "GPT-2, ", "layers, positions "}));
    options.dtype = Dtype::q8_0;
    CHECK(open_any_model(scratch.path(name), options).find("blk.0.ffn_up.weight")->dtype == Dtype::q8_0);
    // Nothing in the model says where on this machine it came from.
    CHECK_FALSE(mentions(model.notes().provenance_json, {scratch.folder().string()}));
    if (name[0] == 'f') CHECK(mentions(model.notes().provenance_json, {"no tokenizer"}));
  }
}

TEST_CASE("open_any_model: a model file opens as it is, and a damaged one is described by its own reader") {
  Scratch scratch;
  write_gpt2_folder(small_gpt2(), scratch.path("folder"));
  write_model_file(import_checkpoint(scratch.path("folder")), scratch.path("m.ordinal"));
  std::vector<std::string> notes;
  ImportOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  CHECK_EQ(open_any_model(scratch.path("m.ordinal"), options).config().d_model, 36);
  CHECK(notes.empty());
  std::filesystem::copy_file(scratch.path("m.ordinal"), scratch.path("other.name"));
  CHECK_EQ(open_any_model(scratch.path("other.name"), options).config().d_model, 36);
  CHECK(mentions(error_of([&] { import_checkpoint(scratch.path("m.ordinal")); }), {"already"}));

  const std::string good = test::read_file(scratch.path("m.ordinal"));
  for (size_t size = 0; size < good.size(); size += size < 64 ? 1 : 1009) {
    std::filesystem::remove(scratch.path("cut.ordinal"));
    test::write_file(scratch.path("cut.ordinal"), good.substr(0, size));
    CHECK_MESSAGE(mentions(error_of([&] { open_any_model(scratch.path("cut.ordinal")); }),
                           {"truncat", "short", "size", "header", "expect"}),
                  size);
  }
}

TEST_CASE("convert: case ckp-01, plain and prefixed names write the same file but for the source's name") {
  if (test::shared("cases/inputs").empty()) return;
  Scratch scratch;
  ModelDraft plain = import_checkpoint(test::shared("cases/inputs/model-h"));
  ModelDraft prefixed = import_checkpoint(test::shared("cases/inputs/model-h-prefixed"));
  CHECK(mentions(plain.notes.provenance_json, {"model-h"}));
  prefixed.notes.provenance_json = plain.notes.provenance_json;
  write_model_file(plain, scratch.path("a.ordinal"));
  write_model_file(prefixed, scratch.path("b.ordinal"));
  CHECK_EQ(test::read_file(scratch.path("a.ordinal")), test::read_file(scratch.path("b.ordinal")));
}

TEST_CASE("convert: case num-02, a weight too large for f16 is an Error that names it, and no file is left") {
  Scratch scratch;
  ModelDraft draft = small_gpt2();
  std::vector<SafeTensor> tensors = gpt2_tensors(draft);
  for (SafeTensor& tensor : tensors)
    if (tensor.name == "transformer.h.1.mlp.c_proj.weight") tensor.bytes.replace(1000, 4, bytes_of({1e5f}));
  std::filesystem::create_directories(scratch.path("folder"));
  test::write_file(scratch.path("folder/config.json"), gpt2_config(draft));
  test::write_file(scratch.path("folder/model.safetensors"), safetensors(tensors));
  const ModelDraft imported = import_checkpoint(scratch.path("folder"));
  WriteOptions half;
  half.keep_dtype = false;
  half.dtype = Dtype::f16;
  const std::string error = error_of([&] { write_model_file(imported, scratch.path("m.ordinal"), half); });
  CHECK(mentions(error, {"overflow", "range", "65504"}));
  CHECK(mentions(error, {"blk.1.ffn_down.weight"}));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.folder())) files += entry.is_regular_file();
  CHECK_EQ(files, 0);
}
