// hf_weights.cpp: see hf_weights.h.
#include "convert/hugging_face/hf_weights.h"

#include <algorithm>
#include <filesystem>

#include "base/words.h"
#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/torch/torch_file.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

struct KindName {
  std::string_view name;
  Dtype dtype;
  bool doubles = false;
};
constexpr KindName kKindNames[] = {
    {"F32", Dtype::f32}, {"F16", Dtype::f16}, {"BF16", Dtype::bf16}, {"F64", Dtype::f32, true}};

// What folders call their weights, the best first; pickles are read without running anything (pickle.h).
constexpr std::string_view kWeightFiles[] = {"model.safetensors", "pytorch_model.bin"};

// What stands for the whole model: torch.compile, data parallelism, transformers' base models, trl, PEFT.
constexpr std::string_view kPrefixes[] = {"module.",     "model.",    "transformer.",    "pretrained_model.",
                                          "base_model.", "gpt_neox.", "language_model.", "decoder."};
// What wraps any part of it, and so stands anywhere in a name.
constexpr std::string_view kWrappers[] = {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};

// Masks, stored by older versions of transformers under names like weights'; the engine has its own.
constexpr std::string_view kMasks[] = {".attn.bias",      ".attn.masked_bias",      ".attn.causal_mask",
                                       ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"};
// What a model for more than text has besides its text model.
constexpr std::string_view kOtherSenses[] = {"vision_tower", "multi_modal_projector", "vision_model", "visual"};
// Heads for other tasks than text, by the first part of a name; and whatever ends in "_head" but the head for text.
constexpr std::string_view kOtherHeads[] = {"score", "classifier", "qa_outputs", "summary", "sequence_summary"};
constexpr std::string_view kTextHead = "lm_head", kHeadEnding = "_head";

std::string bare_name(std::string name) {
  for (const std::string_view wrapper : kWrappers)
    for (size_t at = 0; (at = name.find(wrapper, at)) != std::string::npos;) {
      if (at == 0 || name[at - 1] == '.')
        name.erase(at, wrapper.size());
      else
        at += wrapper.size();
    }
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  for (const auto* prefix = std::begin(kPrefixes); prefix != std::end(kPrefixes);) {
    prefix = std::find_if(std::begin(kPrefixes), std::end(kPrefixes), begins);
    if (prefix != std::end(kPrefixes)) name.erase(0, prefix->size());
  }
  return name;
}

bool is_other_head(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('.'));
  return std::ranges::count(kOtherHeads, first) > 0 || std::ranges::count(kOtherSenses, first) > 0 ||
         (first.ends_with(kHeadEnding) && first != kTextHead);
}

std::vector<StoredTensor> read_weight_file(const std::string& path) {
  if (fs::path(path).extension() == ".safetensors") return read_safetensors(path);
  const TorchFile file(MappedFile::open(path));
  return file.tensors(weights_in(file));
}

// A shard is a file of the folder itself: an index from elsewhere must not make us read other files.
void check_shard_name(const std::string& shard, const std::string& index) {
  if (shard.empty() || shard.find('/') != std::string::npos || shard.find('\\') != std::string::npos ||
      shard.find('\0') != std::string::npos || shard == "." || shard == "..")
    throw Error(index + " names a file outside its folder", "plain file names", in_quotes(shard));
}

}  // namespace

HfWeights::HfWeights(std::string folder, const Note& note) : folder_(std::move(folder)), note_(note) {
  const auto in_folder = [&](std::string_view file) { return (fs::path(folder_) / file).string(); };
  for (const std::string_view file : kWeightFiles) {
    if (const std::string whole = in_folder(file); fs::exists(whole)) {
      for (StoredTensor& tensor : read_weight_file(whole)) add(std::move(tensor));
      return;
    }
    if (const std::string index = in_folder(std::string(file) + ".index.json"); fs::exists(index)) {
      add_shards(index);
      return;
    }
  }
  const std::string other = other_weights_in(folder_);
  throw Error(
      "there are no weights in " + folder_,
      joined(kWeightFiles, " or ") + ", or shards of one of them and its index, NAME.index.json",
      other.empty() ? "none of them" : other,
      other.empty() ? "" : "save the model again as safetensors: save_pretrained of transformers does, in PyTorch");
}

HfWeights::HfWeights(std::vector<StoredTensor> tensors, std::string path, const Note& note)
    : folder_(std::move(path)), note_(note) {
  for (StoredTensor& tensor : tensors) add(std::move(tensor));
}

void HfWeights::add(StoredTensor tensor) {
  const std::string name = bare_name(tensor.name);
  if (!tensors_.emplace(name, std::move(tensor)).second)
    throw Error(folder_ + " has a tensor twice", "each tensor once, with or without prefixes like 'transformer.'",
                in_quotes(name));
}

void HfWeights::add_shards(const std::string& index) {
  const JsonDocument tree = read_json(index);
  const Json* map = find(object(tree, index), "weight_map");
  if (map == nullptr) throw Error(index + " has no weight_map", "names of tensors and their files", "no such key");
  std::map<std::string, std::set<std::string>> shards;  // file: its tensors
  for (const auto& [name, shard] : object(*map, "weight_map in " + index).items())
    shards[text(shard, "the file of " + in_quotes(name) + " in " + index)].insert(name);
  for (const auto& [shard, names] : shards) check_shard_name(shard, index);
  for (auto& [shard, names] : shards) {
    const std::string path = (fs::path(folder_) / shard).string();
    for (StoredTensor& tensor : read_weight_file(path)) {
      if (names.erase(tensor.name) == 0)
        throw Error(path + " has a tensor that " + index + " does not place there", "the tensors that it lists",
                    in_quotes(tensor.name));
      add(std::move(tensor));
    }
    // A head that is tied to the embedding may be listed and lie nowhere; where it is not tied, it will be missed.
    std::erase_if(names, [](const std::string& name) {
      return bare_name(name) == "lm_head.weight" || bare_name(name) == "embed_out.weight";
    });
    if (!names.empty())
      throw Error(path + " lacks a tensor that " + index + " places there", in_quotes(*names.begin()),
                  "no such tensor");
  }
}

std::vector<std::string> HfWeights::names_with(std::string_view beginning) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_)
    if (name.starts_with(beginning)) names.push_back(name);
  return names;
}

Stored HfWeights::take(const std::string& name, const std::vector<int64_t>& shape) {
  const auto place = tensors_.find(name);
  if (place == tensors_.end())
    throw Error(folder_ + " lacks the tensor " + name, name + " of shape " + shape_text(shape), "no such tensor");
  const StoredTensor& tensor = place->second;
  used_.insert(name);
  if (tensor.shape != shape)
    throw Error(name + " in " + folder_ + " has a shape that does not fit the sizes of the model", shape_text(shape),
                shape_text(tensor.shape));
  const auto* const kind = std::ranges::find(kKindNames, tensor.kind, &KindName::name);
  if (kind == std::end(kKindNames))
    throw Error(name + " in " + folder_ + " has a kind of number that weights cannot have", "F32, F16, BF16 or F64",
                in_quotes(tensor.kind));
  return {tensor.file, tensor.offset, kind->dtype, kind->doubles, tensor.shape, tensor.steps};
}

void HfWeights::refuse_rest(const std::string& expected) const {
  for (const auto& [name, tensor] : tensors_) {
    const auto ends = [&, &bare = name](std::string_view end) { return bare.ends_with(end); };
    if (used_.contains(name) || std::ranges::any_of(kMasks, ends)) continue;
    if (!is_other_head(name))
      throw Error(folder_ + " has a tensor that the model does not use", expected, in_quotes(tensor.name));
    say(note_, in_quotes(tensor.name) + " is for another task and left out");
  }
}

}  // namespace ordinal::convert
