// hf_tokenizer.cpp: byte-level BPE tokenizers of Hugging Face and OpenAI: tokenizer.json, or a vocabulary and merges.
#include <filesystem>
#include <set>

#include "convert/bpe_builder.h"
#include "convert/hf_template.h"
#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGpt2EndOfText = "<|endoftext|>";

// What else lies in a tokenizer's folder says: names of special tokens, with ids where they are given.
struct FolderSettings {
  struct Special {
    std::string content;
    std::optional<int64_t> id;
  };
  std::vector<Special> specials;
  std::string unknown, start, end, tokenizer_class;
  bool add_start = false, add_end = false;
  std::optional<bool> add_prefix_space;
};

// A special token is written as a name or as an object with one. What trims blanks around it is refused.
std::string special_name(const Json& token, const std::string& what) {
  if (token.is_string()) return std::string(token.view());
  object(token, what);
  for (const char* flag : {"lstrip", "rstrip", "single_word"})
    if (const Json* value = find(token, flag); value != nullptr && boolean(*value, what))
      refuse_field(what, flag, std::string(flag) + ": false", value);
  const Json* content = find(token, "content");
  if (content == nullptr) throw Error(what + " has no content", "the text of the token", "no such key");
  return text(*content, what);
}

void read_named_tokens(const Json& settings, const std::string& name, FolderSettings& found) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
    if (const Json* token = find(settings, key); token != nullptr) {
      found.specials.push_back({special_name(*token, std::string(key) + " in " + name), {}});
      const std::string& name_of_token = found.specials.back().content;
      if (std::string_view(key) == "unk_token") found.unknown = name_of_token;
      if (std::string_view(key) == "bos_token") found.start = name_of_token;
      if (std::string_view(key) == "eos_token") found.end = name_of_token;
    }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    if (const Json* tokens = find(settings, key); tokens != nullptr && tokens->is_structured())
      for (const Json& token : *tokens)
        found.specials.push_back({special_name(token, std::string(key) + " in " + name), {}});
}

void read_tokenizer_config(const Json& config, const std::string& name, FolderSettings& found) {
  const auto flag = [&](const char* key) {
    const Json* value = find(config, key);
    return value != nullptr && boolean(*value, std::string(key) + " in " + name);
  };
  if (flag("do_lower_case")) refuse_field(name, "do_lower_case", "false", find(config, "do_lower_case"));
  found.add_start = flag("add_bos_token");
  found.add_end = flag("add_eos_token");
  if (const Json* value = find(config, "add_prefix_space"); value != nullptr)
    found.add_prefix_space = boolean(*value, "add_prefix_space in " + name);
  if (const Json* value = find(config, "tokenizer_class"); value != nullptr)
    found.tokenizer_class = text(*value, "tokenizer_class in " + name);
  if (const Json* tokens = find(config, "added_tokens_decoder"); tokens != nullptr)
    for (const auto& [key, token] : object(*tokens, "added_tokens_decoder in " + name).items()) {
      const std::string what = "an id in added_tokens_decoder of " + name;
      found.specials.push_back({special_name(token, "a token in added_tokens_decoder of " + name),
                                whole_number(parse_json(key, what), what, 0, INT32_MAX)});
    }
  read_named_tokens(config, name, found);
}

FolderSettings read_folder_settings(const std::string& folder) {
  FolderSettings found;
  const auto in_folder = [&](const char* file) { return (fs::path(folder) / file).string(); };
  const auto exists = [&](const char* file) { return !folder.empty() && fs::exists(in_folder(file)); };
  if (exists("tokenizer_config.json")) {
    const std::string name = in_folder("tokenizer_config.json");
    const JsonDocument config = read_json(name);
    read_tokenizer_config(object(config, name), name, found);
  }
  if (exists("special_tokens_map.json")) {
    const std::string name = in_folder("special_tokens_map.json");
    const JsonDocument tokens = read_json(name);
    read_named_tokens(object(tokens, name), name, found);
  }
  if (exists("added_tokens.json")) {
    const std::string name = in_folder("added_tokens.json");
    const JsonDocument tokens = read_json(name);
    for (const auto& [content, id] : object(tokens, name).items())
      found.specials.push_back({content, whole_number(id, "an id in " + name, 0, INT32_MAX)});
  }
  return found;
}

void add_pieces(BpeBuilder& builder, const Json& vocab, const std::string& name) {
  for (const auto& [piece, id] : object(vocab, "the vocabulary in " + name).items())
    builder.add_piece(piece, whole_number(id, "an id in " + name, 0, INT32_MAX));
}

void add_specials(BpeBuilder& builder, const FolderSettings& settings) {
  // Those with ids first: the others are names that must already have one.
  for (const bool with_id : {true, false})
    for (const auto& special : settings.specials)
      if (special.id.has_value() == with_id && !(special.content.empty() && !with_id))
        builder.add_special(special.content, special.id);
}

// The one step of a pipeline: itself, or the only one in a sequence of one. nullptr for none.
const Json* only_step(const Json* step, const char* list_key, const std::string& name, const std::string& field) {
  if (step == nullptr) return nullptr;
  const Json* type = find(object(*step, field + " in " + name), "type");
  if (type == nullptr || *type != "Sequence") return step;
  const Json* steps = find(*step, list_key);
  if (steps == nullptr || array(*steps, field + " in " + name).empty()) return nullptr;
  if (steps->size() > 1) refuse_field(name, field, "one step at most", steps);
  return only_step(&(*steps)[0], list_key, name, field);
}

void check_byte_level(const Json* step, const std::string& name, const std::string& field) {
  if (step == nullptr) return;
  const Json* type = find(*step, "type");
  if (type == nullptr || *type != "ByteLevel") refuse_field(name, field, "ByteLevel", type);
}

void check_known_keys(const Json& object, std::initializer_list<std::string_view> known, const std::string& what) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw Error(what + " has a key this reader does not know: " + in_quotes(key), "a byte-level BPE tokenizer",
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
  for (const char* flag : {"fuse_unk", "byte_fallback", "ignore_merges"})
    if (const Json* value = find(model, flag); value != nullptr && boolean(*value, std::string(flag) + " in " + name))
      refuse_field(name, std::string("model.") + flag, "false", value);
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
  if (const Json* step = only_step(find(tree, "normalizer"), "normalizers", name, "normalizer"); step != nullptr)
    refuse_field(name, "normalizer", "none", step);
  const Json* splitter = only_step(find(tree, "pre_tokenizer"), "pretokenizers", name, "pre_tokenizer");
  if (splitter == nullptr) refuse_field(name, "pre_tokenizer", "ByteLevel", nullptr);
  check_byte_level(splitter, name, "pre_tokenizer");
  const TextFrame frame = read_post_processor(find(tree, "post_processor"), name);
  check_byte_level(only_step(find(tree, "decoder"), "decoders", name, "decoder"), name, "decoder");

  const Json* vocab = find(*model, "vocab");
  const Json* merges = find(*model, "merges");
  if (vocab == nullptr || merges == nullptr)
    throw Error(name + " has no " + (vocab == nullptr ? "vocab" : "merges"), "model.vocab and model.merges",
                "no such key");
  BpeBuilder builder(name, wanted);
  add_pieces(builder, *vocab, name);
  add_merges(builder, *merges, name);
  if (const Json* tokens = find(tree, "added_tokens"); tokens != nullptr)
    for (const Json& token : array(*tokens, "added_tokens in " + name)) {
      const std::string content = special_name(token, "an added token in " + name);
      const Json* id = token.is_object() ? find(token, "id") : nullptr;
      if (id == nullptr)
        throw Error("added token " + in_quotes(content) + " in " + name + " has no id", "an id", "none");
      builder.add_special(content, whole_number(*id, "the id of " + in_quotes(content) + " in " + name, 0, INT32_MAX));
      if (const Json* special = find(token, "special"); special != nullptr && !boolean(*special, "special in " + name))
        say(wanted.note,
            "added token " + in_quotes(content) + " is found in text only where special tokens are asked for");
    }
  const FolderSettings settings = read_folder_settings(folder);
  add_specials(builder, settings);

  const Json* unknown = find(*model, "unk_token");
  TokenizerData data = builder.finish(unknown == nullptr ? "" : text(*unknown, "unk_token in " + name));
  const Json* use_regex = find(*splitter, "use_regex");
  const bool splits = use_regex == nullptr || boolean(*use_regex, "use_regex in " + name);
  data.split = splits ? "gpt2" : "none";
  const Json* prefix_space = find(*splitter, "add_prefix_space");
  if (prefix_space == nullptr) refuse_field(name, "pre_tokenizer", "add_prefix_space, true or false", splitter);
  data.add_prefix_space = boolean(*prefix_space, "add_prefix_space in " + name);
  set_frame(data, frame, name, wanted);
  if ((settings.add_start && frame.start == -1) || (settings.add_end && frame.end == -1))
    say(wanted.note, "tokenizer_config.json asks for start or end tokens that the template of " + name +
                         " does not add: it decides, as in transformers 5");
  if (settings.add_prefix_space && *settings.add_prefix_space != data.add_prefix_space)
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

  BpeBuilder builder(files.vocab_name, wanted);
  add_pieces(builder, parse_json(files.vocab, files.vocab_name), files.vocab_name);
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
  if (settings.specials.empty()) settings.specials.push_back({std::string(kGpt2EndOfText), {}});
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
            wanted);
  return data;
}

}  // namespace ordinal::convert
