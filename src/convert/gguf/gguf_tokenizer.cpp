// gguf_tokenizer.cpp: see gguf_tokenizer.h. What the keys mean is what llama.cpp makes of them.
#include "convert/gguf/gguf_tokenizer.h"

#include <algorithm>

#include "base/words.h"
#include "convert/tokenizers/bpe_builder.h"
#include "convert/tokenizers/chat_marks.h"
#include "convert/tokenizers/scored_pieces.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

using Cuts = std::vector<TokenizerData::Cut>;

constexpr const char* kMarksAlone = R"([\p{P}$+<=>^~|`]+)";

// How text is cut, by the word of the key `pre`.
struct PreRule {
  std::string_view names;  // with blanks between
  std::string_view split;  // a rule, or "" for cuts
  Cuts (*cuts)() = nullptr;
  bool takes_words = false, adds_bos = false;
};
const PreRule kPreRules[] = {
    {"gpt-2 phi-2 mpt olmo jais roberta-bpe", "gpt2"},
    {"smollm starcoder refact command-r codeshell exaone", "",
     [] { return Cuts{{"isolated", R"(\p{N})"}, {"rule", "gpt2"}}; }},
    {"llama-bpe llama3 llama-v3", "llama3", nullptr, true, true},
    {"dbrx smaug-bpe", "llama3"},
    {"qwen2 stablelm2 deepseek-r1-qwen", "qwen2"},
    {"falcon", "", [] { return Cuts{{"isolated", kMarksAlone}, {"rule", "gpt2"}, {"isolated", "[0-9][0-9][0-9]"}}; }},
    {"bloom poro-chat gpt3-finnish", "", [] { return Cuts{{"isolated", R"( ?[^(\s|.,!?…。，、।۔،)]+)"}}; }},
    {"default", "", [] {
       return Cuts{
           {"isolated", kMarksAlone}, {"rule", "gpt2"}, {"isolated", R"(\p{N}+)"}, {"isolated", "[0-9][0-9][0-9]"}};
     }}};

const PreRule& pre_rule(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted) {
  const std::string pre = facts.pre.empty() ? "default" : facts.pre;
  if (pre == "default")
    say(wanted.note,
        name + " does not say how its tokenizer cuts text: the ids may be others than those it was trained on");
  std::string known;
  for (const PreRule& rule : kPreRules) {
    if ((" " + std::string(rule.names) + " ").find(" " + pre + " ") != std::string::npos) return rule;
    known += (known.empty() ? "" : " ") + std::string(rule.names);
  }
  throw Error(name + " cuts text by a rule that is not known: tokenizer.ggml.pre", known, in_quotes(facts.pre),
              "--vocab with the tokenizer.json that belongs to the model");
}

TokenizerData read_byte_level(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted) {
  const PreRule& rule = pre_rule(facts, name, wanted);
  const Vocabulary sized = {rows_for(facts.tokens.size(), name, wanted), wanted.bos_id, wanted.note};
  if (!facts.token_types.empty() && facts.token_types.size() != facts.tokens.size())
    throw Error("the lists of " + name + "'s tokenizer differ in length",
                std::to_string(facts.tokens.size()) + " of each", std::to_string(facts.token_types.size()) + " types");
  BpeBuilder builder(name, sized);
  const auto type_of = [&](size_t i) {
    return facts.token_types.empty() ? PieceType::normal : static_cast<PieceType>(facts.token_types[i]);
  };
  for (size_t i = 0; i < facts.tokens.size(); ++i)
    if (type_of(i) == PieceType::normal) builder.add_piece(facts.tokens[i], static_cast<int64_t>(i));
  for (const std::string& merge : facts.merges) {
    const size_t blank = merge.find(' ', 1);
    if (blank == std::string::npos || blank + 1 == merge.size())
      throw Error(name + " has a merge that is none", "two pieces with a space between", in_quotes(merge));
    builder.add_merge(merge.substr(0, blank), merge.substr(blank + 1));
  }
  for (size_t i = 0; i < facts.tokens.size(); ++i) {
    const PieceType type = type_of(i);
    if (type == PieceType::control || type == PieceType::unknown)
      builder.add_special(facts.tokens[i], static_cast<int64_t>(i));
    if (type == PieceType::user_defined) builder.add_found(facts.tokens[i], static_cast<int64_t>(i), {});
  }
  TokenizerData data = builder.finish("");
  data.split = rule.split.empty() ? "none" : rule.split;
  if (rule.cuts != nullptr) data.cuts = rule.cuts();
  data.ignore_merges = rule.takes_words;
  data.adds_bos = facts.add_bos.value_or(rule.adds_bos);
  return data;
}

TokenizerData read_llama(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted) {
  TokenizerData data = read_scored_pieces(facts.tokens, facts.scores, facts.token_types, name, wanted);
  const bool spaces = facts.add_space_prefix.value_or(true);
  data.prefix = spaces ? "every" : "none";
  data.first_space = spaces ? "dropped" : "kept";
  data.adds_bos = facts.add_bos.value_or(true);
  return data;
}

struct GgufModel {
  std::string_view name;
  TokenizerData (*read)(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted);
};
constexpr GgufModel kGgufModels[] = {{"gpt2", read_byte_level}, {"llama", read_llama}};

}  // namespace

TokenizerData read_gguf_tokenizer(const GgufTokenizer& facts, const std::string& name, const Vocabulary& wanted) {
  if (facts.model.empty() || facts.model == "no_vocab" || facts.model == "none") return {};
  for (const GgufModel& model : kGgufModels) {
    if (model.name != facts.model) continue;
    TokenizerData data = model.read(facts, name, wanted);
    set_token(data.bos_id, facts.bos_id, "bos_token_id", data, name);
    set_token(data.eos_id, facts.eos_id, "eos_token_id", data, name);
    if (facts.unknown_id >= 0 && data.unknown_id < 0 && data.kind == "scores")
      set_token(data.unknown_id, facts.unknown_id, "unknown_token_id", data, name);
    data.adds_bos = data.adds_bos && data.bos_id >= 0;
    data.adds_eos = facts.add_eos.value_or(false) && data.eos_id >= 0;
    data.chat = known_chat(facts.chat_template);
    return data;
  }
  throw Error(name + " has a tokenizer of a kind the engine does not have: tokenizer.ggml.model",
              joined(kGgufModels, ", ", &GgufModel::name), in_quotes(facts.model));
}

}  // namespace ordinal::convert
