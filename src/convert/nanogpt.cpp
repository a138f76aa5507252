// nanogpt.cpp: checkpoints that nanoGPT and minGPT save with torch.save.
//
//   nanoGPT  {model: weights, model_args: {n_layer, n_head, n_embd, block_size, bias, vocab_size, dropout}, ...}
//   minGPT   the weights alone, which do not say how many heads there are
//
// A GPT-2 under Hugging Face's names, whose matrices are [outputs, inputs], with LayerNorm of epsilon 1e-5 and learned
// positions. Nothing in a file says which GELU it was trained with.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "convert/family.h"
#include "convert/hugging_face/hf_weights.h"
#include "convert/importers.h"
#include "convert/sniff.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "convert/torch/torch_file.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

constexpr TokenId kNanoGptEndOfText = 50256;
constexpr std::string_view kTiedHead = "lm_head.weight", kEmbedding = "wte.weight", kPositions = "wpe.weight";

constexpr FamilyPart kNanoParts[] = {
    {.part = "token_embd", .name = "wte"},
    {.part = "attn_norm", .name = "h.#.ln_1"},
    {.part = "attn_q", .name = "h.#.attn.c_attn", .share = q_of_qkv},
    {.part = "attn_k", .name = "h.#.attn.c_attn", .share = k_of_qkv},
    {.part = "attn_v", .name = "h.#.attn.c_attn", .share = v_of_qkv},
    {.part = "attn_output", .name = "h.#.attn.c_proj"},
    {.part = "ffn_norm", .name = "h.#.ln_2"},
    {.part = "ffn_up", .name = "h.#.mlp.c_fc"},
    {.part = "ffn_down", .name = "h.#.mlp.c_proj"},
    {.part = "output_norm", .name = "ln_f"},
    {.part = "output", .name = "lm_head"},
};
constexpr Family kNanoGpt = {.model_type = "", .name = "nanoGPT", .parts = kNanoParts};

// model_args: what each must agree with, once the weights have been measured.
struct NanoSetting {
  std::string_view name;
  int64_t ModelConfig::*size = nullptr;  // nullptr: no size of the model
};
constexpr NanoSetting kNanoSettings[] = {
    {"n_layer", &ModelConfig::n_layers},
    {"n_head", &ModelConfig::n_heads},
    {"n_embd", &ModelConfig::d_model},
    {"block_size", &ModelConfig::max_seq_len},
    {"vocab_size", &ModelConfig::vocab_size},
    {"bias"},
    {"dropout"},
};

// The sizes of a matrix that every such model has.
std::vector<int64_t> matrix_sizes(const HfWeights& weights, std::string_view name, const std::string& path) {
  if (!weights.has(name))
    throw Error(path + " holds weights of a model that is not known",
                "those of nanoGPT or minGPT, " + in_quotes("transformer." + std::string(name)) + " among them",
                "no such tensor");
  std::vector<int64_t> sizes = weights.at(std::string(name)).shape;
  if (sizes.size() != 2) throw Error(in_quotes(name) + " in " + path + " is no matrix", "two sizes", shape_text(sizes));
  return sizes;
}

// Hugging Face's GPT-2 has the same names; only the widest matrix tells them apart for certain.
void refuse_conv1d(const HfWeights& weights, int64_t width, const std::string& path) {
  if (matrix_sizes(weights, "h.0.attn.c_attn.weight", path) != std::vector{width, 3 * width}) return;
  throw Error(path + " holds weights as Hugging Face's GPT-2 has them, [inputs, outputs]",
              "those of nanoGPT or minGPT, [outputs, inputs]", shape_text(std::vector{width, 3 * width}) + " in c_attn",
              "give its folder, with config.json, and not the file");
}

int64_t count_layers(const HfWeights& weights) {
  int64_t layers = 0;
  while (!weights.names_with("h." + std::to_string(layers) + ".").empty()) ++layers;
  return layers;
}

// What model_args says of a setting; nullptr when it says nothing, or there is none.
const PickleValue* setting(const PickleValue* model_args, std::string_view name) {
  return model_args == nullptr ? nullptr : model_args->find(name);
}

void check_names(const PickleValue& model_args, const std::string& path) {
  if (!model_args.is(Kind::dict))
    throw Error("model_args of " + path + " is no dict", "a dict of settings", description(model_args));
  for (size_t i = 0; i < model_args.items.size(); i += 2)
    if (const PickleValue& key = *model_args.items[i];
        !key.is(Kind::text) || std::ranges::count(kNanoSettings, key.text, &NanoSetting::name) == 0)
      throw Error("model_args of " + path + " has a setting that nanoGPT does not have: the model is another",
                  joined(kNanoSettings, ", ", &NanoSetting::name), description(key));
}

void check_sizes(const PickleValue& model_args, const ModelConfig& config, const std::string& path) {
  for (const NanoSetting& known : kNanoSettings) {
    const PickleValue* value = model_args.find(known.name);
    if (known.size == nullptr || value == nullptr) continue;
    if (!value->is(Kind::integer) || value->integer != config.*known.size)
      throw Error(std::string(known.name) + " in model_args of " + path + " does not fit the weights",
                  std::to_string(config.*known.size), description(*value));
  }
}

int64_t find_heads(const PickleValue* model_args, const ModelConfig& config, const ImportOptions& options,
                   const std::string& path) {
  const PickleValue* stated = setting(model_args, "n_head");
  if (stated != nullptr && !stated->is(Kind::integer))
    throw Error("n_head in model_args of " + path + " is no size", "a whole number", description(*stated));
  if (stated == nullptr && !options.heads)
    throw Error(path + " does not say how many heads the model has", "model_args with n_head, as nanoGPT saves it",
                "a model of width " + std::to_string(config.d_model) + " and " + std::to_string(config.n_layers) +
                    (config.n_layers == 1 ? " layer" : " layers"),
                "--heads N, the number it was trained with");
  if (stated != nullptr && options.heads && *options.heads != stated->integer)
    throw Error("the number of heads (--heads) is not what " + path + " says", std::to_string(stated->integer),
                std::to_string(*options.heads), "leave --heads out");
  const int64_t heads = stated != nullptr ? stated->integer : *options.heads;
  if (heads < 1 || config.d_model % heads != 0)
    throw Error("that many heads do not divide the width of " + path, "a divisor of " + std::to_string(config.d_model),
                std::to_string(heads));
  return heads;
}

// Whether the head is the embedding: the same numbers in the file, or none of its own. minGPT trains two.
bool is_tied(const HfWeights& weights) {
  if (!weights.has(kTiedHead)) return true;
  const StoredTensor &head = weights.at(std::string(kTiedHead)), &embedding = weights.at(std::string(kEmbedding));
  return head.offset == embedding.offset && head.shape == embedding.shape && head.steps == embedding.steps &&
         head.kind == embedding.kind;
}

// meta.pkl beside the checkpoint, or in data/DATASET, where nanoGPT's sample.py looks for it from the folder above.
std::optional<TokenizerData> find_meta_pickle(const std::string& path, const PickleValue& root,
                                              const Vocabulary& wanted) {
  const fs::path folder = fs::path(path).parent_path();
  std::vector<fs::path> places = {folder / (fs::path(path).stem().string() + ".meta.pkl"), folder / "meta.pkl"};
  const PickleValue* config = root.find("config");
  const PickleValue* dataset = setting(config, "dataset");
  // A name from the file leads to no folder but one in data/.
  if (dataset != nullptr && dataset->is(Kind::text) && is_plain_word(dataset->text, 100) &&
      dataset->text.find('/') == std::string_view::npos && !dataset->text.starts_with('.'))
    for (const fs::path& above : {folder, folder / ".."}) places.push_back(above / "data" / dataset->text / "meta.pkl");
  std::error_code ignored;
  for (const fs::path& place : places) {
    if (!fs::exists(place, ignored)) continue;
    const auto file = MappedFile::open(place.string());
    return read_meta_pickle(file->bytes(), file->path(), wanted);
  }
  return std::nullopt;
}

}  // namespace

bool is_nanogpt(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && is_torch_bytes(MappedFile::open(path)->bytes());
}

ModelDraft read_nanogpt(const std::string& path, const ImportOptions& options) {
  const TorchFile file(MappedFile::open(path));
  HfWeights weights(file.tensors(weights_in(file)), path, options.note);
  const PickleValue* model_args = file.root().find("model_args");
  if (model_args != nullptr) check_names(*model_args, path);

  ModelDraft draft;
  draft.kind = "GPT";
  ModelConfig& config = draft.config;
  const std::vector<int64_t> embedding = matrix_sizes(weights, kEmbedding, path);
  config.vocab_size = embedding[0];
  config.d_model = embedding[1];
  refuse_conv1d(weights, config.d_model, path);
  config.max_seq_len = matrix_sizes(weights, kPositions, path)[0];
  config.n_layers = count_layers(weights);
  config.d_ff = matrix_sizes(weights, "h.0.mlp.c_fc.weight", path)[0];
  config.n_heads = config.n_kv_heads = find_heads(model_args, config, options, path);
  config.head_dim = config.d_model / config.n_heads;
  if (model_args != nullptr) check_sizes(*model_args, config, path);
  config.tied_output = is_tied(weights);
  if (config.tied_output && weights.has(kTiedHead)) weights.take(std::string(kTiedHead), embedding);
  config.activation = options.activation.value_or(Activation::gelu_erf);
  if (!options.activation)
    say(options.note, path +
                          " does not say which GELU it was trained with; the one by erf is taken, as in today's "
                          "nanoGPT (--activation gelu_tanh: minGPT, and nanoGPT before February 2023)");
  if (config.vocab_size > kNanoGptEndOfText) {
    config.bos_id = kNanoGptEndOfText;
    config.eos_ids = {kNanoGptEndOfText};
    say(options.note, "the file does not say which token starts and ends a text; GPT-2's 50256 is taken");
  }
  config.attention_scale.assign(static_cast<size_t>(config.n_layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));
  draft.notes.position = "learned";
  draft.notes.trained_positions = {"learned"};

  const PickleValue* bias = setting(model_args, "bias");
  const bool has_biases = bias != nullptr && bias->is(Kind::boolean) ? bias->integer != 0 : weights.has("ln_f.bias");
  const std::vector<int64_t> positions = {config.max_seq_len, config.d_model};
  draft.tensors.push_back(
      table_source("position_embd.weight", positions, weights.take(std::string(kPositions), positions), options.note));
  add_family_tensors(draft, kNanoGpt, has_biases, weights, options.note);
  weights.refuse_rest("the tensors of a nanoGPT of " + std::to_string(config.n_layers) + " layers");
  const Vocabulary wanted{config.vocab_size, config.bos_id, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&] {
    std::optional<TokenizerData> found = find_meta_pickle(path, file.root(), wanted);
    return found ? found : read_folder_tokenizer(fs::path(path).parent_path().string(), wanted);
  });
  return draft;
}

}  // namespace ordinal::convert
