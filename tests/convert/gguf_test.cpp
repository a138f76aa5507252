// gguf_test.cpp: GGUF files of the official writers with logits that others computed, and files bent to do harm.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "convert/foreign_files.h"
#include "convert/gguf/gguf_kinds.h"
#include "format/model_draft.h"
#include "kernels/kernels.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "support.h"
#include "text/sha256.h"

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

double largest_logit(const json& cases) {
  double largest = 1;
  for (const json& item : cases)
    for (const json& logit : item["logits_last"]) largest = std::max(largest, std::abs(logit.get<double>()));
  return largest;
}

// Logits of a golden case.
void check_case(const std::shared_ptr<const ordinal::Model>& model, const json& item, double tolerance) {
  const auto ids = item["ids"].get<std::vector<TokenId>>();
  CAPTURE(item["ids"].dump());
  ordinal::Session session(model);
  std::vector<std::vector<float>> rows;
  session.evaluate_all(ids, [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  const auto expected = item["logits_last"].get<std::vector<double>>();
  REQUIRE(rows.back().size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(rows.back()[i] - expected[i]));
  CHECK(worst <= tolerance);
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

// Bits of all logits, whatever the chunks and the instruction set.
void check_bits(const std::shared_ptr<const ordinal::Model>& model, const json& item) {
  const auto ids = item["ids"].get<std::vector<TokenId>>();
  const auto logits = [&](int64_t chunk) {
    ordinal::SessionOptions options;
    options.chunk = chunk;
    ordinal::Session session(model, options);
    std::vector<float> all;
    session.evaluate_all(ids,
                         [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    return all;
  };
  const std::vector<float> expected = logits(256);
  const ordinal::Kernels& in_use = ordinal::kernels();
  for (const ordinal::Kernels* table : ordinal::available_kernels()) {
    ordinal::use_kernels_for_test(*table);
    for (const int64_t chunk : {1, 7}) CHECK(test::same_bits(logits(chunk), expected));
  }
  ordinal::use_kernels_for_test(in_use);
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

TEST_CASE("gguf: a file with a tensor of each kind has the weights that the format's own package makes of it") {
  const std::string path = test::repository("tests/goldens/gguf/kinds.gguf");
  const json golden = json::parse(test::read_file(test::repository("tests/goldens/gguf/kinds.json")));
  std::vector<std::string> notes;
  const ordinal::ModelDraft draft = ordinal::import_checkpoint(
      path, {.vocab_dir = "", .note = [&](const std::string& note) { notes.push_back(note); }});
  const auto hash_of = [](const std::vector<float>& numbers) {
    return test::sha256_hex({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  };
  const ordinal::ModelDraft stored = ordinal::draft_of(ordinal::write_model_in_memory(draft, "kinds"));
  for (const auto& [name, facts] : golden.items()) {
    CAPTURE(name);
    const ordinal::TensorSource& tensor = *foreign::find_tensor(draft, name);
    CHECK(tensor.shape == facts["shape"].get<std::vector<int64_t>>());
    const std::string hash = facts["sha256"];
    CHECK(hash_of(foreign::numbers_of(draft, name)) == hash);
    // In the model file they are the same, but for the two kinds that go to f16.
    const bool exact = facts["kind"] != "Q2_K" && facts["kind"] != "Q5_1";
    CHECK((hash_of(foreign::numbers_of(stored, name)) == hash) == exact);
  }
  const auto told = [&](const std::string& words) {
    return std::ranges::any_of(notes, [&](const std::string& note) { return test::mentions(note, {words}); });
  };
  CHECK(told("1 tensor of kind Q2_K"));
  CHECK(told("1 tensor of kind Q5_1"));
  CHECK(!told("Q4_K"));
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
      check_case(stored, item, 0.035 * largest_logit(golden["cases"]));
      check_bits(stored, item);
    }
    const json tokens = golden.value("tokens", json::array());
    if (tokens.empty()) continue;
    // Ids of texts, nothing added.
    ordinal::TokenizerData data = stored->file().tokenizer();
    data.adds_bos = data.adds_eos = false;
    const auto tokenizer = ordinal::make_tokenizer(std::move(data));
    for (const json& pair : tokens) {
      CAPTURE(pair.dump());
      CHECK(tokenizer->encode(pair[0].get<std::string>()) == pair[1].get<std::vector<TokenId>>());
    }
  }
}

TEST_CASE("gguf: random models of other architectures have transformers' logits") {
  const std::string folder = test::repository("tests/goldens/gguf/");
  const json goldens = json::parse(test::read_file(folder + "logits.json"));
  for (const auto& [name, golden] : goldens.items()) {
    CAPTURE(name);
    check_case(ordinal::Model::bind(ordinal::open_any_model(folder + name + ".gguf")), golden, 1e-5);
  }
}

TEST_CASE("gguf: case sec-01, the sound file has the logits of its case") {
  const std::string file = test::shared("cases/cases.json");
  if (file.empty()) return;
  const json cases = json::parse(test::read_file(file))["cases"];
  for (const json& row : cases)
    for (const json& item : row["items"]) {
      if (row["id"] != "sec-01" || item["name"] != "control") continue;
      const std::string path = test::shared("cases/" + item["input"]["file"].get<std::string>());
      check_case(ordinal::Model::bind(ordinal::open_any_model(path)), item["expect"]["one_of"][0], 1e-4);
    }
}

TEST_CASE("gguf: each file bent to do harm gives one clear error") {
  const std::string folder = test::shared("checkpoints/formats");
  if (folder.empty()) return;
  const json items = json::parse(test::read_file(folder + "/hostile.json"));
  for (const json& item : items) {
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
  }
}

TEST_CASE("gguf: every number of a file comes back where it was, in one file and in three") {
  const test::Scratch scratch;
  const ordinal::ModelDraft draft = foreign::small_llama();
  const auto check = [&](const std::string& path) {
    const ordinal::ModelDraft found = ordinal::import_checkpoint(path);
    foreign::check_same_tensors(found, draft);
    CHECK(found.config.n_kv_heads == draft.config.n_kv_heads);
    CHECK(found.config.head_dim == draft.config.head_dim);
    CHECK(found.config.norm_epsilon == draft.config.norm_epsilon);
    CHECK(found.config.attention_scale == draft.config.attention_scale);
    CHECK(found.config.max_seq_len == draft.config.max_seq_len);
    CHECK(found.notes.position == "rope:theta=10000,pairing=interleaved");
  };
  for (const uint32_t version : {2U, 3U}) {
    test::write_file(scratch.path("one.gguf"), foreign::gguf_file(draft, {.version = version}));
    check(scratch.path("one.gguf"));
  }
  const size_t n = draft.tensors.size(), first[] = {0, 3, n / 2, n};
  for (size_t part = 0; part < 3; ++part)
    test::write_file(
        scratch.path("m-0000" + std::to_string(part + 1) + "-of-00003.gguf"),
        foreign::gguf_file(draft, {.more_keys = {foreign::gguf_key("split.no", static_cast<int64_t>(part)),
                                                 foreign::gguf_key("split.count", 3),
                                                 foreign::gguf_key("split.tensors.count", static_cast<int64_t>(n))},
                                   .first_tensor = first[part],
                                   .n_tensors = first[part + 1] - first[part]}));
  check(scratch.path("m-00001-of-00003.gguf"));
  check(scratch.path("m-00003-of-00003.gguf"));
  fs::rename(scratch.path("m-00002-of-00003.gguf"), scratch.path("elsewhere.gguf"));
  const auto error = [&](const std::string& name) {
    return test::error_of([&] { ordinal::import_checkpoint(scratch.path(name)); });
  };
  CHECK(test::mentions(error("m-00001-of-00003.gguf"), {"m-00002-of-00003.gguf"}));
  CHECK(test::mentions(error("elsewhere.gguf"), {"model-00001-of-00003.gguf"}));
}

TEST_CASE("gguf: what is not understood is refused by name") {
  const test::Scratch scratch;
  const ordinal::ModelDraft draft = foreign::small_llama();
  const auto error = [&](const std::vector<std::string>& keys, const std::string& from = "",
                         const std::string& to = "") {
    std::string file = foreign::gguf_file(draft, {.more_keys = keys});
    if (!from.empty()) file.replace(file.find(from), from.size(), to);
    test::write_file(scratch.path("m.gguf"), file);
    return test::error_of([&] { ordinal::import_checkpoint(scratch.path("m.gguf")); });
  };
  using foreign::gguf_key, foreign::gguf_text_key;
  const auto named = [](const std::string& text, const std::string& word) {
    CHECK_MESSAGE(test::mentions(text, {word}), text);
  };
  named(error({gguf_key("llama.expert_count", 8)}), "8 experts");
  named(error({gguf_key("llama.surprise", 1)}), "llama.surprise");
  named(error({gguf_text_key("general.type", "adapter")}), "adapter");
  named(error({gguf_text_key("llama.rope.scaling.type", "magic")}), "magic");
  named(error({gguf_key("general.alignment", 48)}), "power of two");
  named(error({gguf_key("tokenizer.ggml.eos_token_id", 263)}), "eos_token_id");
  named(error({}, "llama.block_count", "llama.block_bount"), "block_count");
  named(error({}, foreign::le64(5) + "llama", foreign::le64(5) + "whale"), "whale");
  named(error({}, "blk.1.ffn_norm.weight", "blk.1.ffn_dorm.weight"), "ffn_norm");
  named(error({gguf_text_key("llama.context_length", "x")}), "twice");
  named(error({}, foreign::le64(draft.tensors.size()), foreign::le64(0)), "token_embd.weight");
  named(error({}, "GGUF\3", "GGUF\1"), "version 1");
}

TEST_CASE("gguf: every prefix and every flipped byte of a small file is an error or a model") {
  ordinal::ModelDraft draft = foreign::small_llama();
  draft.config.n_layers = 1;
  std::erase_if(draft.tensors,
                [](const auto& tensor) { return tensor.name.starts_with("blk.") && tensor.name[4] != '0'; });
  const std::string good = foreign::gguf_file(draft);
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
  constexpr size_t kHeader = 1500;
  for (size_t length = 0; length < good.size(); length += length < kHeader ? 1 : 997)
    CHECK(!open(good.substr(0, length)));
  test::Random random(41);
  for (size_t at = 0; at < kHeader; ++at) {
    std::string bent = good;
    bent[at] = static_cast<char>(bent[at] ^ static_cast<char>(1 + random.below(255)));
    open(bent);
  }
}
