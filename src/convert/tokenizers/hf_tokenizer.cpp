// hf_tokenizer.cpp: BPE tokenizers of Hugging Face and OpenAI: tokenizer.json, or a vocabulary and merges.
#include <algorithm>
#include <set>

#include "convert/sniff.h"
#include "convert/tokenizers/bpe_builder.h"
#include "convert/tokenizers/hf_steps.h"
#include "convert/tokenizers/hf_template.h"
#include "convert/tokenizers/hf_tokenizer_folder.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr std::string_view kGpt2EndOfText = "<|endoftext|>";

void add_pieces(BpeBuilder& builder, const Json& vocab, const std::string& name) {
  for (const auto& [piece, id] : object(vocab, "the vocabulary in " + name).items())
    builder.add_piece(piece, whole_number(id, "an id in " + name, 0, INT32_MAX));
}

void check_known_keys(const Json& object, std::initializer_list<std::string_view> known, const std::string& what) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw Error(what + " has a key this reader does not know: " + in_quotes(key), "a BPE tokenizer",
                in_quotes(key) + ": " + shown(value));
  }
}

// Switches of the BPE model that change ids must be off.
void check_bpe_model(const Json& model, const std::string& name) {
  check_known_keys(model,
                   {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                    "byte_fallback", "ignore_merges", "vocab", "merges"},
                   "model in " + name);
  if (const Json* type = find(model, "type"); type != nullptr && *type != "BPE")
    refuse_field(name, "model.type", "BPE", type);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json* value = find(model, key);
        value != nullptr && !text(*value, std::string(key) + " in " + name).empty())
      refuse_field(name, std::string("model.") + key, "none", value);
  if (const Json* dropout = find(model, "dropout"); dropout != nullptr && number(*dropout, "dropout in " + name) != 0)
    refuse_field(name, "model.dropout", "none", dropout);
}

void add_merges(BpeBuilder& builder, const Json& merges, const std::string& name) {
  for (const Json& merge : array(merges, "merges in " + name)) {
    if (merge.is_string()) {
      builder.add_merge_line(merge.view());
      continue;
    }
    if (array(merge, "a merge in " + name).size() != 2)
      throw Error("a merge in " + name + " is no pair", "two pieces", std::to_string(merge.size()));
    builder.add_merge(text(merge[0], "a merge in " + name), text(merge[1], "a merge in " + name));
  }
}

std::vector<AddedToken> read_added_tokens(const Json& tree, const std::string& name) {
  std::vector<AddedToken> added;
  const Json* tokens = find(tree, "added_tokens");
  if (tokens == nullptr) return added;
  for (const Json& token : array(*tokens, "added_tokens in " + name)) {
    added.push_back(read_added_token(token, "an added token in " + name));
    const Json* id = token.is_object() ? find(token, "id") : nullptr;
    const std::string& content = added.back().content;
    if (id == nullptr) throw Error("added token " + in_quotes(content) + " in " + name + " has no id", "an id", "none");
    added.back().id = whole_number(*id, "the id of " + in_quotes(content) + " in " + name, 0, INT32_MAX);
  }
  return added;
}

// For a tokenizer without a model: one more than the largest id, which must be near the number of pieces.
int64_t size_of(const Json& vocab, const std::vector<AddedToken>& added, const std::string& name) {
  int64_t largest = 0, count = static_cast<int64_t>(added.size());
  for (const AddedToken& token : added) largest = std::max(largest, *token.id);
  for (const auto& [piece, id] : object(vocab, "the vocabulary in " + name).items()) {
    largest = std::max(largest, whole_number(id, "an id in " + name, 0, INT32_MAX));
    ++count;
  }
  if (largest > 2 * count + 1024)
    throw Error(name + " has ids far past the number of its pieces", "at most " + std::to_string(2 * count + 1024),
                std::to_string(largest));
  return largest + 1;
}

std::vector<AddedToken> with_ids(std::vector<AddedToken> tokens) {
  std::erase_if(tokens, [](const AddedToken& token) { return !token.id.has_value(); });
  return tokens;
}

}  // namespace

TokenizerData read_tokenizer_json(std::string_view source, const std::string& name, const std::string& folder,
                                  const Vocabulary& wanted) {
  const JsonDocument tree = parse_json(source, name);
  check_known_keys(object(tree, name),
                   {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                    "decoder", "model"},
                   name);
  const Json* model = find(tree, "model");
  if (model == nullptr) throw Error(name + " has no model", "a tokenizer of Hugging Face's format", "no such key");
  check_bpe_model(object(*model, "model in " + name), name);
  TokenizerData steps;
  const PipelineFacts facts = read_steps(tree, name, steps);
  const TextFrame frame = read_post_processor(find(tree, "post_processor"), name);

  const Json* vocab = find(*model, "vocab");
  const Json* merges = find(*model, "merges");
  if (vocab == nullptr || merges == nullptr)
    throw Error(name + " has no " + (vocab == nullptr ? "vocab" : "merges"), "model.vocab and model.merges",
                "no such key");
  const std::vector<AddedToken> added = read_added_tokens(tree, name);
  const Vocabulary sized = {wanted.vocab_size > 0 ? wanted.vocab_size : size_of(*vocab, added, name), wanted.bos_id,
                            wanted.note};
  BpeBuilder builder(name, sized,
                     facts.byte_level     ? BpeBuilder::Spelling::bytes
                     : facts.marks_blanks ? BpeBuilder::Spelling::marks
                                          : BpeBuilder::Spelling::characters);
  const auto flag = [&](const char* key) {
    const Json* value = find(*model, key);
    return value != nullptr && boolean(*value, std::string(key) + " in " + name);
  };
  if (flag("byte_fallback")) {
    if (facts.byte_level)
      refuse_field(name, "model.byte_fallback", "false with ByteLevel", find(*model, "byte_fallback"));
    builder.use_byte_pieces();
  }
  add_pieces(builder, *vocab, name);
  add_merges(builder, *merges, name);
  std::set<std::string> known;
  for (const AddedToken& token : added) {
    add_token(builder, token);
    known.insert(token.content);
  }
  const FolderSettings settings = read_folder_settings(folder);
  add_specials(builder, settings, known);

  const Json* unknown = find(*model, "unk_token");
  TokenizerData data = builder.finish(unknown == nullptr ? "" : text(*unknown, "unk_token in " + name));
  data.kind = steps.kind;
  data.split = steps.split;
  data.changes = std::move(steps.changes);
  data.cuts = std::move(steps.cuts);
  data.add_prefix_space = steps.add_prefix_space;
  data.prefix = steps.prefix;
  data.first_space = steps.first_space;
  data.ignore_merges = flag("ignore_merges");
  data.fuse_unknown = flag("fuse_unk");
  data.chat = settings.chat;
  set_frame(data, frame, name, sized);
  // Named for the chat template's sake.
  if (data.bos_id < 0 && !settings.start.empty()) data.bos_id = builder.id_of(settings.start);
  if (data.eos_id < 0 && !settings.end.empty()) data.eos_id = builder.id_of(settings.end);
  if ((settings.add_start && frame.start == -1) || (settings.add_end && frame.end == -1))
    say(wanted.note, "tokenizer_config.json asks for start or end tokens that the template of " + name +
                         " does not add: it decides, as in transformers 5");
  if (facts.byte_level && settings.add_prefix_space && *settings.add_prefix_space != data.add_prefix_space)
    throw Error("tokenizer_config.json contradicts tokenizer.json in " + folder, "one value of add_prefix_space",
                data.add_prefix_space ? "true in tokenizer.json" : "false in tokenizer.json");
  return data;
}

TokenizerData read_bpe_files(const BpeFiles& files, const Vocabulary& wanted) {
  FolderSettings settings = read_folder_settings(files.folder);
  static const std::set<std::string> kClasses = {"", "GPT2Tokenizer", "GPT2TokenizerFast", "PreTrainedTokenizerFast",
                                                 "TokenizersBackend"};
  if (!kClasses.contains(settings.tokenizer_class))
    throw Error("tokenizer_config.json in " + files.folder + " asks for a tokenizer of another kind", "GPT2Tokenizer",
                "tokenizer_class: " + in_quotes(settings.tokenizer_class));

  const JsonDocument vocab = parse_json(files.vocab, files.vocab_name);
  const Vocabulary sized = {
      wanted.vocab_size > 0 ? wanted.vocab_size : size_of(vocab, with_ids(settings.specials), files.vocab_name),
      wanted.bos_id, wanted.note};
  BpeBuilder builder(files.vocab_name, sized);
  add_pieces(builder, vocab, files.vocab_name);
  std::string_view rest = files.merges;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (first && line.starts_with("#version"))) continue;
    try {
      builder.add_merge_line(line);
    } catch (const Error& error) {
      throw Error(files.merges_name + " does not fit " + files.vocab_name, error.expected(),
                  error.summary() + ": " + error.found());
    }
  }
  // GPT-2's special token, and what its tokenizer falls back to, unless the folder names others.
  if (settings.specials.empty()) settings.specials.push_back({std::string(kGpt2EndOfText)});
  add_specials(builder, settings);
  TokenizerData data = builder.finish(settings.unknown.empty() ? std::string(kGpt2EndOfText) : settings.unknown);
  data.add_prefix_space = settings.add_prefix_space.value_or(false);
  const auto added = [&](bool adds, const std::string& token) -> int64_t {
    if (!adds) return -1;
    const std::string& wanted_name = token.empty() ? std::string(kGpt2EndOfText) : token;
    const TokenId id = builder.id_of(wanted_name);
    if (id < 0)
      throw Error("tokenizer_config.json in " + files.folder + " puts a token before or after texts that has no id",
                  "a piece of " + files.vocab_name, in_quotes(wanted_name));
    return id;
  };
  set_frame(data, {added(settings.add_start, settings.start), added(settings.add_end, settings.end)}, files.folder,
            sized);
  data.chat = settings.chat;
  return data;
}

}  // namespace ordinal::convert
