// hf_folder_test.cpp: Hugging Face folders of GPT-2, against transformers' logits and against what was put in.
#include <cmath>
#include <nlohmann/json.hpp>

#include "convert/foreign_files.h"
#include "format/model_draft.h"
#include "reference/random_model.h"
#include "reference/reference_forward.h"

using namespace foreign;
using nlohmann::json;
using ordinal::Dtype;
using ordinal::ModelDraft;
using test::error_of, test::mentions, test::Scratch;

namespace {

json golden(const std::string& path) { return json::parse(test::read_file(path)); }

std::vector<double> logits_of(const ModelDraft& draft, const std::vector<int32_t>& ids) {
  const reference::Model model(draft);
  const auto scheme = reference::scheme_of(draft.notes.position, model.position_embd);
  return reference::forward(model, scheme, ids).logits.back();
}

void check_logits(const ModelDraft& draft, const std::vector<int32_t>& ids, const std::vector<double>& expected,
                  double tolerance) {
  const std::vector<double> found = logits_of(draft, ids);
  REQUIRE_EQ(found.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
  CHECK_LE(worst, tolerance);
}

using Folder = Gpt2Folder;

}  // namespace

TEST_CASE("gpt2 folder: transformers' logits come from what is imported of its folders") {
  const json expected = golden(test::repository("tests/goldens/convert/expected.json"));
  const auto ids = expected["ids"].get<std::vector<int32_t>>();
  for (const auto& [name, logits] : expected["folders"].items()) {
    CAPTURE(name);
    const Imported imported = import_noting(test::repository("tests/goldens/convert/" + name));
    check_logits(imported.draft, ids, logits.get<std::vector<double>>(), 1e-5);
    CHECK_EQ(imported.draft.config.tied_output, name != "untied-f16");
    const Dtype dtype = name.ends_with("f16") && !name.ends_with("bf16") ? Dtype::f16
                        : name.ends_with("bf16")                         ? Dtype::bf16
                                                                         : Dtype::f32;
    for (const auto& tensor : imported.draft.tensors) CHECK_EQ(tensor.source_dtype, dtype);
  }
}

TEST_CASE("gpt2 folder: the handed-over models give their golden logits") {
  for (const char* name : {"gpt-nano-sort/hf", "gpt2basic-byte-3x64/hf", "gpt2basic-bpe384-2x48/hf", "hf-tiny-gpt2"}) {
    CAPTURE(name);
    const std::string folder = test::shared("checkpoints/" + std::string(name));
    if (folder.empty()) continue;
    const Imported imported = import_noting(folder);
    const std::string parent = std::string(name).ends_with("/hf") ? "/.." : "";
    size_t compared = 0;
    const json cases = golden(folder + parent + "/golden.json")["cases"];
    for (const json& row : cases) {
      if (!row.contains("logits_last")) continue;
      check_logits(imported.draft, row["ids"].get<std::vector<int32_t>>(),
                   row["logits_last"].get<std::vector<double>>(), 1e-5);
      ++compared;
    }
    CHECK_GT(compared, 0);
  }
}

TEST_CASE("gpt2 folder: cases ckp-01, ckp-02 and ckp-03 give their logits in every kind and naming") {
  if (test::shared("cases/cases.json").empty()) return;
  size_t compared = 0;
  const json cases = golden(test::shared("cases/cases.json"))["cases"];
  for (const json& row : cases)
    for (const json& item : row["items"]) {
      const std::string id = row["id"];
      if (!id.starts_with("ckp-0") || !item["input"].contains("model") || !item["expect"].contains("logits_last"))
        continue;
      const std::string name = id + " " + item["name"].get<std::string>();
      CAPTURE(name);
      const ModelDraft draft = import_noting(test::shared("cases/" + item["input"]["model"].get<std::string>())).draft;
      check_logits(draft, item["input"]["ids"].get<std::vector<int32_t>>(),
                   item["expect"]["logits_last"].get<std::vector<double>>(), item["expect"]["abs_tol"]);
      ++compared;
    }
  CHECK_EQ(compared, 5);
}

TEST_CASE("gpt2 folder: case ckp-02, greedy, and the marks of a transposed reading are absent") {
  const std::string folder = test::shared("cases/inputs/model-h");
  if (folder.empty()) return;
  const ModelDraft draft = import_noting(folder).draft;
  const reference::Model model(draft);
  const auto scheme = reference::learned(model.position_embd);
  CHECK_EQ(reference::greedy(model, scheme, {3, 17, 8}, 9), std::vector<int32_t>{14, 24, 30, 37, 38, 3, 14, 19, 23});
  const std::vector<double> logits = logits_of(draft, {3, 17, 8, 29, 5});
  CHECK_NE(std::max_element(logits.begin(), logits.end()) - logits.begin(), 5);
  CHECK_NE(std::max_element(logits.begin(), logits.end()) - logits.begin(), 25);
}

TEST_CASE("gpt2 folder: case ckp-01, names with and without prefix and masks make the same tensors") {
  const std::string plain = test::shared("cases/inputs/model-h");
  if (plain.empty()) return;
  const ModelDraft expected = import_noting(plain).draft;
  check_same_tensors(import_noting(test::shared("cases/inputs/model-h-prefixed")).draft, expected);
}

TEST_CASE("gpt2 folder: every number of every tensor is where it was, in each kind and naming") {
  const ModelDraft draft = small_gpt2();
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const char* prefix : {"", "transformer."}) {
      Scratch scratch;
      write_gpt2_folder(draft, scratch.path("model"), "", {prefix, dtype});
      const Imported imported = import_noting(scratch.path("model"));
      check_same_tensors(imported.draft, draft);
      CHECK_EQ(imported.draft.notes.position, "learned");
      CHECK_EQ(imported.draft.notes.trained_positions, std::vector<std::string>{"learned"});
      CHECK(imported.noted("no tokenizer"));
    }
}

TEST_CASE("gpt2 folder: a source gives the same numbers for any rising count of rows") {
  Scratch scratch;
  write_gpt2_folder(small_gpt2(), scratch.path("model"));
  const ModelDraft draft = import_noting(scratch.path("model")).draft;
  for (const auto& tensor : draft.tensors) {
    const int64_t rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1, cols = tensor.shape.back();
    std::vector<float> by_ones(static_cast<size_t>(rows * cols)), at_once(by_ones.size());
    for (int64_t row = 0; row < rows; ++row) tensor.read_rows(row, 1, by_ones.data() + row * cols);
    tensor.read_rows(0, rows, at_once.data());
    CHECK_MESSAGE(test::same_bits(by_ones, at_once), tensor.name);
  }
}

TEST_CASE("gpt2 folder: mask buffers of any kind and shape are left out") {
  Folder folder;
  folder.tensors.push_back({"transformer.h.0.attn.bias", "BOOL", {1, 1, 4, 4}, std::string(16, '\1')});
  folder.tensors.push_back({"transformer.h.1.attn.bias", "U8", {1, 1, 4, 4}, std::string(16, '\1')});
  folder.tensors.push_back({"transformer.h.0.attn.masked_bias", "F32", {}, std::string(4, '\0')});
  folder.tensors.push_back({"h.1.attn.masked_bias", "Z9", {3}, "?"});
  check_same_tensors(folder.import().draft, folder.draft);
}

TEST_CASE("gpt2 folder: the head is tied, apart, or apart against config.json, with a bias where there is one") {
  Folder folder;
  const int64_t v = folder.draft.config.vocab_size, d = folder.draft.config.d_model;
  const std::vector<float> head = test::uniform_numbers(5, "head", v * d, 0, 1);
  const std::vector<float> bias = test::uniform_numbers(6, "bias", v, 0, 1);
  SUBCASE("absent, so tied") {
    const Imported imported = folder.import();
    CHECK(imported.draft.config.tied_output);
    CHECK_EQ(find_tensor(imported.draft, "output.weight"), nullptr);
    CHECK_EQ(find_tensor(imported.draft, "output.bias"), nullptr);
  }
  SUBCASE("a copy of the embedding is tied") {
    folder.tensors.push_back({"lm_head.weight", "F32", {v, d}, folder.at("transformer.wte.weight").bytes});
    const Imported imported = folder.import();
    CHECK(imported.draft.config.tied_output);
    CHECK_EQ(find_tensor(imported.draft, "output.weight"), nullptr);
  }
  SUBCASE("apart") {
    folder.config = gpt2_config(folder.draft, R"(, "tie_word_embeddings": false)");
    CHECK(mentions(folder.error(), {"lacks the tensor lm_head.weight"}));
    folder.tensors.push_back({"lm_head.weight", "F32", {v, d}, bytes_of(head)});
    folder.tensors.push_back({"lm_head.bias", "F32", {v}, bytes_of(bias)});
    const Imported imported = folder.import();
    CHECK_FALSE(imported.draft.config.tied_output);
    CHECK(test::same_bits(numbers_of(imported.draft, "output.weight"), head));
    CHECK(test::same_bits(numbers_of(imported.draft, "output.bias"), bias));
  }
  SUBCASE("config.json ties what differs: apart, as in transformers 5, and said") {
    folder.tensors.push_back({"lm_head.weight", "F32", {v, d}, bytes_of(head)});
    const Imported imported = folder.import();
    CHECK_FALSE(imported.draft.config.tied_output);
    CHECK(imported.noted("differ"));
    CHECK(mentions(imported.draft.notes.provenance_json, {"differ"}));
  }
  SUBCASE("a bias beside a tied head") {
    folder.tensors.push_back({"lm_head.bias", "F32", {v}, bytes_of(bias)});
    const Imported imported = folder.import();
    CHECK(imported.draft.config.tied_output);
    CHECK(test::same_bits(numbers_of(imported.draft, "output.bias"), bias));
  }
}

TEST_CASE("gpt2 folder: a tensor that is missing, misshapen, unknown, twice there or of a wrong kind is named") {
  Folder folder;
  SUBCASE("missing") {
    for (const SafeTensor& tensor : gpt2_tensors(folder.draft)) {
      Folder without;
      std::erase_if(without.tensors, [&](const SafeTensor& other) { return other.name == tensor.name; });
      CHECK(mentions(without.error(), {"lacks the tensor " + tensor.name.substr(12)}));
    }
  }
  SUBCASE("misshapen") {
    folder.at("transformer.h.1.attn.c_attn.weight").shape = {3 * 36, 36};
    const std::string error = folder.error();
    CHECK(mentions(error, {"h.1.attn.c_attn.weight"}));
    CHECK(mentions(error, {"[36, 108]"}));
    CHECK(mentions(error, {"[108, 36]"}));
  }
  SUBCASE("unknown") {
    folder.tensors.push_back({"transformer.h.0.attn.extra.weight", "F32", {1}, std::string(4, '\0')});
    CHECK(mentions(folder.error(), {"h.0.attn.extra.weight"}));
  }
  SUBCASE("of a layer too many") {
    folder.tensors.push_back({"transformer.h.2.ln_1.weight", "F32", {1}, std::string(4, '\0')});
    CHECK(mentions(folder.error(), {"h.2.ln_1.weight"}));
  }
  SUBCASE("with and without prefix") {
    folder.tensors.push_back({"ln_f.bias", "F32", {36}, std::string(144, '\0')});
    CHECK(mentions(folder.error(), {"twice"}));
  }
  SUBCASE("of a kind that weights cannot have") {
    SafeTensor& tensor = folder.at("transformer.ln_f.weight");
    tensor.kind = "I64";
    tensor.bytes.resize(2 * tensor.bytes.size());
    CHECK(mentions(folder.error(), {"I64"}));
  }
}

TEST_CASE("gpt2 folder: kinds may differ from tensor to tensor") {
  Folder folder;
  SafeTensor& tensor = folder.at("transformer.h.0.mlp.c_fc.weight");
  tensor.kind = "F16";
  tensor.bytes =
      transposed_bytes_of(numbers_of(folder.draft, "blk.0.ffn_up.weight"), folder.draft.config.d_ff, Dtype::f16);
  const ModelDraft draft = folder.import().draft;
  check_same_tensors(draft, folder.draft);
  CHECK_EQ(find_tensor(draft, "blk.0.ffn_up.weight")->source_dtype, Dtype::f16);
  CHECK_EQ(find_tensor(draft, "blk.1.ffn_up.weight")->source_dtype, Dtype::f32);
}

TEST_CASE("gpt2 folder: NaN and infinity pass with a remark that names the tensor") {
  Folder folder;
  folder.at("transformer.h.1.mlp.c_fc.weight").bytes.replace(400, 4, le32(0x7fc00000));
  folder.at("transformer.ln_f.bias").bytes.replace(0, 4, le32(0x7f800000));
  const Imported imported = folder.import();
  CHECK(imported.noted("blk.1.ffn_up.weight holds NaN or infinity"));
  CHECK(imported.noted("output_norm.bias holds NaN or infinity"));
}

TEST_CASE("gpt2 folder: a model trained under another scheme has no position table") {
  Folder folder;
  folder.config = gpt2_config(folder.draft, R"(, "ordinal_position": "rope:theta=10000,pairing=half")");
  CHECK(mentions(folder.error(), {"wpe.weight"}));  // not used, so refused
  std::erase_if(folder.tensors, [](const SafeTensor& tensor) { return tensor.name.ends_with("wpe.weight"); });
  const ModelDraft draft = folder.import().draft;
  CHECK_EQ(draft.notes.position, "rope");  // canonical: defaults left out
  CHECK_EQ(find_tensor(draft, "position_embd.weight"), nullptr);
  folder.config = gpt2_config(folder.draft, R"(, "ordinal_position": "ropes")");
  CHECK(mentions(folder.error(), {"no position scheme 'ropes'"}));
  folder.config = gpt2_config(folder.draft, R"(, "ordinal_position": "rope:base=3")");
  CHECK(mentions(folder.error(), {"base"}));
}

TEST_CASE("gpt2 folder: tables of one, two and three dimensions and any width reach the model file as they are") {
  Folder folder;
  const std::pair<const char*, std::vector<int64_t>> tables[] = {
      {"made.slopes", {5}}, {"blk.0.made.weight", {40, 1}}, {"made.wide.weight", {3, 64}}, {"made.deep", {2, 33, 3}}};
  std::vector<std::vector<float>> numbers;
  for (const auto& [name, shape] : tables) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    numbers.push_back(test::Random(7).normals(static_cast<size_t>(count)));
    folder.tensors.push_back({"ordinal." + std::string(name), "F32", shape, bytes_of(numbers.back())});
  }
  const ModelDraft draft = folder.import().draft;
  ordinal::WriteOptions q8{.keep_dtype = false, .dtype = Dtype::q8_0}, q4{.keep_dtype = false, .dtype = Dtype::q4_0};
  const ordinal::ModelFile once = write_model_in_memory(draft, "once", q8);
  const ordinal::ModelFile twice = write_model_in_memory(ordinal::draft_of(once), "twice", q4);
  for (const ordinal::ModelFile& file : {once, twice})
    for (size_t i = 0; i < std::size(tables); ++i) {
      CAPTURE(tables[i].first);
      const ordinal::TensorView* view = file.find(tables[i].first);
      REQUIRE(view != nullptr);
      CHECK(view->shape == tables[i].second);
      CHECK(view->layout == ordinal::Layout::rows);
      REQUIRE(view->dtype == Dtype::f32);
      std::vector<float> found(numbers[i].size());
      ordinal::widen(view->dtype, view->data, 0, found);
      CHECK(test::same_bits(found, numbers[i]));
    }
  folder.tensors.push_back({"ordinal.too.deep", "F32", {1, 1, 1, 1}, std::string(4, '\0')});
  CHECK(mentions(folder.error(), {"too.deep", "1 to 3 dimensions"}));
}

TEST_CASE("gpt2 folder: generation_config.json is read for what ends a text") {
  Folder folder;
  folder.config = gpt2_config(folder.draft, R"(, "eos_token_id": 9)");
  test::write_file(folder.scratch.path("generation_config.json"), R"({"eos_token_id": [3, 9]})");
  const Imported imported = folder.import();
  CHECK_EQ(imported.draft.config.eos_ids, std::vector<ordinal::TokenId>{3, 9});
  CHECK(imported.noted("texts end at 3, 9"));
}

TEST_CASE("gpt2 folder: shards are read as one, and an index that is wrong is refused") {
  const ModelDraft draft = small_gpt2();
  const std::vector<SafeTensor> tensors = gpt2_tensors(draft);
  Scratch scratch;
  test::write_file(scratch.path("config.json"), gpt2_config(draft));
  const auto index_path = scratch.path("model.safetensors.index.json");
  std::vector<SafeTensor> shards[2];
  json map;
  for (size_t i = 0; i < tensors.size(); ++i) {
    shards[i % 2].push_back(tensors[i]);
    map[tensors[i].name] = i % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  test::write_file(scratch.path("a.safetensors"), safetensors(shards[0]));
  test::write_file(scratch.path("b.safetensors"), safetensors(shards[1]));
  const auto write_index = [&](const json& weight_map) {
    test::write_file(index_path, json{{"metadata", {{"total_size", 1}}}, {"weight_map", weight_map}}.dump());
  };
  const auto error = [&] { return error_of([&] { ordinal::import_checkpoint(scratch.folder().string()); }); };

  write_index(map);
  check_same_tensors(import_noting(scratch.folder().string()).draft, draft);
  SUBCASE("a tensor in another shard than it says") {
    map["transformer.wte.weight"] = "b.safetensors";
    write_index(map);
    CHECK(mentions(error(), {"transformer.wte.weight"}));
  }
  SUBCASE("a tensor that no shard has") {
    map["transformer.more.weight"] = "b.safetensors";
    write_index(map);
    CHECK(mentions(error(), {"transformer.more.weight"}));
  }
  SUBCASE("a tied head that no shard has, as save_pretrained may list it") {
    map["lm_head.weight"] = "b.safetensors";
    write_index(map);
    const Imported imported = import_noting(scratch.folder().string());
    CHECK(imported.draft.config.tied_output);
    check_same_tensors(imported.draft, draft);
    test::write_file(scratch.path("config.json"), gpt2_config(draft, R"(, "tie_word_embeddings": false)"));
    CHECK(mentions(error(), {"lacks the tensor lm_head.weight"}));
  }
  SUBCASE("a shard that is not there") {
    std::filesystem::remove(scratch.path("b.safetensors"));
    CHECK(mentions(error(), {"b.safetensors"}));
  }
  SUBCASE("files outside the folder are never opened") {
    for (const char* name : {"../x", "/etc/passwd", "sub/a.safetensors", "..", ".", "", "..\\x"}) {
      map["transformer.wte.weight"] = name;
      write_index(map);
      CHECK(mentions(error(), {"outside its folder"}));
    }
    map["transformer.wte.weight"] = std::string("a\0b", 3);
    write_index(map);
    CHECK(mentions(error(), {"outside its folder"}));
  }
  SUBCASE("a tensor in both shards") {
    shards[1].push_back(shards[0].front());
    test::write_file(scratch.path("b.safetensors"), safetensors(shards[1]));
    CHECK(mentions(error(), {"does not place there"}));
  }
  SUBCASE("no weight_map") {
    test::write_file(index_path, "{}");
    CHECK(mentions(error(), {"weight_map"}));
  }
}

TEST_CASE("gpt2 folder: weights that are pickled, absent, or a pointer to somewhere else are named as such") {
  Scratch scratch;
  test::write_file(scratch.path("config.json"), gpt2_config(small_gpt2()));
  const auto error = [&] { return error_of([&] { ordinal::import_checkpoint(scratch.folder().string()); }); };
  CHECK(mentions(error(), {"no weights"}));
  test::write_file(scratch.path("pytorch_model.bin"), "PK\3\4");
  CHECK(mentions(error(), {"truncated"}));
  test::write_file(scratch.path("model.safetensors"),
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 548105171\n");
  CHECK(mentions(error(), {"git-lfs pointer"}));
  test::write_file(scratch.path("model.safetensors"), "<!DOCTYPE html>\n<html><head><title>404</title></head></html>");
  CHECK(mentions(error(), {"HTML"}));
}

TEST_CASE("hf folder: a tokenizer of another kind is refused with a way on, and the model opens without it") {
  Scratch scratch;
  write_gpt2_folder(small_gpt2(), scratch.path("m"));
  test::write_file(scratch.path("m/tokenizer.json"), R"({"model": {"type": "Unigram", "vocab": [["a", -1.0]]}})");
  CHECK(mentions(error_of([&] { ordinal::import_checkpoint(scratch.path("m")); }), {"Unigram", "--vocab none"}));
  CHECK_EQ(import_noting(scratch.path("m"), "none").draft.tokenizer.kind, "none");
}
