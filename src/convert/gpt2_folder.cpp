// gpt2_folder.cpp: Hugging Face GPT-2 folders: config.json, and safetensors weights in one file or in shards.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "convert/gpt2_config.h"
#include "convert/importers.h"
#include "convert/json_tree.h"
#include "convert/safetensors.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizer_files.h"
#include "ordinal/error.h"
#include "ordinal/model.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

struct KindName {
  std::string_view name;
  Dtype dtype;
};
constexpr KindName kKindNames[] = {{"F32", Dtype::f32}, {"F16", Dtype::f16}, {"BF16", Dtype::bf16}};

// Masks, stored by older versions of transformers under names like weights'; the engine has its own.
constexpr std::string_view kMasks[] = {".attn.bias", ".attn.masked_bias"};
// What tools/train.py puts before the engine's name of a position table.
constexpr std::string_view kTablePrefix = "ordinal.";
// Heads for other tasks than text.
constexpr std::string_view kOtherHeads[] = {"score.", "classifier.", "multiple_choice_head."};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

// The folder's tensors by name, without the prefix that whole models have and bare ones have not.
class Weights {
 public:
  Weights(std::string folder, const Note& note) : folder_(std::move(folder)), note_(note) {}

  void add(StoredTensor tensor) {
    constexpr std::string_view kPrefix = "transformer.";
    std::string name = tensor.name;
    if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
    if (!tensors_.emplace(name, std::move(tensor)).second)
      throw Error(folder_ + " has a tensor twice", "each tensor once, with or without the prefix 'transformer.'",
                  in_quotes(name));
  }

  bool has(const std::string& name) const { return tensors_.contains(name); }
  const StoredTensor& at(const std::string& name) const { return tensors_.at(name); }

  // The names of the position tables, as they stand in the folder.
  std::vector<std::string> tables() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_)
      if (name.starts_with(kTablePrefix)) names.push_back(name);
    return names;
  }

  Stored take(const std::string& name, const std::vector<int64_t>& shape) {
    const auto place = tensors_.find(name);
    if (place == tensors_.end())
      throw Error(folder_ + " lacks the tensor " + name, name + " of shape " + shape_text(shape), "no such tensor");
    const StoredTensor& tensor = place->second;
    used_.insert(name);
    if (tensor.shape != shape)
      throw Error(name + " in " + folder_ + " has a shape that does not fit config.json", shape_text(shape),
                  shape_text(tensor.shape));
    for (const KindName& kind : kKindNames)
      if (kind.name == tensor.kind) return {tensor.file, tensor.offset, kind.dtype};
    throw Error(name + " in " + folder_ + " has a kind of number that weights cannot have", "F32, F16 or BF16",
                in_quotes(tensor.kind));
  }

  // Each tensor was either taken or is known not to matter.
  void refuse_rest(int64_t n_layers) const {
    for (const auto& [name, tensor] : tensors_) {
      const auto ends = [&, &name = name](std::string_view end) { return name.ends_with(end); };
      const auto begins = [&, &name = name](std::string_view begin) { return name.starts_with(begin); };
      if (used_.contains(name) || std::any_of(std::begin(kMasks), std::end(kMasks), ends)) continue;
      if (!std::any_of(std::begin(kOtherHeads), std::end(kOtherHeads), begins))
        throw Error(folder_ + " has a tensor that the model of config.json does not use",
                    "the tensors of a GPT-2 of " + std::to_string(n_layers) + " layers", in_quotes(tensor.name));
      say(note_, in_quotes(tensor.name) + " is for another task and left out");
    }
  }

 private:
  std::string folder_;
  const Note& note_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::set<std::string, std::less<>> used_;
};

// A shard is a file of the folder itself: an index from elsewhere must not make us read other files.
void check_shard_name(const std::string& shard, const std::string& index) {
  if (shard.empty() || shard.find('/') != std::string::npos || shard.find('\\') != std::string::npos ||
      shard.find('\0') != std::string::npos || shard == "." || shard == "..")
    throw Error(index + " names a file outside its folder", "plain file names", in_quotes(shard));
}

void add_shards(Weights& weights, const std::string& folder, const std::string& index) {
  const Json tree = read_json(index);
  const Json* map = find(object(tree, index), "weight_map");
  if (map == nullptr) throw Error(index + " has no weight_map", "names of tensors and their files", "no such key");
  std::map<std::string, std::set<std::string>> shards;  // file: its tensors
  for (const auto& [name, shard] : object(*map, "weight_map in " + index).items())
    shards[text(shard, "the file of " + in_quotes(name) + " in " + index)].insert(name);
  for (const auto& [shard, names] : shards) check_shard_name(shard, index);
  for (auto& [shard, names] : shards) {
    const std::string path = (fs::path(folder) / shard).string();
    for (StoredTensor& tensor : read_safetensors(path)) {
      if (names.erase(tensor.name) == 0)
        throw Error(path + " has a tensor that " + index + " does not place there", "the tensors that it lists",
                    in_quotes(tensor.name));
      weights.add(std::move(tensor));
    }
    if (!names.empty())
      throw Error(path + " lacks a tensor that " + index + " places there", in_quotes(*names.begin()),
                  "no such tensor");
  }
}

void add_weights(Weights& weights, const std::string& folder) {
  const auto in_folder = [&](const char* file) { return (fs::path(folder) / file).string(); };
  if (fs::exists(in_folder("model.safetensors"))) {
    for (StoredTensor& tensor : read_safetensors(in_folder("model.safetensors"))) weights.add(std::move(tensor));
    return;
  }
  if (fs::exists(in_folder("model.safetensors.index.json"))) {
    add_shards(weights, folder, in_folder("model.safetensors.index.json"));
    return;
  }
  const bool pickled =
      fs::exists(in_folder("pytorch_model.bin")) || fs::exists(in_folder("pytorch_model.bin.index.json"));
  throw Error(
      "there are no weights in " + folder, "model.safetensors, or shards and model.safetensors.index.json",
      pickled ? "pytorch_model.bin, a pickle, which can hold any program and is not read" : "neither",
      pickled ? "save the model again with transformers: model.save_pretrained(FOLDER) writes safetensors" : "");
}

// The tensors of one layer, in the order in which the forward pass reads them.
void add_layer(ModelDraft& draft, Weights& weights, int64_t layer, const Note& note) {
  const int64_t d = draft.config.d_model, f = draft.config.d_ff;
  const std::string from = "h." + std::to_string(layer) + ".", to = "blk." + std::to_string(layer) + ".";
  const auto vector = [&](const std::string& name, const std::string& source, int64_t size) {
    draft.tensors.push_back(vector_source(to + name, weights.take(from + source, {size}), size, note));
  };
  // Conv1D keeps inputs as rows.
  const auto matrix = [&](const std::string& name, const std::string& source, int64_t inputs, int64_t outputs) {
    const Stored stored = weights.take(from + source, {inputs, outputs});
    draft.tensors.push_back(columns_source(to + name, stored, {inputs, outputs, 0, outputs}, note));
  };

  vector("attn_norm.weight", "ln_1.weight", d);
  vector("attn_norm.bias", "ln_1.bias", d);
  const Stored qkv = weights.take(from + "attn.c_attn.weight", {d, 3 * d});
  const Stored qkv_bias = weights.take(from + "attn.c_attn.bias", {3 * d});
  int64_t part = 0;
  for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
    draft.tensors.push_back(columns_source(to + name + ".weight", qkv, {d, 3 * d, part * d, d}, note));
    draft.tensors.push_back(vector_source(to + name + ".bias", qkv_bias.skip(part * d), d, note));
    ++part;
  }
  matrix("attn_output.weight", "attn.c_proj.weight", d, d);
  vector("attn_output.bias", "attn.c_proj.bias", d);
  vector("ffn_norm.weight", "ln_2.weight", d);
  vector("ffn_norm.bias", "ln_2.bias", d);
  matrix("ffn_up.weight", "mlp.c_fc.weight", d, f);
  vector("ffn_up.bias", "mlp.c_fc.bias", f);
  matrix("ffn_down.weight", "mlp.c_proj.weight", f, d);
  vector("ffn_down.bias", "mlp.c_proj.bias", d);
}

bool same_numbers(const StoredTensor& a, const StoredTensor& b) {
  return a.kind == b.kind && a.bytes == b.bytes &&
         std::memcmp(a.file->bytes().data() + a.offset, b.file->bytes().data() + b.offset,
                     static_cast<size_t>(a.bytes)) == 0;
}

// The position tables that the trained schemes read, and the specs in canonical form. Each scheme is made once, so a
// spec that is wrong, or a table that is missing or of another shape, is found before anything is written.
void add_positions(ModelDraft& draft, Weights& weights, const Gpt2Config& facts, const Note& note) {
  const ModelConfig& c = draft.config;
  std::map<std::string, TensorView, std::less<>> views;
  const auto add = [&](const std::string& name, const Stored& at, std::vector<int64_t> shape) {
    draft.tensors.push_back(table_source(name, at, shape, note));
    views[name] = {.name = name,
                   .dtype = at.dtype,
                   .layout = Layout::rows,
                   .shape = std::move(shape),
                   .data = at.file->bytes().data() + at.offset,
                   .bytes = 0};
  };
  const AttentionShape shape = attention_shape(c, c.max_seq_len);
  const std::string positions = "position_embd.weight";
  const auto reads_positions = [&](const std::string& spec) {
    const SchemeFacts scheme = describe_position_scheme(spec.substr(0, spec.find(';')), shape);
    return std::ranges::count(scheme.tensors, positions, &SchemeTensor::name) > 0;
  };
  if (std::ranges::any_of(facts.trained_positions, reads_positions))
    add(positions, weights.take("wpe.weight", {c.max_seq_len, c.d_model}), {c.max_seq_len, c.d_model});
  for (const std::string& name : weights.tables()) {
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
void add_head(ModelDraft& draft, Weights& weights, bool tie, const Note& note) {
  const int64_t v = draft.config.vocab_size, d = draft.config.d_model;
  const bool stored = weights.has("lm_head.weight");
  if (!tie || stored) {
    const Stored head = weights.take("lm_head.weight", {v, d});
    draft.config.tied_output = tie && same_numbers(weights.at("lm_head.weight"), weights.at("wte.weight"));
    if (!draft.config.tied_output) draft.tensors.push_back(rows_source("output.weight", head, v, d, note));
    if (tie && !draft.config.tied_output)
      say(note, "config.json ties lm_head.weight to wte.weight, but they differ: the head is kept apart");
  }
  if (weights.has("lm_head.bias"))
    draft.tensors.push_back(vector_source("output.bias", weights.take("lm_head.bias", {v}), v, note));
}

}  // namespace

bool is_gpt2_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "config.json", ignored);
}

ModelDraft read_gpt2_folder(const std::string& path, const ImportOptions& options) {
  const std::string config_path = (fs::path(path) / "config.json").string();
  const Gpt2Config facts = read_gpt2_config(read_json(config_path), config_path, options.note);
  Weights weights(path, options.note);
  add_weights(weights, path);

  ModelDraft draft;
  draft.config = facts.model;
  const int64_t d = draft.config.d_model;
  draft.tensors.push_back(rows_source("token_embd.weight", weights.take("wte.weight", {draft.config.vocab_size, d}),
                                      draft.config.vocab_size, d, options.note));
  add_positions(draft, weights, facts, options.note);
  for (int64_t layer = 0; layer < draft.config.n_layers; ++layer) {
    add_layer(draft, weights, layer, options.note);
    draft.config.attention_scale.push_back(facts.attention_scale(layer));
  }
  for (const char* part : {"weight", "bias"})
    draft.tensors.push_back(vector_source(std::string("output_norm.") + part,
                                          weights.take(std::string("ln_f.") + part, {d}), d, options.note));
  add_head(draft, weights, facts.tie_head, options.note);
  weights.refuse_rest(draft.config.n_layers);

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
