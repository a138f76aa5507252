// tf_gpt2_test.cpp: OpenAI's folders: as TensorFlow itself wrote one, written here, and damaged.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convert/tensorflow/crc32c.h"
#include "convert/training_files.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"

using namespace foreign;
using nlohmann::json;
using ordinal::TokenId;
using test::error_of, test::mentions, test::Scratch;

namespace {

std::string tf_error(const TfFiles& files) {
  const Scratch scratch;
  write_tf_folder(files, scratch.path("m"));
  return error_of([&] { ordinal::import_checkpoint(scratch.path("m")); });
}

}  // namespace

TEST_CASE("crc32c: RFC 3720's examples, and any length equals the sum bit by bit") {
  using ordinal::convert::crc32c;
  CHECK_EQ(crc32c(std::string(32, '\0')), 0x8a9136aa);
  CHECK_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  CHECK_EQ(crc32c(rising), 0x46dd794e);
  CHECK_EQ(crc32c("123456789"), 0xe3069283);
  CHECK_EQ(crc32c(""), 0);
  for (size_t length = 0; length < rising.size(); ++length) {
    uint32_t sum = 0xffffffff;
    for (const char byte : rising.substr(0, length)) {
      sum ^= static_cast<uint8_t>(byte);
      for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0x82f63b78 : 0);
    }
    CHECK_EQ(crc32c(rising.substr(0, length)), ~sum);
  }
}

TEST_CASE("tf gpt2: every number of a folder is where it was") {
  const ordinal::ModelDraft draft = small_gpt2();
  const Scratch scratch;
  write_tf_folder(tf_files(draft), scratch.path("m"));
  const Imported imported = import_noting(scratch.path("m"));
  check_same_tensors(imported.draft, draft);
  CHECK_EQ(imported.draft.config.activation, ordinal::Activation::gelu_tanh);
  CHECK_EQ(imported.draft.config.n_heads, draft.config.n_heads);
  CHECK(imported.draft.config.tied_output);
  // Without the file `checkpoint` too, where there is one index; a path from another machine means its file here.
  std::filesystem::remove(scratch.path("m/checkpoint"));
  check_same_tensors(import_noting(scratch.path("m")).draft, draft);
  test::write_file(scratch.path("m/checkpoint"), "model_checkpoint_path: \"/home/somebody/run/model.ckpt\"\n");
  check_same_tensors(import_noting(scratch.path("m")).draft, draft);
}

TEST_CASE("tf gpt2: the handed-over folder has its golden logits, best tokens, texts and tokenizer") {
  const std::string folder = test::shared("checkpoints/formats/tf/tf-gpt2");
  if (folder.empty()) return;
  const auto model = ordinal::Model::bind(ordinal::open_any_model(folder));
  const json goldens = json::parse(test::read_file(folder + "/golden.json"));
  for (const json& item : goldens["cases"]) {
    ordinal::Session session(model);
    auto next = item["ids"].get<std::vector<TokenId>>();
    std::vector<TokenId> found;
    for (size_t i = 0; i < item["greedy_ids"].size(); ++i) {
      const auto logits = session.evaluate(next);
      for (size_t id = 0; i == 0 && id < logits.size(); ++id)
        CHECK_LT(std::abs(logits[id] - item["logits_last"][id].get<double>()), 1e-4);
      found.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
      next = {found.back()};
    }
    CHECK_EQ(found, item["greedy_ids"].get<std::vector<TokenId>>());
  }
  CHECK_EQ(model->config().bos_id, 299);
  const auto tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  CHECK_EQ(tokenizer->decode(tokenizer->encode("the cat and you")), "the cat and you");
}

TEST_CASE("tf gpt2: what damage, another layout or other sizes are is said") {
  const TfFiles good = tf_files(small_gpt2());
  TfFiles files = good;
  files.data[files.data.size() / 2] ^= 1;
  CHECK(mentions(tf_error(files), {"are not those written"}));
  files = good;
  files.data.pop_back();
  CHECK(mentions(tf_error(files), {"truncated"}));
  files = good;
  files.index.pop_back();
  CHECK(mentions(tf_error(files), {"truncated"}));
  files = good;
  files.index[10] ^= 1;
  CHECK(mentions(tf_error(files), {"checksum"}));
  files = good;
  files.sizes.replace(files.sizes.find("n_layer\": ") + 10, 1, "9");
  CHECK(mentions(tf_error(files), {"lacks the tensor"}));
  files.sizes = R"({"n_vocab": 9, "n_experts": 2})";
  CHECK(mentions(tf_error(files), {"n_experts"}));

  // Entries of one's own: field 1 shards, field 2 byte order; of a variable field 1 kind, 5 bytes, 7 slices.
  const std::string header("\x08\x01", 2);
  const auto index_error = [&](const std::vector<std::pair<std::string, std::string>>& entries) {
    TfFiles bent = good;
    bent.index = tf_index(entries);
    return tf_error(bent);
  };
  CHECK(mentions(index_error({{"", header + "\x10\x01"}}), {"big-endian"}));
  CHECK(mentions(index_error({{"", std::string("\x08\x00", 2)}}), {"number of files"}));
  CHECK(mentions(index_error({{"", header}, {"a", "\x08\x01\x3a\x00"}, {"b", ""}}), {"lacks", "damaged"}));
  CHECK(mentions(index_error({{"", header}, {"a", std::string("\x08\x01\x3a\x00", 4)}}), {"partitioned"}));
  CHECK(mentions(index_error({{"", header}, {"a", "\x18\x01"}}), {"in a file that there is not"}));
  CHECK(mentions(index_error({{"", header}, {"a", "\x28\x7f"}, {"a", "\x28\x7f"}}), {"in order"}));
  CHECK(mentions(index_error({{"", header}, {"a", "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}}), {"truncated"}));
  CHECK(mentions(index_error({{"", header}, {"a", "\x08\x01\x28\x08"}}), {"does not fit its shape"}));
  CHECK(mentions(index_error({{"", header}, {std::string(300, 'n'), "\x28\x01"}}), {"damaged"}));
}

TEST_CASE("tf gpt2: what training left is left out with a remark") {
  const ordinal::ModelDraft draft = small_gpt2();
  TfFiles files = tf_files(draft);
  const Scratch scratch;
  const std::string header("\x08\x01", 2), counter("\x08\x09\x28\x08", 4);  // an int64
  write_tf_folder(files, scratch.path("m"));
  // Of leftovers alone, the model lacks its own.
  test::write_file(scratch.path("m/model.ckpt.index"),
                   tf_index({{"", header}, {"beta1_power", counter}, {"model/wte/Adam", counter}}));
  std::vector<std::string> notes;
  ordinal::ImportOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  CHECK(mentions(error_of([&] { ordinal::import_checkpoint(scratch.path("m"), options); }), {"wpe"}));
  REQUIRE_FALSE(notes.empty());
  CHECK(mentions(notes[0], {"2 variables of training"}));
}
