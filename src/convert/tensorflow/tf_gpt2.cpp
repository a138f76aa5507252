// tf_gpt2.cpp: GPT-2 as OpenAI published it: hparams.json, a TensorFlow checkpoint, encoder.json and vocab.bpe.
//
// Variables are called model/h0/attn/c_attn/w, .../b and .../g; matrices are [1, inputs, outputs]. GELU by tanh,
// LayerNorm with epsilon 1e-5, learned positions, the head tied to the embedding.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "convert/family.h"
#include "convert/hugging_face/hf_weights.h"
#include "convert/importers.h"
#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/tensorflow/tf_bundle.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelScope = "model/", kEndOfTextName = "<|endoftext|>";
constexpr std::string_view kCheckpointKey = "model_checkpoint_path:";

constexpr FamilyPart kTfParts[] = {
    {.part = "token_embd", .name = "wte"},
    {.part = "attn_norm", .name = "h#.ln_1"},
    {.part = "attn_q", .name = "h#.attn.c_attn", .share = q_of_qkv, .turned = true},
    {.part = "attn_k", .name = "h#.attn.c_attn", .share = k_of_qkv, .turned = true},
    {.part = "attn_v", .name = "h#.attn.c_attn", .share = v_of_qkv, .turned = true},
    {.part = "attn_output", .name = "h#.attn.c_proj", .turned = true},
    {.part = "ffn_norm", .name = "h#.ln_2"},
    {.part = "ffn_up", .name = "h#.mlp.c_fc", .turned = true},
    {.part = "ffn_down", .name = "h#.mlp.c_proj", .turned = true},
    {.part = "output_norm", .name = "ln_f"},
};
constexpr Family kTfGpt2 = {.model_type = "", .name = "GPT-2", .parts = kTfParts};

struct TfSize {
  std::string_view name;
  int64_t ModelConfig::*size;
};
constexpr TfSize kTfSizes[] = {{"n_vocab", &ModelConfig::vocab_size},
                               {"n_ctx", &ModelConfig::max_seq_len},
                               {"n_embd", &ModelConfig::d_model},
                               {"n_head", &ModelConfig::n_heads},
                               {"n_layer", &ModelConfig::n_layers}};

// What the last part of a variable's name is called elsewhere; matrices without one are weights.
struct TfEnding {
  std::string_view ending, name;
};
constexpr TfEnding kTfEndings[] = {{"/w", ".weight"}, {"/g", ".weight"}, {"/b", ".bias"}};
// What optimizers keep for each variable, under its name.
constexpr std::string_view kTfOptimizers[] = {"/Adam", "/Adam_1", "/Momentum", "/ExponentialMovingAverage"};

bool is_leftover(std::string_view name) {
  return !name.starts_with(kModelScope) ||
         std::ranges::any_of(kTfOptimizers, [&](std::string_view ending) { return name.ends_with(ending); });
}

// model/h0/attn/c_attn/w as h0.attn.c_attn.weight, [1, inputs, outputs] as [inputs, outputs].
StoredTensor renamed(StoredTensor tensor) {
  std::string name = tensor.name.substr(kModelScope.size());
  std::string_view replaced = ".weight";
  for (const TfEnding& ending : kTfEndings)
    if (name.ends_with(ending.ending)) {
      name.resize(name.size() - ending.ending.size());
      replaced = ending.name;
    }
  std::ranges::replace(name, '/', '.');
  tensor.name = name + std::string(replaced);
  if (tensor.shape.size() == 3 && tensor.shape[0] == 1) tensor.shape.erase(tensor.shape.begin());
  return tensor;
}

// The variables of the model, each checked; a remark on what training left.
std::vector<StoredTensor> read_variables(const std::string& prefix, const Note& note) {
  std::vector<StoredTensor> tensors;
  std::vector<std::string> leftovers;
  for (TfVariable& variable : read_tf_bundle(prefix)) {
    if (is_leftover(variable.tensor.name)) {
      leftovers.push_back(variable.tensor.name);
      continue;
    }
    check_tf_variable(variable);
    tensors.push_back(renamed(std::move(variable.tensor)));
  }
  if (!leftovers.empty())
    say(note, std::to_string(leftovers.size()) + " variables of training are left out, " + in_quotes(leftovers[0]) +
                  " among them");
  return tensors;
}

// As the file `checkpoint` names it, model_checkpoint_path: "model.ckpt"; always in the folder itself.
std::string find_prefix(const fs::path& folder) {
  std::error_code ignored;
  if (const fs::path list = folder / "checkpoint"; fs::is_regular_file(list, ignored)) {
    const auto file = MappedFile::open(list.string());
    std::string_view text = as_text(file->bytes());
    const size_t at = text.find(kCheckpointKey);
    const size_t begin = at == std::string_view::npos ? at : text.find('"', at), end = text.find('"', begin + 1);
    if (begin == std::string_view::npos || end == std::string_view::npos)
      throw Error(list.string() + " does not name a checkpoint", std::string(kCheckpointKey) + " \"model.ckpt\"",
                  in_quotes(text));
    text = text.substr(begin + 1, end - begin - 1);
    if (text.find('\0') != std::string_view::npos)
      throw Error(list.string() + " does not name a checkpoint", "a file name", in_quotes(text));
    return (folder / fs::path(text).filename()).string();
  }
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".index") found.push_back((folder / entry.path().stem()).string());
  if (found.size() != 1)
    throw Error("there is no TensorFlow checkpoint in " + folder.string(), "model.ckpt.index, or the file 'checkpoint'",
                found.empty() ? "neither" : std::to_string(found.size()) + " files named .index");
  return found[0];
}

}  // namespace

bool is_tf_gpt2(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "hparams.json", ignored);
}

ModelDraft read_tf_gpt2(const std::string& path, const ImportOptions& options) {
  const std::string sizes_path = (fs::path(path) / "hparams.json").string();
  const JsonDocument sizes = read_json(sizes_path);
  std::vector<std::string_view> names;
  for (const TfSize& size : kTfSizes) names.push_back(size.name);
  check_members(sizes, sizes_path, names);

  ModelDraft draft;
  draft.kind = "GPT-2";
  ModelConfig& config = draft.config;
  for (const TfSize& size : kTfSizes)
    config.*size.size =
        whole_number(member(sizes, size.name), std::string(size.name) + " in " + sizes_path, 1, INT32_MAX);
  if (config.d_model % config.n_heads != 0)
    throw Error("n_head in " + sizes_path + " does not divide the width",
                "a divisor of " + std::to_string(config.d_model), std::to_string(config.n_heads));
  config.n_kv_heads = config.n_heads;
  config.head_dim = config.d_model / config.n_heads;
  config.d_ff = 4 * config.d_model;
  draft.notes.position = "learned";
  draft.notes.trained_positions = {"learned"};

  HfWeights weights(read_variables(find_prefix(path), options.note), path, options.note);
  const std::vector<int64_t> positions = {config.max_seq_len, config.d_model};
  draft.tensors.push_back(
      table_source("position_embd.weight", positions, weights.take("wpe.weight", positions), options.note));
  add_family_tensors(draft, kTfGpt2, true, weights, options.note);
  weights.refuse_rest("the variables of a GPT-2 of " + std::to_string(config.n_layers) + " layers");
  config.attention_scale.assign(static_cast<size_t>(config.n_layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));

  const Vocabulary wanted{config.vocab_size, -1, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&] { return read_folder_tokenizer(path, wanted); });
  for (const TokenId id : draft.tokenizer.special_ids)
    if (draft.tokenizer.pieces[static_cast<size_t>(id)] == kEndOfTextName) {
      config.bos_id = id;
      config.eos_ids = {id};
    }
  return draft;
}

}  // namespace ordinal::convert
