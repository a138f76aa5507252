// pytorch_test.cpp: files of torch.save: as torch itself wrote them, written here, and such as try to do harm.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convert/stored.h"
#include "convert/torch/torch_file.h"
#include "convert/torch/zip.h"
#include "convert/training_files.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"

using namespace foreign;
using nlohmann::json;
using ordinal::Activation, ordinal::ImportOptions, ordinal::TokenId;
using ordinal::convert::Pickle, ordinal::convert::PickleValue;
using test::error_of, test::mentions, test::Scratch;

namespace {

std::string torch_golden(const std::string& name) { return test::repository("tests/goldens/torch/" + name); }

std::vector<float> last_logits(const std::string& path, const std::vector<TokenId>& ids,
                               const ImportOptions& options = {}) {
  ordinal::Session session(ordinal::Model::bind(ordinal::open_any_model(path, options)));
  const auto logits = session.evaluate(ids);
  return {logits.begin(), logits.end()};
}

double largest_difference(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE_EQ(found.size(), expected.size());
  double most = 0;
  for (size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - expected[i]));
  return most;
}

std::string pickle_error(const std::string& bytes) {
  return error_of([&] { const Pickle pickle(bytes, "the pickle"); });
}

std::string torch_error(const std::string& bytes, const ImportOptions& options = {}) {
  const Scratch scratch;
  test::write_file(scratch.path("m.pt"), bytes);
  return error_of([&] { ordinal::import_checkpoint(scratch.path("m.pt"), options); });
}

// A checkpoint of one tensor that views a storage of 24 numbers.
std::string file_of_view(const TorchView& view) {
  return torch_zip(pickled_dict({{"wte.weight", pickled(view)}}), {{"0", "F32", std::string(96, '\0')}});
}

}  // namespace

TEST_CASE("pytorch: what torch saved of a nanoGPT and of a minGPT gives the logits that torch computes") {
  const json expected = json::parse(test::read_file(torch_golden("expected.json")));
  for (size_t i = 0; i < expected["ids"].size(); ++i) {
    const auto ids = expected["ids"][i].get<std::vector<TokenId>>();
    CHECK_LT(largest_difference(last_logits(torch_golden("nano.pt"), ids), expected["nano.pt"][i]), 2e-5);
    const ImportOptions options{.heads = 2, .activation = Activation::gelu_tanh};
    CHECK_LT(largest_difference(last_logits(torch_golden("min.pt"), ids, options), expected["min.pt"][i]), 2e-5);
    // The other activation is another model.
    CHECK_GT(largest_difference(last_logits(torch_golden("min.pt"), ids, {.heads = 2}), expected["min.pt"][i]), 2e-5);
  }
  CHECK(ordinal::import_checkpoint(torch_golden("nano.pt")).config.tied_output);
  CHECK_FALSE(ordinal::import_checkpoint(torch_golden("min.pt"), {.heads = 2}).config.tied_output);
}

TEST_CASE("pytorch: every number of a state dict is where it was, zip and older") {
  const ordinal::ModelDraft draft = small_gpt2();
  const Scratch scratch;
  for (const bool legacy : {false, true}) {
    test::write_file(scratch.path("m.pt"), torch_file(nanogpt_tensors(draft), legacy));
    const ordinal::ModelDraft found = ordinal::import_checkpoint(scratch.path("m.pt"), {.heads = draft.config.n_heads});
    check_same_tensors(found, draft);
    CHECK_EQ(found.config.head_dim, draft.config.head_dim);
    CHECK_EQ(found.config.activation, Activation::gelu_erf);
  }
}

TEST_CASE("pytorch: the file out of a Hugging Face folder, whose matrices are turned, is not taken for a minGPT") {
  const std::string error = torch_error(torch_file(gpt2_tensors(small_gpt2())), {.heads = 3});
  CHECK_MESSAGE(mentions(error, {"give its folder"}), error);
}

TEST_CASE("pytorch: what a file leaves open is asked for, and what it says is not overruled") {
  const auto error = [](const char* name, const ImportOptions& options) {
    return error_of([&] { ordinal::import_checkpoint(torch_golden(name), options); });
  };
  CHECK(mentions(error("min.pt", {}), {"--heads N"}));
  CHECK(mentions(error("min.pt", {.heads = 3}), {"a divisor of 8"}));
  CHECK(mentions(error("nano.pt", {.heads = 4}), {"leave --heads out"}));
  CHECK(import_noting(torch_golden("nano.pt")).noted("--activation gelu_tanh"));
  Scratch scratch;
  write_gpt2_folder(small_gpt2(), scratch.path("m"));
  CHECK(mentions(error_of([&] { ordinal::import_checkpoint(scratch.path("m"), {.heads = 2}); }), {"--heads"}));
}

TEST_CASE("pytorch: the handed-over checkpoints have their golden logits, best tokens and texts") {
  const std::string folder = test::shared("checkpoints/formats/pt");
  if (folder.empty()) return;
  for (const std::string name :
       {"nanogpt-f32.pt", "nanogpt-f32-legacy.pt", "nanogpt-bf16-masks.pt", "nanogpt-views-p4.pt", "hf-gpt2-f16-bin"}) {
    CAPTURE(name);
    const std::string stem = std::filesystem::path(name).stem().string();
    const json cases = json::parse(test::read_file(folder + "/" + stem + ".json"))["cases"];
    const auto model = ordinal::Model::bind(ordinal::open_any_model(folder + "/" + name));
    for (const json& item : cases) {
      ordinal::Session session(model);
      auto next = item["ids"].get<std::vector<TokenId>>();
      std::vector<TokenId> found;
      for (size_t i = 0; i < item["greedy_ids"].size(); ++i) {
        const auto logits = session.evaluate(next);
        if (i == 0) CHECK_LT(largest_difference({logits.begin(), logits.end()}, item["logits_last"]), 1e-4);
        found.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
        next = {found.back()};
      }
      CHECK_EQ(found, item["greedy_ids"].get<std::vector<TokenId>>());
    }
  }
  const auto tokenizer = ordinal::make_tokenizer(ordinal::import_checkpoint(folder + "/nanogpt-f32.pt").tokenizer);
  CHECK_EQ(tokenizer->decode(tokenizer->encode("To be, or not")), "To be, or not");
  CHECK_EQ(tokenizer->encode("\n a"), std::vector<TokenId>{0, 1, 39});
}

TEST_CASE("pytorch: a checkpoint that only looks like nanoGPT is refused by what is unknown in it") {
  const std::string path = test::shared("checkpoints/formats/pt-real/ckpt.pt");
  if (path.empty()) return;
  CHECK(mentions(error_of([&] { ordinal::import_checkpoint(path); }), {"seq_length", "num_heads"}));
}

TEST_CASE("pytorch: pytorch_model.bin, whole and in shards, zip and older, holds what model.safetensors would") {
  const ordinal::ModelDraft draft = small_gpt2();
  for (const bool legacy : {false, true})
    for (const ordinal::Dtype dtype : {ordinal::Dtype::f32, ordinal::Dtype::f16, ordinal::Dtype::bf16}) {
      const std::vector<SafeTensor> tensors = gpt2_tensors(draft, {"transformer.", dtype});
      Scratch scratch;
      test::write_file(scratch.path("config.json"), gpt2_config(draft));
      test::write_file(scratch.path("pytorch_model.bin"), torch_file(tensors, legacy));
      check_same_tensors(import_noting(scratch.folder().string()).draft, draft);

      std::filesystem::remove(scratch.path("pytorch_model.bin"));
      const auto half = tensors.begin() + static_cast<int64_t>(tensors.size() / 2);
      const std::vector<SafeTensor> shards[] = {{tensors.begin(), half}, {half, tensors.end()}};
      json map;
      for (size_t i = 0; i < 2; ++i) {
        const std::string name = "pytorch_model-0000" + std::to_string(i + 1) + "-of-00002.bin";
        test::write_file(scratch.path(name), torch_file(shards[i], legacy));
        for (const SafeTensor& tensor : shards[i]) map[tensor.name] = name;
      }
      test::write_file(scratch.path("pytorch_model.bin.index.json"), json({{"weight_map", map}}).dump());
      check_same_tensors(import_noting(scratch.folder().string()).draft, draft);
    }
}

TEST_CASE("pytorch: meta.pkl gives the characters of a checkpoint, beside it, in data/DATASET, or by --vocab") {
  const auto tokenizer = [](const Imported& imported) { return ordinal::make_tokenizer(imported.draft.tokenizer); };
  const Imported beside = import_noting(torch_golden("nano.pt"));
  CHECK_EQ(beside.draft.tokenizer.kind, "chars");
  CHECK_EQ(tokenizer(beside)->encode("a\xc3\xa4\xe4\xb8\xad\n"), std::vector<TokenId>{2, 7, 9, 0});
  Scratch scratch;
  std::filesystem::create_directories(scratch.path("out"));
  test::write_file(scratch.path("out/ckpt.pt"), test::read_file(torch_golden("nano.pt")));
  CHECK_EQ(import_noting(scratch.path("out/ckpt.pt")).draft.tokenizer.kind, "none");
  CHECK_EQ(import_noting(scratch.path("out/ckpt.pt"), torch_golden("meta.pkl")).draft.tokenizer.kind, "chars");
  CHECK_EQ(import_noting(scratch.path("out/ckpt.pt"), torch_golden("")).draft.tokenizer.kind, "chars");
  std::filesystem::create_directories(scratch.path("data/letters"));  // the dataset that nano.pt names
  const auto put = [&](const std::string& itos) {
    test::write_file(scratch.path("data/letters/meta.pkl"), pickle_of(pickled_dict({{"itos", itos}})));
  };
  put("}" + pickled(3) + pickled("z") + "s");
  CHECK_EQ(import_noting(scratch.path("out/ckpt.pt")).draft.tokenizer.pieces[3], "z");
  const auto error = [&] { return error_of([&] { ordinal::import_checkpoint(scratch.path("out/ckpt.pt")); }); };
  put("}" + pickled(11) + pickled("z") + "s");
  CHECK(mentions(error(), {"11"}));
  put("}" + pickled(3) + pickled("zz") + "s");
  CHECK(mentions(error(), {"character"}));
  put("}(" + pickled(3) + pickled("z") + pickled(3) + pickled("y") + "u");
  CHECK(mentions(error(), {"twice"}));
  put("]");
  CHECK(mentions(error(), {"itos"}));
}

TEST_CASE("pickle: what could do harm, or is not needed, is refused by name and place") {
  const std::string start = "\x80\x02";
  const std::vector<std::pair<std::string, std::vector<std::string>>> refused = {
      {"cposix\nsystem\n" + pickled("touch PWNED") + "\x85R.", {"posix.system", "byte 2"}},
      {"cbuiltins\neval\n.", {"builtins.eval"}},
      {"cos\nsystem\n.", {"os.system"}},
      {"ctorch\nload\n.", {"torch.load"}},
      {pickled("nt") + pickled("system") + "\x93.", {"nt.system"}},
      {"(iposix\nsystem\n.", {"INST"}},
      {"I7\n.", {"INT"}},
      {"\x82\x01.", {"EXT1"}},
      {"NP0\n.", {"PERSID"}},
      {"\xfe", {"byte 254"}},
      {"ccollections\nOrderedDict\nNR.", {"calls"}},
      {"ccollections\nOrderedDict\n" + pickled(1) + "\x85R.", {"OrderedDict"}},
      {"R.", {"stack"}},
      {"(0.", {"stack"}},
      {"t.", {"mark"}},
      {"h\x07.", {"never kept"}},
      {"Nr" + le32(0x7fffffff) + ".", {"place"}},
      {"NN.", {"more than one value"}},
      {"]" + pickled(1) + pickled(2) + "s.", {"fills"}},
      {"X" + le32(0x7fffffff) + "ab.", {"ends before"}},
      {"\x8d" + le64(~uint64_t{0}) + "ab.", {"ends before"}},
      {"\x95" + le64(~uint64_t{0}) + "N.", {"cut short"}},
      {pickled("storage") + "\x85Q.", {"storage"}},
      {"N", {"ends before"}},
      {"", {"ends before"}},
  };
  for (const auto& [bytes, words] : refused) {
    const std::string error = pickle_error(start + bytes);
    CHECK_MESSAGE(mentions(error, words), error);
  }
  CHECK(mentions(pickle_error("\x80\x06N."), {"protocol"}));
  // Harmless company becomes a value that is no weight.
  const std::string scalar = "cnumpy.core.multiarray\nscalar\n" + pickled("x") + "\x85R";
  const std::string bytes = start + "}(" + pickled("loss") + scalar + pickled("n") + pickled(5) + "u.";
  const Pickle pickle(bytes, "the pickle");
  CHECK_EQ(pickle.root().find("loss")->kind, PickleValue::Kind::opaque);
  CHECK_EQ(pickle.root().find("n")->integer, 5);
}

TEST_CASE("pickle: numbers of every width are read with their sign") {
  const std::vector<std::pair<std::string, int64_t>> numbers = {
      {"K\xff", 255},
      {std::string("M\xff\xff", 3), 65535},
      {pickled(-7), -7},
      {std::string("\x8a\x00", 2), 0},
      {"\x8a\x01\xff", -1},
      {std::string("\x8a\x02\xff\x00", 4), 255},
      {"\x8a\x08" + le64(uint64_t{1} << 62), int64_t{1} << 62},
      {"\x8a\x09" + le64(512) + std::string(1, '\0'), 512}};
  for (const auto& [bytes, value] : numbers) {
    const std::string whole = "\x80\x04" + bytes + ".";
    CHECK_EQ(Pickle(whole, "the pickle").root().integer, value);
  }
}

TEST_CASE("pickle: neither depth nor repetition takes memory beyond the file's size") {
  const std::string nested(60000, ']');
  CHECK(mentions(pickle_error("\x80\x02" + nested + std::string(59999, 'a') + "."), {"deep"}));
  CHECK(mentions(pickle_error("\x80\x02N" + std::string(60000, '\x85') + "."), {"deep"}));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  // A tuple of 100,000 values, made a size 100,000 times.
  std::string bytes = "\x80\x02(" + std::string(100000, 'N') +
                      "tq\1"
                      "0ctorch\nSize\nq\2"
                      "0]";
  for (int i = 0; i < 100000; ++i) bytes += "h\2h\1\x85Ra";
  CHECK_EQ(Pickle(bytes + ".", "the pickle").root().items.size(), 100000);
  getrusage(RUSAGE_SELF, &after);
  CHECK_LT((after.ru_maxrss - before.ru_maxrss) / 1024, 64);  // MB
}

TEST_CASE("pytorch: views reach no number outside of their storage") {
  const TorchView good{"F32", "0", 24, 0, {4, 6}, {6, 1}};
  CHECK(mentions(torch_error(file_of_view(good)), {"c_attn.weight"}));  // as far as the next tensor
  std::vector<std::pair<TorchView, std::string>> bad(8, {good, ""});
  bad[0].first.offset = 1, bad[0].second = "outside";
  bad[1].first.sizes = {5, 6}, bad[1].second = "outside";
  bad[2].first.strides = {6, -1}, bad[2].second = "strides";
  bad[3].first.strides = {6}, bad[3].second = "view";
  bad[4].first.sizes = {0, 6}, bad[4].second = "empty";
  bad[5].first.key = "1", bad[5].second = "not there";
  bad[6].first.count = 25, bad[6].second = "another size";
  bad[7].first.offset = -1, bad[7].second = "view";
  for (const auto& [view, word] : bad) {
    const std::string error = torch_error(file_of_view(view));
    CHECK_MESSAGE(mentions(error, {word}), error);
  }
  // Steps of 0: a few numbers stand for a huge tensor, one or many of them.
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1 << 20, 1 << 20}, {INT32_MAX, INT32_MAX, INT32_MAX}}) {
    const TorchView wide{"F32", "0", 24, 0, sizes, std::vector<int64_t>(sizes.size(), 0)};
    CHECK(mentions(torch_error(file_of_view(wide)), {"again and again"}));
  }
}

TEST_CASE("pytorch: tensors with steps are read number by number where they lie") {
  std::vector<float> numbers(24);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const Scratch scratch;
  const std::vector<TorchView> views = {{"F32", "0", 24, 0, {6, 4}, {1, 6}},   // transposed
                                        {"F32", "0", 24, 1, {4, 3}, {6, 2}},   // every other column
                                        {"F32", "0", 24, 2, {4, 3}, {6, 1}},   // some columns
                                        {"F32", "0", 24, 5, {3, 2}, {0, 1}}};  // one row again and again
  std::vector<std::pair<std::string, std::string>> members;
  for (const TorchView& view : views) members.emplace_back(std::to_string(members.size()), pickled(view));
  test::write_file(scratch.path("m.pt"), torch_zip(pickled_dict(members), {{"0", "F32", bytes_of(numbers)}}));
  const ordinal::convert::TorchFile file(ordinal::MappedFile::open(scratch.path("m.pt")));
  const auto tensors = file.tensors(file.root());
  for (size_t i = 0; i < views.size(); ++i) {
    const TorchView& view = views[i];
    std::vector<float> expected, found(static_cast<size_t>(view.sizes[0] * view.sizes[1]));
    for (int64_t row = 0; row < view.sizes[0]; ++row)
      for (int64_t column = 0; column < view.sizes[1]; ++column)
        expected.push_back(static_cast<float>(view.offset + row * view.strides[0] + column * view.strides[1]));
    ordinal::convert::Stored at{tensors[i].file, tensors[i].offset};
    at.sizes = tensors[i].shape, at.steps = tensors[i].steps;
    const auto source = ordinal::convert::source_of("t", view.sizes, {at}, {});
    source.read_rows(0, view.sizes[0], found.data());
    CHECK_EQ(found, expected);
    source.read_rows(1, 1, found.data());  // from the middle
    CHECK(std::equal(found.begin(), found.begin() + view.sizes[1], expected.begin() + view.sizes[1]));
  }
}

TEST_CASE("zip: archives of 64 bits are read; compressed, overlapping and lying ones are refused") {
  const std::vector<ZipFile> files = {{"m/data.pkl", "abc"}, {"m/data/0", std::string(300, 'x')}, {"m/version", "3\n"}};
  const Scratch scratch;
  const auto read = [&](const std::string& bytes) {
    test::write_file(scratch.path("m.zip"), bytes);
    return ordinal::convert::read_zip(*ordinal::MappedFile::open(scratch.path("m.zip"))).size();
  };
  for (const bool in_64_bits : {false, true}) {
    const std::string good = zip_of(files, {in_64_bits});
    CHECK_EQ(read(good), 3);
    for (size_t size = 0; size < good.size(); ++size) {
      const std::string error = error_of([&] { read(good.substr(0, size)); });
      CHECK_FALSE(error.empty());
    }
  }
  CHECK(mentions(error_of([&] { read(zip_of(files, {.method = 8})); }), {"method 8"}));
  CHECK(mentions(error_of([&] { read(zip_of({files[0], files[0]})); }), {"twice"}));
  std::string overlapping = zip_of(files);
  const size_t directory = overlapping.find("PK\1\2");
  overlapping.replace(overlapping.find("PK\1\2", directory + 1) + 42, 4, le32(0));  // at the place of the first
  CHECK(mentions(error_of([&] { read(overlapping); }), {"the same of"}));
  std::string longer = zip_of(files);
  longer.replace(directory + 20, 4, le32(100)).replace(directory + 24, 4, le32(100));
  CHECK(mentions(error_of([&] { read(longer); }), {"reaches into"}));
  CHECK(mentions(torch_error(zip_of({{"a.npy", "x"}})), {"not one of torch.save"}));
  CHECK(mentions(torch_error(zip_of({files[0], {"m/constants.pkl", "x"}})), {"TorchScript"}));
  CHECK(mentions(torch_error(zip_of({files[0], {"m/byteorder", "big"}})), {"byte order"}));
}

TEST_CASE("pytorch: every hostile file gives one error, soon, in little memory, and runs nothing") {
  const std::string folder = test::shared("checkpoints/formats/hostile-pt");
  if (folder.empty()) return;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    CHECK_FALSE(error_of([&] { ordinal::open_any_model(entry.path().string()); }).empty());
    ++files;
  }
  CHECK_GE(files, 6);
  CHECK_FALSE(std::filesystem::exists("PWNED"));
  getrusage(RUSAGE_SELF, &after);
  CHECK_LT((after.ru_maxrss - before.ru_maxrss) / 1024, 64);
  CHECK_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}
