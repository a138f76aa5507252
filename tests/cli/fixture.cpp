// fixture.cpp: see fixture.h.
#include "fixture.h"

#include "format/model_writer.h"
#include "reference/random_model.h"

namespace test {
namespace {

const Scratch& scratch() {
  static const Scratch made;
  return made;
}

std::string write_random(const RandomModel& model, const std::string& name, bool with_tokenizer) {
  ordinal::ModelDraft draft = random_model(model);
  if (with_tokenizer) draft.tokenizer = byte_tokenizer();
  const std::string path = scratch().path(name);
  ordinal::write_model_file(draft, path);
  return path;
}

RandomModel small() {
  RandomModel model;
  model.config = small_config();
  model.config.vocab_size = 257;
  model.position_rows = model.config.max_seq_len;
  model.position = "learned";
  return model;
}

}  // namespace

const std::string& byte_model() {
  static const std::string path = [] {
    RandomModel model = small();
    model.config.eos_ids = {256};
    return write_random(model, "bytes.ordinal", true);
  }();
  return path;
}

const std::string& bare_model() {
  static const std::string path = write_random(small(), "bare.ordinal", false);
  return path;
}

const std::string& slow_model() {
  static const std::string path = [] {
    RandomModel model;
    model.config = small_config();
    model.config.vocab_size = 257;
    model.config.max_seq_len = 8192;
    model.config.d_model = 256;
    model.config.n_layers = 4;
    model.config.n_heads = model.config.n_kv_heads = 8;
    model.config.head_dim = 32;
    model.config.d_ff = 1024;
    model.config.eos_ids = {256};
    scale_by_head_dim(model.config);
    return write_random(model, "slow.ordinal", true);
  }();
  return path;
}

nlohmann::json json_of(const Outcome& outcome) {
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(!json.is_discarded());
  return json;
}

std::vector<int> new_ids(const Outcome& outcome) { return json_of(outcome).at("ids").get<std::vector<int>>(); }

const std::string& model_h() {
  static const std::string path = [] {
    const std::string folder = shared("cases/inputs/model-h");
    if (folder.empty()) return std::string();
    const std::string made = scratch().path("model-h.ordinal");
    check_done(run({"convert", folder, made}));
    return made;
  }();
  return path;
}

}  // namespace test
