// hf_weights_test.cpp: weights of Hugging Face folders as trainers leave them: prefixes, heads of other tasks, doubles.
#include <cmath>
#include <cstring>
#include <limits>

#include "convert/foreign_files.h"
#include "reference/random_model.h"
#include "reference/reference_forward.h"

using namespace foreign;
using ordinal::ModelDraft;
using test::mentions;

namespace {

std::string doubles_of(const std::vector<float>& values, double more = 0) {
  std::string bytes;
  for (const float value : values) {
    const double wide = static_cast<double>(value) * (1 + more);
    char raw[8];
    std::memcpy(raw, &wide, 8);
    bytes.append(raw, 8);
  }
  return bytes;
}

// Every tensor as F64, each number a little off the f32 that is nearest to it.
void make_double(Gpt2Folder& folder) {
  for (SafeTensor& tensor : folder.tensors) {
    std::vector<float> values(tensor.bytes.size() / 4);
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    tensor.kind = "F64";
    tensor.bytes = doubles_of(values, 1e-9);
  }
}

}  // namespace

TEST_CASE("hf weights: heads of other tasks and trainers are left out with a remark") {
  for (const char* name :
       {"score.weight", "classifier.bias", "qa_outputs.weight", "v_head.summary.weight", "v_head.summary.bias",
        "summary.summary.weight", "multiple_choice_head.summary.weight", "value_head.0.weight", "reward_head.weight",
        "module.score.weight", "transformer.score.weight"}) {
    CAPTURE(name);
    Gpt2Folder folder;
    folder.tensors.push_back({name, "F32", {1}, std::string(4, '\0')});
    const Imported imported = folder.import();
    CHECK(imported.noted("'" + std::string(name) + "' is for another task and left out"));
    check_same_tensors(imported.draft, folder.draft);
  }
}

TEST_CASE("hf weights: what is no head of another task is still refused") {
  for (const char* name : {"lm_head.extra", "h.0.score.weight", "h.0.v_head.weight", "extra.weight", "heads.weight"}) {
    CAPTURE(name);
    Gpt2Folder folder;
    folder.tensors.push_back({name, "F32", {1}, std::string(4, '\0')});
    CHECK(mentions(folder.error(), {"does not use", name}));
  }
}

TEST_CASE("hf weights: prefixes of compilers, wrappers and trainers come off in any nesting") {
  const ModelDraft draft = small_gpt2();
  for (const char* prefix :
       {"", "transformer.", "_orig_mod.", "_orig_mod.transformer.", "module.transformer.", "model.transformer.",
        "model.", "module._orig_mod.transformer.", "_orig_mod.module.transformer.", "pretrained_model.transformer.",
        "module.pretrained_model.transformer.", "base_model.model.transformer.", "_fsdp_wrapped_module.transformer."}) {
    CAPTURE(prefix);
    test::Scratch scratch;
    write_gpt2_folder(draft, scratch.path("model"), "", {.prefix = prefix});
    check_same_tensors(import_noting(scratch.path("model")).draft, draft);
  }
}

TEST_CASE("hf weights: a layer that was compiled or wrapped on its own has its name back, and a twin is seen") {
  Gpt2Folder folder;
  for (SafeTensor& tensor : folder.tensors)
    if (const size_t at = tensor.name.find("h.1."); at != std::string::npos) tensor.name.insert(at + 4, "_orig_mod.");
  check_same_tensors(folder.import().draft, folder.draft);
  SafeTensor twin = folder.tensors.front();
  twin.name = "module._orig_mod." + twin.name;
  folder.tensors.push_back(twin);
  CHECK(mentions(folder.error(), {"twice"}));
}

TEST_CASE("hf weights: numbers of 64 bits are rounded to the nearest of 32") {
  Gpt2Folder folder;
  make_double(folder);
  const Imported imported = folder.import();
  check_same_tensors(imported.draft, folder.draft);
  CHECK_EQ(find_tensor(imported.draft, "blk.0.ffn_up.weight")->source_dtype, ordinal::Dtype::f32);
}

TEST_CASE("hf weights: a number of 64 bits that f32 cannot hold is an error, an infinity a remark") {
  Gpt2Folder folder;
  make_double(folder);
  std::string& bytes = folder.at("transformer.h.1.mlp.c_fc.weight").bytes;
  const auto put = [&](double value) { std::memcpy(bytes.data() + 80, &value, 8); };
  put(1e300);
  folder.write();
  const ModelDraft draft = ordinal::import_checkpoint(folder.path());
  CHECK(mentions(test::error_of([&] { numbers_of(draft, "blk.1.ffn_up.weight"); }), {"blk.1.ffn_up.weight", "f32"}));
  put(std::numeric_limits<double>::infinity());
  CHECK(folder.import().noted("blk.1.ffn_up.weight holds NaN or infinity"));
}

TEST_CASE("hf weights: case 07, heads of three tasks over one model, gives transformers' logits") {
  for (const char* name : {"question-answering", "value-head", "classifier"}) {
    CAPTURE(name);
    const std::string folder = test::shared("cases-2/07/" + std::string(name));
    if (folder.empty()) return;
    const Imported imported = import_noting(folder);
    CHECK(imported.noted("is for another task and left out"));
    const reference::Model model(imported.draft);
    const auto logits =
        reference::forward(model, reference::learned(model.position_embd), {1, 2, 3, 4, 5}).logits.back();
    CHECK(std::abs(logits[30] - 3.3878) < 1e-4);
    CHECK(std::abs(logits[28] - 2.1222) < 1e-4);
    CHECK(std::abs(logits[2] - 1.8315) < 1e-4);
  }
}
