// hf_tokenizer_folder.cpp: see hf_tokenizer_folder.h.
#include "convert/tokenizers/hf_tokenizer_folder.h"

#include <filesystem>

#include "convert/json_file.h"
#include "convert/sniff.h"
#include "convert/tokenizers/chat_marks.h"
#include "convert/tokenizers/hf_template.h"
#include "ordinal/error.h"

namespace ordinal::convert {

AddedToken read_added_token(const Json& token, const std::string& what, bool special) {
  if (token.is_string()) return {std::string(token.view())};
  object(token, what);
  const auto flag = [&](const char* key, bool otherwise) {
    const Json* value = find(token, key);
    return value == nullptr ? otherwise : boolean(*value, std::string(key) + " of " + what);
  };
  const Json* content = find(token, "content");
  if (content == nullptr) throw Error(what + " has no content", "the text of the token", "no such key");
  AddedToken added{text(*content, what)};
  added.special = flag("special", special);
  added.how.lstrip = flag("lstrip", false);
  added.how.rstrip = flag("rstrip", false);
  added.how.single_word = flag("single_word", false);
  added.how.normalized = flag("normalized", false);
  return added;
}

namespace {

namespace fs = std::filesystem;

void read_named_tokens(const Json& settings, const std::string& name, FolderSettings& found) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
    if (const Json* token = find(settings, key); token != nullptr) {
      found.specials.push_back(read_added_token(*token, std::string(key) + " in " + name));
      const std::string& name_of_token = found.specials.back().content;
      if (std::string_view(key) == "unk_token") found.unknown = name_of_token;
      if (std::string_view(key) == "bos_token") found.start = name_of_token;
      if (std::string_view(key) == "eos_token") found.end = name_of_token;
    }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    if (const Json* tokens = find(settings, key); tokens != nullptr && tokens->is_structured())
      for (const Json& token : *tokens)
        found.specials.push_back(read_added_token(token, std::string(key) + " in " + name));
}

// One template, or a list of them with names, of which "default" counts.
std::string chat_in_config(const Json& chat) {
  if (chat.is_string()) return known_chat(chat.view());
  if (!chat.is_array()) return "";
  for (const Json& entry : chat) {
    const Json* name = entry.is_object() ? find(entry, "name") : nullptr;
    const Json* source = entry.is_object() ? find(entry, "template") : nullptr;
    if (name != nullptr && *name == "default" && source != nullptr && source->is_string())
      return known_chat(source->view());
  }
  return "";
}

void read_tokenizer_config(const Json& config, const std::string& name, FolderSettings& found) {
  const auto flag = [&](const char* key) {
    const Json* value = find(config, key);
    return value != nullptr && boolean(*value, std::string(key) + " in " + name);
  };
  if (flag("do_lower_case")) refuse_field(name, "do_lower_case", "false", find(config, "do_lower_case"));
  found.add_start = flag("add_bos_token");
  found.add_end = flag("add_eos_token");
  found.says_add_start = find(config, "add_bos_token") != nullptr;
  if (const Json* value = find(config, "add_prefix_space"); value != nullptr)
    found.add_prefix_space = boolean(*value, "add_prefix_space in " + name);
  if (const Json* value = find(config, "tokenizer_class"); value != nullptr)
    found.tokenizer_class = text(*value, "tokenizer_class in " + name);
  if (const Json* tokens = find(config, "added_tokens_decoder"); tokens != nullptr)
    for (const auto& [key, token] : object(*tokens, "added_tokens_decoder in " + name).items()) {
      const std::string what = "an id in added_tokens_decoder of " + name;
      found.specials.push_back(read_added_token(token, "a token in added_tokens_decoder of " + name));
      found.specials.back().id = whole_number(parse_json(key, what), what, 0, INT32_MAX);
    }
  if (const Json* chat = find(config, "chat_template"); chat != nullptr) found.chat = chat_in_config(*chat);
  read_named_tokens(config, name, found);
}

}  // namespace

FolderSettings read_folder_settings(const std::string& folder) {
  FolderSettings found;
  const auto in_folder = [&](const char* file) { return (fs::path(folder) / file).string(); };
  const auto exists = [&](const char* file) { return !folder.empty() && fs::exists(in_folder(file)); };
  if (exists("tokenizer_config.json")) {
    const std::string name = in_folder("tokenizer_config.json");
    const JsonDocument config = read_json(name);
    read_tokenizer_config(object(config, name), name, found);
  }
  if (exists("chat_template.jinja"))
    found.chat = known_chat(as_text(MappedFile::open(in_folder("chat_template.jinja"))->bytes()));
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

void add_token(BpeBuilder& builder, const AddedToken& added) {
  if (added.special || !added.id) {
    builder.add_special(added.content, added.id, added.how);
  } else {
    builder.add_found(added.content, *added.id, added.how);
  }
}

void add_specials(BpeBuilder& builder, const FolderSettings& settings, const std::set<std::string>& known) {
  // Those with ids first: the others are names that must already have one. The first that says how it is found counts.
  std::set<std::string> done = known;
  for (const bool with_id : {true, false})
    for (const AddedToken& special : settings.specials) {
      if (special.id.has_value() != with_id || (special.content.empty() && !with_id)) continue;
      if (done.insert(special.content).second) add_token(builder, special);
    }
}

}  // namespace ordinal::convert
