// hostile_input_test.cpp: files that are no model, headers that lie, and every way to cut or flip a small good file.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "convert/training_files.h"

using namespace foreign;
using nlohmann::json;
using test::error_of, test::mentions, test::Scratch;

namespace {

// A tiny model of every format, so that each byte can be flipped.
ordinal::ModelDraft tiny(ordinal::ModelDraft draft) {
  draft.config.n_layers = 1;
  draft.config.attention_scale.resize(1);
  return draft;
}

// A new file each time: some file systems write a file that is cut and filled again to the disk at once.
void put(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  test::write_file(path, bytes);
}

// Every prefix up to the end of the header and then every `step`th, and one flipped bit of each byte likewise.
void damage_everywhere(const std::string& path, const std::string& import_path, size_t header, size_t step) {
  const std::string good = test::read_file(path);
  REQUIRE(imports_or_refuses(import_path));
  const auto next = [&](size_t at) { return at + (at < header ? 1 : step); };
  for (size_t size = 0; size < good.size(); size = next(size)) {
    put(path, good.substr(0, size));
    CHECK_FALSE_MESSAGE(imports_or_refuses(import_path), path, " cut at ", size);
  }
  test::Random random(17);
  for (size_t at = 0; at < good.size(); at = next(at)) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(8)));
    put(path, bad);
    imports_or_refuses(import_path);
    bad[at] = at % 2 == 0 ? '\xff' : '\0';
    put(path, bad);
    imports_or_refuses(import_path);
  }
  put(path, good);
}

// Items of a case whose files are to be refused, with what a message must mention.
void check_refused_files(const std::string& case_id, size_t expected_count) {
  if (test::shared("cases/cases.json").empty()) return;
  const json cases = json::parse(test::read_file(test::shared("cases/cases.json")))["cases"];
  size_t refused = 0;
  for (const json& row : cases)
    for (const json& item : row["items"]) {
      if (row["id"] != case_id || !item["input"].contains("file") || item["expect"].value("outcome", "") != "error")
        continue;
      const std::string name = item["name"], file = item["input"]["file"];
      CAPTURE(name);
      const auto start = std::chrono::steady_clock::now();
      const std::string error = error_of([&] { ordinal::import_checkpoint(test::shared("cases/" + file)); });
      const std::string opened = error_of([&] { ordinal::open_any_model(test::shared("cases/" + file)); });
      CHECK_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
      CHECK_EQ(error, opened);
      if (item["expect"].contains("stderr_mentions_any_of"))
        CHECK_MESSAGE(mentions(error, item["expect"]["stderr_mentions_any_of"].get<std::vector<std::string>>()), error);
      ++refused;
    }
  CHECK_EQ(refused, expected_count);
}

int64_t peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

TEST_CASE("convert: case cli-01, a file that is no model is refused with what it looks like") {
  check_refused_files("cli-01", 8);
  if (const std::string inputs = test::shared("cases/inputs"); !inputs.empty()) {
    const auto error = [&](const std::string& name) {
      return error_of([&] { ordinal::import_checkpoint(inputs + "/not-a-model-" + name); });
    };
    CHECK(mentions(error("empty.bin"), {"empty file"}));
    CHECK(mentions(error("zip.bin"), {"zip archive"}));
    CHECK(mentions(error("page.bin"), {"HTML"}));
    CHECK(mentions(error("big-endian.gguf"), {"big-endian"}));
    CHECK(mentions(error("future.gguf"), {"version 99"}));
  }
}

TEST_CASE("convert: case sec-01, GGUF files whose lengths, counts and places lie are refused") {
  check_refused_files("sec-01", 24);
}

TEST_CASE("convert: case cli-01, paths that are missing, empty directories or not readable") {
  const auto error = [](const std::string& path) { return error_of([&] { ordinal::import_checkpoint(path); }); };
  CHECK(mentions(error("no/such/file.bin"), {"no such file"}));
  Scratch scratch;
  CHECK(mentions(error(scratch.folder().string()), {"no model"}));
  CHECK(mentions(error(scratch.folder().string()), {"directory"}));
  if (geteuid() == 0) {
    MESSAGE("skipped: unreadable files, as the super-user can read all");
    return;
  }
  test::write_file(scratch.path("secret"), "x");
  std::filesystem::permissions(scratch.path("secret"), std::filesystem::perms::none);
  CHECK(mentions(error(scratch.path("secret")), {"permission"}));
}

TEST_CASE("convert: case sec-02, every extreme header is refused soon and in little memory") {
  const int64_t before = peak_rss_mb();
  if (test::shared("cases/cases.json").empty()) return;
  const json cases = json::parse(test::read_file(test::shared("cases/cases.json")))["cases"];
  size_t files = 0;
  for (const json& row : cases)
    if (row["id"] == "sec-02") files = row["items"].size();
  CHECK_GT(files, 20);
  check_refused_files("sec-02", files - 1);  // one item is the good file's twin, below
  CHECK_LT(peak_rss_mb() - before, 64);
}

TEST_CASE("convert: other files than models are named") {
  Scratch scratch;
  const auto error = [&](const std::string& bytes) {
    test::write_file(scratch.path("m.bin"), bytes);
    return error_of([&] { ordinal::import_checkpoint(scratch.path("m.bin")); });
  };
  CHECK(mentions(error(safetensors({}) + std::string(40, ' ')), {"config.json"}));
  CHECK(mentions(error("version https://git-lfs.github.com/spec/v1\n"), {"git-lfs"}));
  CHECK(mentions(error("\x80\x02}q\x01" + std::string(50, 'x')), {"pickle"}));
  CHECK(mentions(error(std::string(5000, '\0')), {"zeros"}));
  CHECK(mentions(error("{\"model\": 1, \"something\": [1, 2, 3]}"), {"JSON"}));
  CHECK(mentions(error(llmc_tokenizer_file({"a"}, 0)), {"llm.c tokenizer"}));
  CHECK(mentions(error(le32(__builtin_bswap32(20240326)) + std::string(2000, 'x')), {"big-endian"}));
  CHECK(mentions(error(le32(__builtin_bswap32(0x616b3432)) + std::string(2000, 'x')), {"big-endian"}));
  CHECK(mentions(error(le32(20240801) + std::string(2000, 'x')), {"Llama 3"}));
  const std::string filler(100, 'x');
  CHECK(mentions(error("\x80\x04\x95" + filler), {"not one of torch.save"}));
  CHECK(mentions(error("\x89HDF\r\n\x1a\n" + filler), {"HDF5"}));
  CHECK(mentions(error("\x08\x07\x12\x07pytorch" + filler), {"ONNX"}));
  CHECK(mentions(error("\x81\xabtransformer" + std::string("\xde\x01\x00", 3) + filler), {"Flax"}));
  CHECK(mentions(error(std::string(257, '\0') + "ustar" + filler), {"tar archive"}));
  const auto folder_error = [&](const std::string& file) {
    const Scratch folder;
    test::write_file(folder.path(file), filler);
    return error_of([&] { ordinal::import_checkpoint(folder.folder().string()); });
  };
  CHECK(mentions(folder_error("saved_model.pb"), {"SavedModel"}));
  CHECK(mentions(folder_error("tf_model.h5"), {"Keras"}));
  CHECK(mentions(folder_error("flax_model.msgpack"), {"Flax"}));
  CHECK(mentions(folder_error("ckpt.pt"), {"there is ckpt.pt"}));
  CHECK(mentions(error(std::string("ORDINAL\0", 8) + std::string(100, 'x')), {"already"}));
}

TEST_CASE("convert: case ckp-04, a source that is cut or grown is refused with the reason") {
  const std::string source = test::shared("cases/inputs/model-h");
  if (source.empty()) return;
  Scratch scratch;
  const std::string weights = test::read_file(source + "/model.safetensors");
  test::write_file(scratch.path("config.json"), test::read_file(source + "/config.json"));
  const auto error = [&](const std::string& bytes) {
    test::write_file(scratch.path("model.safetensors"), bytes);
    return error_of([&] { ordinal::import_checkpoint(scratch.folder().string()); });
  };
  REQUIRE_EQ(weights.size(), 21336);
  for (const size_t size : {0, 1, 7, 8, 9, 100, 1000, 10668, 21335})
    CHECK_MESSAGE(mentions(error(weights.substr(0, size)), {"truncat", "short", "size", "header", "beyond", "expect"}),
                  size);
  CHECK(mentions(error(weights + "x"), {"trailing"}));
  CHECK(mentions(error(weights + std::string(4096, '\0')), {"trailing"}));
}

TEST_CASE("convert: a safetensors folder, cut or flipped anywhere, is a model or an Error") {
  Scratch scratch;
  write_gpt2_folder(tiny(small_gpt2()), scratch.path("m"));
  damage_everywhere(scratch.path("m/model.safetensors"), scratch.path("m"), 1400, 1999);
  damage_everywhere(scratch.path("m/config.json"), scratch.path("m"), 1000, 1);
}

TEST_CASE("convert: a tokenizer folder, cut or flipped anywhere, is a tokenizer or an Error") {
  Scratch scratch;
  write_gpt2_folder(tiny(small_gpt2()), scratch.path("m"));
  test::write_file(scratch.path("m/vocab.json"), R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "<|endoftext|>": 5})");
  test::write_file(scratch.path("m/merges.txt"), "#version: 0.2\na b\n");
  test::write_file(scratch.path("m/tokenizer_config.json"),
                   R"({"unk_token": {"content": "<|endoftext|>"}, "add_prefix_space": false})");
  damage_everywhere(scratch.path("m/vocab.json"), scratch.path("m"), 1000, 1);
  // Cut short, these two can still be a good file of their kind.
  for (const char* name : {"m/merges.txt", "m/tokenizer_config.json"}) {
    const std::string path = scratch.path(name), good = test::read_file(path);
    for (size_t at = 0; at < good.size(); ++at)
      for (const int bit : {1, 4, 16, 128}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ bit);
        put(path, bad);
        imports_or_refuses(scratch.path("m"));
        put(path, good.substr(0, at));
        imports_or_refuses(scratch.path("m"));
      }
    put(path, good);
  }
}

TEST_CASE("convert: llm.c and llama2.c models, cut or flipped anywhere, are models or Errors") {
  Scratch scratch;
  test::write_file(scratch.path("llmc.bin"), llmc_file(tiny(small_gpt2())));
  damage_everywhere(scratch.path("llmc.bin"), scratch.path("llmc.bin"), 40, 1999);
  for (const int version : {0, 1}) {
    test::write_file(scratch.path("llama.bin"), llama2c_file(tiny(small_llama()), version));
    damage_everywhere(scratch.path("llama.bin"), scratch.path("llama.bin"), version == 0 ? 32 : 60, 1999);
  }
  ordinal::ModelDraft rounded = tiny(small_llama());
  test::write_file(scratch.path("llama.bin"), llama2c_8bit_file(rounded, 12));
  damage_everywhere(scratch.path("llama.bin"), scratch.path("llama.bin"), 60, 999);
}

TEST_CASE("convert: files of torch.save and TensorFlow, cut or flipped anywhere, are models or Errors") {
  Scratch scratch;
  for (const char* name : {"nano.pt", "meta.pkl"})
    test::write_file(scratch.path(name), test::read_file(test::repository("tests/goldens/torch/") + name));
  damage_everywhere(scratch.path("nano.pt"), scratch.path("nano.pt"), 3500, 17);
  damage_everywhere(scratch.path("meta.pkl"), scratch.path("nano.pt"), 1000, 1);
  const ordinal::ModelDraft draft = tiny(small_gpt2());
  write_gpt2_folder(draft, scratch.path("m"));
  std::filesystem::remove(scratch.path("m/model.safetensors"));
  test::write_file(scratch.path("m/pytorch_model.bin"), torch_file(gpt2_tensors(draft), true));
  damage_everywhere(scratch.path("m/pytorch_model.bin"), scratch.path("m"), 3500, 1999);
  write_tf_folder(tf_files(draft), scratch.path("tf"));
  damage_everywhere(scratch.path("tf/model.ckpt.index"), scratch.path("tf"), 1000, 1);
  damage_everywhere(scratch.path("tf/hparams.json"), scratch.path("tf"), 1000, 1);
  damage_everywhere(scratch.path("tf/model.ckpt.data-00000-of-00001"), scratch.path("tf"), 1, 4999);
}
