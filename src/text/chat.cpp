// chat.cpp: see chat.h. What the published templates write for one message, no system message given, and
// add_generation_prompt; src/convert/chat_marks.cpp tells which one a checkpoint has.
#include "text/chat.h"

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

struct ChatTemplate {
  std::string_view name, before, after;  // {eos}: the name of the end token
  bool trims = false;                    // blanks at both ends of the message are left out
};

constexpr std::string_view kChatmlAnswer = "<|im_end|>\n<|im_start|>assistant\n";
constexpr std::string_view kLlama3Answer = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";

constexpr ChatTemplate kTemplates[] = {
    {"chatml", "<|im_start|>user\n", kChatmlAnswer},
    {"chatml-qwen2",
     "<|im_start|>system\n"
     "You are a helpful assistant."
     "<|im_end|>\n<|im_start|>user\n",
     kChatmlAnswer},
    {"chatml-qwen2.5",
     "<|im_start|>system\n"
     "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
     "<|im_end|>\n<|im_start|>user\n",
     kChatmlAnswer},
    {"chatml-smollm2",
     "<|im_start|>system\n"
     "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
     "<|im_end|>\n<|im_start|>user\n",
     kChatmlAnswer},
    {"llama2", "[INST] ", " [/INST]", true},
    {"llama3", "<|start_header_id|>user<|end_header_id|>\n\n", kLlama3Answer, true},
    {"llama3.1",
     "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
     "<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\n",
     kLlama3Answer, true},
    {"gemma", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", true},
    {"mistral", "[INST] ", " [/INST]"},
    {"mistral-v3", "[INST] ", "[/INST]"},
    {"mistral-tekken", "[INST]", "[/INST]"},
    {"phi3", "<|user|>\n", "<|end|>\n<|assistant|>\n"},
    {"zephyr", "<|user|>\n", "{eos}\n<|assistant|>\n"},
};

constexpr std::string_view kWithStart = "+bos";  // behind a name: the start token comes first
constexpr std::string_view kEndToken = "{eos}";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kTrimmed = " \t\n\r\v\f";
  const size_t first = text.find_first_not_of(kTrimmed);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kTrimmed) + 1 - first);
}

std::string with_end_token(std::string_view text, const Tokenizer& tokenizer) {
  const size_t place = text.find(kEndToken);
  if (place == std::string_view::npos) return std::string(text);
  const TokenId id = tokenizer.data().eos_id;
  return std::string(text.substr(0, place))
      .append(id < 0 ? "" : tokenizer.piece(id))
      .append(text.substr(place + kEndToken.size()));
}

}  // namespace

std::string chat_text(const Tokenizer& tokenizer, std::string_view message) {
  std::string_view name = tokenizer.data().chat;
  const bool starts = name.ends_with(kWithStart);
  if (starts) name.remove_suffix(kWithStart.size());
  for (const ChatTemplate& row : kTemplates) {
    if (row.name != name) continue;
    const TokenId start = tokenizer.data().bos_id;
    std::string text(starts && start >= 0 ? tokenizer.piece(start) : "");
    return text.append(row.before)
        .append(row.trims ? trimmed(message) : message)
        .append(with_end_token(row.after, tokenizer));
  }
  throw Error("the model has no chat template that is known", joined(kTemplates, ", ", &ChatTemplate::name),
              name.empty() ? "none, or one of another kind" : in_quotes(name),
              "the template's own words around the message, with --special: ordinal generate --special "
              "'<|user|>Hello<|end|><|assistant|>'");
}

std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::string_view message) {
  return tokenizer.encode(chat_text(tokenizer, message), {.parse_special = true, .add_bos = false});
}

}  // namespace ordinal
