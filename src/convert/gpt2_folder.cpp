// gpt2_folder.cpp: Hugging Face GPT-2 folders: what config.json and its weights mean.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "convert/family.h"
#include "convert/gpt2_config.h"
#include "convert/hf_weights.h"
#include "convert/importers.h"
#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizer_files.h"
#include "ordinal/error.h"
#include "ordinal/model.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

// What tools/train.py puts before the engine's name of a position table.
constexpr std::string_view kTablePrefix = "ordinal.";

constexpr FamilyPart kParts[] = {
    {"token_embd", "wte"},
    {"attn_norm", "h.#.ln_1"},
    {.part = "attn_q", .name = "h.#.attn.c_attn", .share = q_of_qkv, .turned = true},
    {.part = "attn_k", .name = "h.#.attn.c_attn", .share = k_of_qkv, .turned = true},
    {.part = "attn_v", .name = "h.#.attn.c_attn", .share = v_of_qkv, .turned = true},
    {.part = "attn_output", .name = "h.#.attn.c_proj", .turned = true},
    {"ffn_norm", "h.#.ln_2"},
    {.part = "ffn_up", .name = "h.#.mlp.c_fc", .turned = true},
    {.part = "ffn_down", .name = "h.#.mlp.c_proj", .turned = true},
    {"output_norm", "ln_f"},
    {.part = "output", .name = "lm_head", .bias = Bias::maybe},
};

bool same_numbers(const StoredTensor& a, const StoredTensor& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.steps == b.steps &&
         std::memcmp(a.file->bytes().data() + a.offset, b.file->bytes().data() + b.offset,
                     static_cast<size_t>(a.bytes)) == 0;
}

// The position tables that the trained schemes read, and the specs in canonical form. Each scheme is made once, so a
// spec that is wrong, or a table that is missing or of another shape, is found before anything is written.
void add_positions(ModelDraft& draft, HfWeights& weights, const Gpt2Config& facts, const Note& note) {
  const ModelConfig& c = draft.config;
  std::map<std::string, TensorView, std::less<>> views;
  std::map<std::string, std::vector<float>> rounded;  // what schemes are to see of tables of 64 bits
  const auto add = [&](const std::string& name, const Stored& at, std::vector<int64_t> shape) {
    draft.tensors.push_back(table_source(name, shape, at, note));
    const std::byte* data = at.file->bytes().data() + at.offset;
    if (at.doubles) {
      int64_t rows = 1;
      for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
      std::vector<float>& numbers = rounded[name];
      numbers.resize(static_cast<size_t>(rows * shape.back()));
      draft.tensors.back().read_rows(0, rows, numbers.data());
      data = reinterpret_cast<const std::byte*>(numbers.data());
    }
    views[name] = {.name = name, .dtype = at.dtype, .layout = Layout::rows, .shape = std::move(shape), .data = data};
  };
  const AttentionShape shape = attention_shape(c, c.max_seq_len);
  const std::string positions = "position_embd.weight";
  const auto reads_positions = [&](const std::string& spec) {
    const SchemeFacts scheme = describe_position_scheme(spec.substr(0, spec.find(';')), shape);
    return std::ranges::count(scheme.tensors, positions, &SchemeTensor::name) > 0;
  };
  if (std::ranges::any_of(facts.trained_positions, reads_positions))
    add(positions, weights.take("wpe.weight", {c.max_seq_len, c.d_model}), {c.max_seq_len, c.d_model});
  for (const std::string& name : weights.names_with(kTablePrefix)) {
    const std::vector<int64_t> sizes = weights.at(name).shape;
    if (sizes.empty() || sizes.size() > 3)
      throw Error("the position table " + in_quotes(name) + " has a shape that no scheme reads", "1 to 3 dimensions",
                  shape_text(sizes));
    add(name.substr(kTablePrefix.size()), weights.take(name, sizes), sizes);
  }

  const auto canonical = [&](const std::string& spec) {
    return make_position_scheme(spec, shape,
                                [&](std::string_view name) {
                                  const auto found = views.find(name);
                                  return found == views.end() ? nullptr : &found->second;
                                })
        ->spec();
  };
  draft.notes.position = canonical(facts.position);
  for (const std::string& spec : facts.trained_positions) draft.notes.trained_positions.push_back(canonical(spec));
}

// The head is the embedding unless config.json or the weights say otherwise. transformers 5 keeps apart what differs
// also where config.json ties it; transformers 4 would use the embedding.
bool is_head_tied(HfWeights& weights, const ModelConfig& c, bool tie, const Note& note) {
  if (!tie || !weights.has("lm_head.weight")) return tie;
  weights.take("lm_head.weight", {c.vocab_size, c.d_model});
  if (weights.has("wte.weight") && same_numbers(weights.at("lm_head.weight"), weights.at("wte.weight"))) return true;
  say(note, "config.json ties lm_head.weight to wte.weight, but they differ: the head is kept apart");
  return false;
}

}  // namespace

bool is_gpt2_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "config.json", ignored);
}

ModelDraft read_gpt2_folder(const std::string& path, const ImportOptions& options) {
  const std::string config_path = (fs::path(path) / "config.json").string();
  Gpt2Config facts = read_gpt2_config(read_json(config_path), config_path, options.note);
  const std::string generation_path = (fs::path(path) / "generation_config.json").string();
  if (fs::exists(generation_path))
    read_generation_config(read_json(generation_path), generation_path, facts, options.note);
  HfWeights weights(path, options.note);

  ModelDraft draft;
  ModelConfig& config = draft.config = facts.model;
  config.tied_output = is_head_tied(weights, config, facts.tie_head, options.note);
  add_positions(draft, weights, facts, options.note);
  add_planned(draft, options.note,
              [&](const PlannedTensor& tensor) { return find_in_family(kParts, config, weights, tensor); });
  for (int64_t layer = 0; layer < config.n_layers; ++layer)
    config.attention_scale.push_back(facts.attention_scale(layer));
  weights.refuse_rest("the tensors of a GPT-2 of " + std::to_string(config.n_layers) + " layers");

  const Vocabulary wanted{draft.config.vocab_size, draft.config.bos_id, options.note};
  if (!options.vocab_dir.empty()) {
    draft.tokenizer = read_given_tokenizer(options.vocab_dir, wanted);
  } else {
    std::optional<TokenizerData> found = read_folder_tokenizer(path, wanted);
    draft.tokenizer = found ? *std::move(found) : no_tokenizer(path, options);
  }
  return draft;
}

}  // namespace ordinal::convert
