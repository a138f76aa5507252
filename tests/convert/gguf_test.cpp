// gguf_test.cpp: GGUF files of the official writers with logits that others computed, and files bent to do harm.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "convert/foreign_files.h"
#include "convert/gguf_kinds.h"
#include "ordinal/session.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ordinal::Dtype;
using ordinal::TokenId;

std::string from_base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(alphabet.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held);
  }
  return bytes;
}

std::vector<std::string> files_in(const std::string& folder, const std::string& extension) {
  std::vector<std::string> files;
  if (folder.empty()) return files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TokenId best_of_row(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Logits of a golden case by a model whose weights are exact in f32.
void check_case(const std::shared_ptr<const ordinal::Model>& model, const json& item, double tolerance) {
  const auto ids = item["ids"].get<std::vector<TokenId>>();
  CAPTURE(item["ids"].dump());
  ordinal::Session session(model);
  std::vector<std::vector<float>> rows;
  session.evaluate_all(ids, [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  const auto expected = item["logits_last"].get<std::vector<double>>();
  REQUIRE(rows.back().size() == expected.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(rows.back()[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  CHECK(worst <= tolerance * std::max(1.0, largest));
}

void check_choices(const std::shared_ptr<const ordinal::Model>& model, const json& item) {
  auto ids = item["ids"].get<std::vector<TokenId>>();
  ordinal::Session session(model);
  std::vector<TokenId> best, greedy;
  session.evaluate_all(ids, [&](int64_t, std::span<const float> row) { best.push_back(best_of_row(row)); });
  CHECK(best == item["argmax_each"].get<std::vector<TokenId>>());
  const auto expected = item["greedy_ids"].get<std::vector<TokenId>>();
  for (TokenId next = best.back(); greedy.size() < expected.size();) {
    greedy.push_back(next);
    if (greedy.size() < expected.size()) next = best_of_row(session.evaluate(std::vector{next}));
  }
  CHECK(greedy == expected);
}

// The tensors of the draft against what the file's own writer says of them: sums, and the first numbers.
void check_tensors(const ordinal::ModelDraft& draft, const json& tensors) {
  for (const auto& [name, facts] : tensors.items()) {
    const ordinal::TensorSource* tensor = foreign::find_tensor(draft, name);
    if (tensor == nullptr || tensor->shape.size() != facts["shape"].size() ||
        tensor->shape[0] != facts["shape"][0].get<int64_t>())
      continue;  // q, k and v of one tensor, or repeated
    CAPTURE(name);
    const std::vector<float> numbers = foreign::numbers_of(draft, name);
    double sum = 0, magnitudes = 0;
    for (const float x : numbers) sum += x, magnitudes += std::abs(x);
    CHECK(sum == doctest::Approx(facts["sum"].get<double>()).epsilon(1e-6));
    CHECK(magnitudes == doctest::Approx(facts["sum_abs"].get<double>()).epsilon(1e-6));
    for (size_t i = 0; i < facts["first"].size(); ++i)
      CHECK(numbers[i] == doctest::Approx(facts["first"][i].get<double>()).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("gguf: blocks of every kind are the weights that ggml makes of them, to the bit, in panels too") {
  for (const std::string& path : files_in(test::shared("checkpoints/formats/blocks"), ".json")) {
    const json golden = json::parse(test::read_file(path));
    CAPTURE(path);
    const auto& kind = ordinal::convert::gguf_kind(golden["ggml_type"].get<uint32_t>(), "a tensor");
    CHECK(kind.name == golden["kind"].get<std::string>());
    REQUIRE(kind.bytes == golden["block_bytes"].get<int64_t>());
    REQUIRE(kind.items == golden["block_weights"].get<int64_t>());
    const std::string raw = from_base64(golden["raw_base64"]), bytes = from_base64(golden["f32_base64"]);
    std::vector<float> expected(bytes.size() / 4), found(bytes.size() / 4);
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    const auto* blocks = reinterpret_cast<const std::byte*>(raw.data());
    const int64_t count = golden["blocks"].get<int64_t>();
    for (int64_t b = 0; b < count; ++b)
      ordinal::block_weights(kind.take_apart(blocks + b * kind.bytes), kind.items, found.data() + b * kind.items);
    CHECK(test::same_bits(found, expected));

    const ordinal::DtypeInfo& info = ordinal::dtype_info(kind.dtype);
    if (info.block_items == 1) continue;
    REQUIRE(info.block_items == kind.items);
    std::vector<std::byte> row(static_cast<size_t>(count * info.block_bytes)), panel(row.size() * 32);
    for (int64_t b = 0; b < count; ++b) {
      ordinal::write_block(kind.dtype, kind.take_apart(blocks + b * kind.bytes), row.data() + b * info.block_bytes);
      if (kind.is_same_bytes())
        CHECK(std::memcmp(row.data() + b * info.block_bytes, blocks + b * kind.bytes,
                          static_cast<size_t>(kind.bytes)) == 0);
    }
    ordinal::join_block_panel(kind.dtype, row.data(), 1, count * kind.items, panel.data());
    ordinal::unpack_block_panel(kind.dtype, panel.data(), count * kind.items, 0, 1, found.data());
    CHECK(test::same_bits(found, expected));
    ordinal::unpack_block_panel(kind.dtype, panel.data(), count * kind.items, 31, 1, found.data());
    CHECK(std::ranges::all_of(found, [](float x) { return x == 0; }));
  }
}

TEST_CASE("gguf: tensors, logits and greedy ids of official writers' files equal the float64 goldens") {
  for (const std::string& path : files_in(test::shared("checkpoints/formats/gguf"), ".gguf")) {
    CAPTURE(path);
    const json golden = json::parse(test::read_file(fs::path(path).replace_extension(".json").string()));
    const ordinal::ModelDraft draft = ordinal::import_checkpoint(path);
    check_tensors(draft, golden["tensors"]);
    // Weights are exact in f32, but for the kinds that the draft reads no better than f16.
    const auto exact =
        ordinal::Model::bind(ordinal::write_model_in_memory(draft, path, {.keep_dtype = false, .dtype = Dtype::f32}));
    // As it opens, activations are rounded to 8 bits where weights are blocks.
    const auto stored = ordinal::Model::bind(ordinal::open_any_model(path));
    for (const json& item : golden["cases"]) {
      check_case(exact, item, 1e-4);
      check_choices(exact, item);
      check_case(stored, item, 0.03);
    }
  }
}

TEST_CASE("gguf: case sec-01, the sound file has the logits of its case") {
  const std::string file = test::shared("cases/cases.json");
  if (file.empty()) return;
  for (const json& row : json::parse(test::read_file(file))["cases"])
    for (const json& item : row["items"]) {
      if (row["id"] != "sec-01" || item["name"] != "control") continue;
      const std::string path = test::shared("cases/" + item["input"]["file"].get<std::string>());
      check_case(ordinal::Model::bind(ordinal::open_any_model(path)), item["expect"]["one_of"][0], 1e-4);
    }
}

TEST_CASE("gguf: each file bent to do harm gives one clear error") {
  const std::string folder = test::shared("checkpoints/formats");
  if (folder.empty()) return;
  for (const json& item : json::parse(test::read_file(folder + "/hostile.json"))) {
    const std::string file = item["file"];
    if (!file.starts_with("hostile-gguf/")) continue;
    CAPTURE(file);
    const std::string path = folder + "/" + file;
    if (item["expect"] == "opens") {
      CHECK_NOTHROW(ordinal::Model::bind(ordinal::open_any_model(path)));
      continue;
    }
    const std::string text = test::error_of([&] { ordinal::Model::bind(ordinal::open_any_model(path)); });
    CHECK(test::mentions(text, {"expected:"}));
    CHECK(text.size() < 1500);
    MESSAGE(text);
  }
}

TEST_CASE("gguf: every prefix and every flipped byte of a small file is an error or a model") {
  const std::string folder = test::shared("checkpoints/formats/hostile-gguf");
  if (folder.empty()) return;
  const std::string good = test::read_file(folder + "/00-good.gguf");
  const test::Scratch scratch;
  const std::string path = scratch.path("bent.gguf");
  const auto open = [&](const std::string& bytes) {
    test::write_file(path, bytes);
    try {
      ordinal::Model::bind(ordinal::open_any_model(path));
      return true;
    } catch (const ordinal::Error&) {
      return false;
    }
  };
  REQUIRE(open(good));
  for (size_t length = 0; length < good.size(); length += length < 1500 ? 1 : 97) CHECK(!open(good.substr(0, length)));
  test::Random random(41);
  for (size_t at = 0; at < std::min<size_t>(good.size(), 1500); ++at) {
    std::string bent = good;
    bent[at] = static_cast<char>(bent[at] ^ static_cast<char>(1 + random.below(255)));
    open(bent);
  }
}
