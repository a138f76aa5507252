// hf_folder.cpp: Hugging Face folders: config.json, the weights by their family's names, position tables, tokenizer.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "convert/family.h"
#include "convert/hugging_face/hf_config.h"
#include "convert/hugging_face/hf_weights.h"
#include "convert/importers.h"
#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"
#include "ordinal/model.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

// What tools/train.py puts before the engine's name of a position table.
constexpr std::string_view kTablePrefix = "ordinal.";

bool same_numbers(const StoredTensor& a, const StoredTensor& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.steps == b.steps &&
         std::memcmp(a.file->bytes().data() + a.offset, b.file->bytes().data() + b.offset,
                     static_cast<size_t>(a.bytes)) == 0;
}

// The position tables that the trained schemes read, and the specs in canonical form. Each scheme is made once, so a
// spec that is wrong, or a table that is missing or of another shape, is found before anything is written.
void add_positions(ModelDraft& draft, HfWeights& weights, const Family& family, const FamilyFacts& facts,
                   const Note& note) {
  const ModelConfig& c = draft.config;
  std::map<std::string, TensorView, std::less<>> views;
  // What schemes are to see of tables of 64 bits, and of those whose numbers do not lie one after another.
  std::map<std::string, std::vector<float>> rounded;
  const auto add = [&](const std::string& name, const Stored& at, std::vector<int64_t> shape) {
    draft.tensors.push_back(table_source(name, shape, at, note));
    const std::byte* data = at.file->bytes().data() + at.offset;
    const bool is_copied = at.doubles || !at.steps.empty();
    if (is_copied) {
      int64_t rows = 1;
      for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
      std::vector<float>& numbers = rounded[name];
      numbers.resize(static_cast<size_t>(rows * shape.back()));
      draft.tensors.back().read_rows(0, rows, numbers.data());
      data = reinterpret_cast<const std::byte*>(numbers.data());
    }
    views[name] = {.name = name,
                   .dtype = is_copied ? Dtype::f32 : at.dtype,
                   .layout = Layout::rows,
                   .shape = std::move(shape),
                   .data = data};
  };
  std::map<std::string, std::vector<float>> stated;  // numbers that stand in config.json
  for (const FamilyFacts::Table& table : facts.tables) {
    const auto& values = stated[table.name] = table.values;
    const auto size = static_cast<int64_t>(values.size());
    draft.tensors.push_back({.name = table.name,
                             .shape = {size},
                             .read_rows = [values](int64_t, int64_t, float* out) { std::ranges::copy(values, out); },
                             .is_table = true});
    views[table.name] = {.name = table.name,
                         .dtype = Dtype::f32,
                         .layout = Layout::rows,
                         .shape = {size},
                         .data = reinterpret_cast<const std::byte*>(values.data())};
  }
  const AttentionShape shape = attention_shape(c, c.max_seq_len);
  const std::string positions = "position_embd.weight";
  const auto reads_positions = [&](const std::string& spec) {
    const SchemeFacts scheme = describe_position_scheme(spec.substr(0, spec.find(';')), shape);
    return std::ranges::count(scheme.tensors, positions, &SchemeTensor::name) > 0;
  };
  if (std::ranges::any_of(facts.trained_positions, reads_positions)) {
    const std::vector<int64_t> size = {facts.position_rows, c.d_model};
    const std::string name = weight_name(family, "position_embd", weights);
    if (name.empty())
      throw Error("the position scheme reads a table that " + std::string(family.name) + " does not have",
                  "a scheme without one, or " + positions + " as " + std::string(kTablePrefix) + positions,
                  facts.position);
    add(positions, weights.take(name, size), size);
  }
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
bool is_head_tied(HfWeights& weights, const Family& family, const FamilyFacts& facts, const Note& note) {
  const ModelConfig& c = facts.model;
  const std::string head = weight_name(family, "output", weights), table = weight_name(family, "token_embd", weights);
  if (!weights.has(head)) return facts.tie_head;
  if (!facts.tie_head) return false;
  weights.take(head, {c.vocab_size, c.embedding_width()});
  if (weights.has(table) && same_numbers(weights.at(head), weights.at(table))) return true;
  say(note, "config.json ties " + head + " to " + table + ", but they differ: the head is kept apart");
  return false;
}

}  // namespace

bool is_hf_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "config.json", ignored);
}

ModelDraft read_hf_folder(const std::string& path, const ImportOptions& options) {
  const std::string config_path = (fs::path(path) / "config.json").string();
  HfConfig read = read_hf_config(read_json(config_path), config_path, options.note);
  const Family& family = *read.family;
  FamilyFacts& facts = read.facts;
  const std::string generation_path = (fs::path(path) / "generation_config.json").string();
  if (fs::exists(generation_path))
    read_generation_config(read_json(generation_path), generation_path, facts, options.note);
  HfWeights weights(path, options.note);

  facts.model.tied_output = is_head_tied(weights, family, facts, options.note);
  ModelDraft draft;
  draft.kind = family.name;
  draft.config = facts.model;
  add_positions(draft, weights, family, facts, options.note);
  for_each_tensor(draft.config, [&](const PlannedTensor& tensor) {
    if (auto source = find_in_family(family, facts, weights, tensor, options.note))
      draft.tensors.push_back(*std::move(source));
  });
  weights.refuse_rest("the tensors of a " + std::string(family.name) + " of " + std::to_string(draft.config.n_layers) +
                      " layers");

  const Vocabulary wanted{draft.config.vocab_size, draft.config.bos_id, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&] { return read_folder_tokenizer(path, wanted); });
  return draft;
}

}  // namespace ordinal::convert
