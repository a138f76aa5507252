// hf_tokenizer_folder.h: what lies beside a Hugging Face tokenizer: names of special tokens, settings, the chat
// template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "convert/tokenizers/bpe_builder.h"

namespace ordinal::convert {

// An added token as files write it: a name, or an object with one and with how it is looked for.
struct AddedToken {
  std::string content;
  std::optional<int64_t> id = {};
  bool special = true;
  TokenizerData::Added how = {};
};

// tokenizer_config.json, special_tokens_map.json, added_tokens.json, chat_template.jinja: names of special tokens, with
// ids where they are given; `chat` is the name of a template that is known.
struct FolderSettings {
  std::vector<AddedToken> specials;
  std::string unknown, start, end, tokenizer_class, chat;
  bool add_start = false, add_end = false;
  bool says_add_start = false;  // whether there was anything to read
  std::optional<bool> add_prefix_space;
};

// Throws Error for a token without a name; `special` is what one that does not say is.
AddedToken read_added_token(const Json& token, const std::string& what, bool special = true);

// "" for no folder. Throws Error for files that are damaged, and for settings that the engine does not do.
FolderSettings read_folder_settings(const std::string& folder);

// Adds the token to those the builder knows, special or not.
void add_token(BpeBuilder& builder, const AddedToken& added);

// Adds what the folder names, but for names that are in `known`.
void add_specials(BpeBuilder& builder, const FolderSettings& settings, const std::set<std::string>& known = {});

}  // namespace ordinal::convert
