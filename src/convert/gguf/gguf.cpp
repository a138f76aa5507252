// gguf.cpp: GGUF files: tensors of the plan found by name, and the tokenizer's keys handed on.
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/words.h"
#include "convert/gguf/gguf_architectures.h"
#include "convert/gguf/gguf_tensors.h"
#include "convert/gguf/gguf_tokenizer.h"
#include "convert/hugging_face/hf_weights.h"
#include "convert/importers.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

// Leftovers of old files: masks and tables that no part of a model is made of. Ends of names.
constexpr std::string_view kLeftovers[] = {".attn_rot_embd.weight", ".attn.masked_bias", ".attn_rot_embd",
                                           ".rope_freqs.weight"};
// What a position scheme reads: a table it cannot do without, or divisors of angles that may be there.
constexpr std::string_view kPositionTable = "position_embd.weight", kRopeDivisors = "rope_freqs.weight";

// The rows of a part within the tensor that holds q, then k, then v.
struct Fused {
  std::string_view part;
  int64_t (*first)(const ModelConfig& config);
};
constexpr Fused kFused[] = {
    {"attn_q", [](const ModelConfig&) { return int64_t{0}; }},
    {"attn_k", [](const ModelConfig& c) { return c.n_heads * c.head_dim; }},
    {"attn_v", [](const ModelConfig& c) { return (c.n_heads + c.n_kv_heads) * c.head_dim; }},
};
int64_t fused_rows(const ModelConfig& c) { return (c.n_heads + 2 * c.n_kv_heads) * c.head_dim; }

// Takes tensors out of a file by name and knows which were.
class Finder {
 public:
  Finder(const GgufFacts& facts, const GgufArchitecture& row, const Note& note)
      : facts_(facts), row_(row), note_(note) {}

  std::optional<TensorSource> find(const PlannedTensor& planned) {
    const std::string_view part = planned.part->name;
    const std::string prefix = planned.part->is_in_layers() ? "blk." + std::to_string(planned.layer) + "." : "";
    const std::string suffix = planned.is_bias ? ".bias" : ".weight";
    const std::string name = prefix + std::string(row_.name_of(facts_, part)) + suffix;
    const bool for_each_head =
        facts_.config.qk_norm == QkNorm::head && (part == "attn_q_norm" || part == "attn_k_norm");
    if (const GgufTensor* tensor = take(name))
      return source(planned, *tensor, 0, for_each_head ? std::vector{facts_.config.head_dim} : planned.shape);
    const auto* const fused = std::ranges::find(kFused, part, &Fused::part);
    if (fused != std::end(kFused))
      if (const GgufTensor* tensor = take(prefix + "attn_qkv" + suffix)) {
        std::vector<int64_t> whole = planned.shape;
        whole[0] = fused_rows(facts_.config);
        return source(planned, *tensor, fused->first(facts_.config), whole);
      }
    if (planned.required) lacks(name, "of shape " + shape_text(planned.shape));
    return std::nullopt;
  }

  std::optional<TensorSource> find_table() {
    const bool learned = facts_.position == "learned";
    const std::string_view name = learned ? kPositionTable : kRopeDivisors;
    const GgufTensor* tensor = take(std::string(name));
    if (tensor == nullptr && learned) lacks(kPositionTable, "a row for each position");
    if (tensor == nullptr) return std::nullopt;
    TensorSource table = gguf_source(std::string(name), tensor->shape, *tensor, 0, note_);
    table.is_table = true;
    return table;
  }

  void refuse_rest() const {
    for (const auto& [name, tensor] : facts_.file.tensors) {
      const auto ends = [&, &whole = name](std::string_view end) { return whole.ends_with(end); };
      if (!used_.contains(name) && !std::ranges::any_of(kLeftovers, ends))
        throw Error(facts_.file.keys.file() + " has a tensor that " + facts_.architecture + " does not use",
                    "the tensors of the model", in_quotes(name));
    }
  }

  // One remark for all tensors that are rounded.
  void say_inexact() const {
    std::map<std::string_view, int64_t> kinds;
    for (const std::string& name : used_)
      if (const GgufTensor& tensor = facts_.file.tensors.at(name); !tensor.kind->exact) ++kinds[tensor.kind->name];
    for (const auto& [kind, count] : kinds)
      say(note_, "in f16, each weight within 1/2048 of what the file says: " + std::to_string(count) +
                     (count == 1 ? " tensor of kind " : " tensors of kind ") + std::string(kind));
  }

 private:
  [[noreturn]] void lacks(std::string_view name, const std::string& what) const {
    throw Error(facts_.file.keys.file() + " lacks the tensor " + std::string(name), std::string(name) + " " + what,
                "no such tensor");
  }

  const GgufTensor* take(const std::string& name) {
    const auto found = facts_.file.tensors.find(name);
    if (found == facts_.file.tensors.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }

  TensorSource source(const PlannedTensor& planned, const GgufTensor& tensor, int64_t first,
                      const std::vector<int64_t>& whole) const {
    std::vector<int64_t> shape = tensor.shape;
    while (shape.size() > whole.size() && shape.front() == 1) shape.erase(shape.begin());
    if (shape != whole)
      throw Error(in_quotes(tensor.name) + " in " + tensor.file->path() + " has a shape that does not fit the keys",
                  shape_text(whole), shape_text(tensor.shape));
    return gguf_source(planned.name, planned.shape, tensor, first, note_);
  }

  const GgufFacts& facts_;
  const GgufArchitecture& row_;
  const Note& note_;
  std::set<std::string, std::less<>> used_;
};

GgufTokenizer tokenizer_keys(GgufKeys& keys) {
  const auto key = [](const char* name) { return "tokenizer.ggml." + std::string(name); };
  const auto text = [&](const std::string& name) { return std::string(keys.text(name).value_or("")); };
  const auto texts = [&](const char* name) {
    const auto list = keys.texts(key(name)).value_or(std::vector<std::string_view>());
    return std::vector<std::string>(list.begin(), list.end());
  };
  const auto numbers = [&]<class T>(const char* name, T) {
    std::vector<T> list;
    for (const double value : keys.numbers(key(name)).value_or(std::vector<double>()))
      list.push_back(static_cast<T>(std::clamp(value, -1e30, 1e30)));
    return list;
  };
  const auto id = [&](const char* name) { return keys.whole(key(name), -1, INT32_MAX).value_or(-1); };
  GgufTokenizer facts;
  facts.model = text(key("model"));
  facts.pre = text(key("pre"));
  facts.tokens = texts("tokens");
  facts.token_types = numbers("token_type", int32_t{});
  facts.scores = numbers("scores", float{});
  facts.merges = texts("merges");
  facts.bos_id = id("bos_token_id");
  facts.eos_id = id("eos_token_id");
  facts.unknown_id = id("unknown_token_id");
  facts.add_bos = keys.flag(key("add_bos_token"));
  facts.add_eos = keys.flag(key("add_eos_token"));
  facts.add_space_prefix = keys.flag(key("add_space_prefix"));
  facts.chat_template = text("tokenizer.chat_template");
  return facts;
}

// What begins and ends a text.
void read_ends(GgufKeys& keys, ModelConfig& config) {
  const auto id = [&](const char* name) {
    return static_cast<TokenId>(
        keys.whole(std::string("tokenizer.ggml.") + name, -1, config.vocab_size - 1).value_or(-1));
  };
  config.bos_id = id("bos_token_id");
  for (const char* name : {"eos_token_id", "eot_token_id"})
    if (const TokenId end = id(name); end >= 0 && !std::ranges::count(config.eos_ids, end))
      config.eos_ids.push_back(end);
}

}  // namespace

bool is_gguf(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && begins_as_gguf(MappedFile::open(path)->bytes());
}

ModelDraft read_gguf(const std::string& path, const ImportOptions& options) {
  GgufFile file = read_gguf_file(path);
  if (const auto type = file.keys.text("general.type"); type && *type != "model")
    throw Error(path + " is no model", "general.type model", in_quotes(*type));
  const GgufArchitecture& row = gguf_architecture(file.keys);
  GgufFacts facts{.file = file, .architecture = std::string(row.name)};
  const auto embedding = file.tensors.find("token_embd.weight");
  if (embedding == file.tensors.end())
    throw Error(path + " lacks the tensor token_embd.weight", "the embedding of tokens", "no such tensor");
  facts.config.vocab_size = embedding->second.shape.front();
  read_gguf_facts(row, facts);
  read_ends(file.keys, facts.config);

  ModelDraft draft;
  draft.kind = facts.architecture;
  draft.config = facts.config;
  draft.config.validate();
  draft.notes.position = facts.position;
  draft.notes.trained_positions = {facts.position};
  Finder finder(facts, row, options.note);
  for_each_tensor(draft.config, [&](const PlannedTensor& tensor) {
    if (auto source = finder.find(tensor)) draft.tensors.push_back(*std::move(source));
  });
  if (auto table = finder.find_table()) draft.tensors.push_back(*std::move(table));
  finder.refuse_rest();
  finder.say_inexact();

  const Vocabulary wanted{draft.config.vocab_size, draft.config.bos_id, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&]() -> std::optional<TokenizerData> {
    TokenizerData within = read_gguf_tokenizer(tokenizer_keys(file.keys), path, wanted);
    if (within.kind == "none") return std::nullopt;
    return within;
  });
  return draft;
}

}  // namespace ordinal::convert
