// chat.cpp: see chat.h. What the published templates write, and add_generation_prompt;
// src/convert/tokenizers/chat_marks.cpp tells which one a checkpoint has.
#include "text/chat.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

// What stands around a message. {eos}: the name of the end token, {bos}: of the start token where there is one.
struct Turn {
  std::string_view before, after;
};

struct ChatTemplate {
  std::string_view name;
  std::optional<Turn> system;  // nothing: system messages are not taken
  Turn user, assistant;
  std::string_view answer;                              // what comes last
  bool trims = false;                                   // blanks at both ends of a message are left out
  std::optional<std::string_view> default_system = {};  // the system message where none is given
  bool system_in_user = false;                          // the system's turn stands at the head of the user's content
};

constexpr Turn kChatmlSystem = {"<|im_start|>system\n", "<|im_end|>\n"},
               kChatmlUser = {"<|im_start|>user\n", "<|im_end|>\n"},
               kChatmlAssistant = {"<|im_start|>assistant\n", "<|im_end|>\n"};
constexpr Turn kLlama3User = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
               kLlama3Assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"};

constexpr ChatTemplate chatml(std::string_view name, std::optional<std::string_view> default_system) {
  return {name, kChatmlSystem, kChatmlUser, kChatmlAssistant, kChatmlAssistant.before, false, default_system};
}

constexpr ChatTemplate kTemplates[] = {
    chatml("chatml", {}),
    chatml("chatml-qwen2", "You are a helpful assistant."),
    chatml("chatml-qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    chatml("chatml-smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    {.name = "llama2",
     .system = Turn{"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .user = {"{bos}[INST] ", " [/INST]"},
     .assistant = {" ", " {eos}"},
     .answer = "",
     .trims = true,
     .system_in_user = true},
    {"llama3", Turn{"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"}, kLlama3User, kLlama3Assistant,
     kLlama3Assistant.before, true},
    {"llama3.1",
     Turn{"<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul "
          "2024\n\n",
          "<|eot_id|>"},
     kLlama3User, kLlama3Assistant, kLlama3Assistant.before, true, ""},
    {"gemma",
     {},
     {"<start_of_turn>user\n", "<end_of_turn>\n"},
     {"<start_of_turn>model\n", "<end_of_turn>\n"},
     "<start_of_turn>model\n",
     true},
    {"mistral", {}, {"[INST] ", " [/INST]"}, {"", "{eos}"}, ""},
    {"mistral-v3", {}, {"[INST] ", "[/INST]"}, {"", "{eos}"}, ""},
    {"mistral-tekken", {}, {"[INST]", "[/INST]"}, {"", "{eos}"}, ""},
    {"phi3",
     Turn{"<|system|>\n", "<|end|>\n"},
     {"<|user|>\n", "<|end|>\n"},
     {"<|assistant|>\n", "<|end|>\n"},
     "<|assistant|>\n"},
    {"zephyr",
     Turn{"<|system|>\n", "{eos}\n"},
     {"<|user|>\n", "{eos}\n"},
     {"<|assistant|>\n", "{eos}\n"},
     "<|assistant|>\n"},
};

constexpr std::string_view kWithStart = "+bos";  // behind a name: the start token comes first

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kTrimmed = " \t\n\r\v\f";
  const size_t first = text.find_first_not_of(kTrimmed);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kTrimmed) + 1 - first);
}

// Writes a conversation by a template.
class ChatWriter {
 public:
  ChatWriter(const ChatTemplate& row, const Tokenizer& tokenizer, bool starts)
      : row_(row), end_(piece_of(tokenizer, tokenizer.data().eos_id)) {
    if (starts) start_ = piece_of(tokenizer, tokenizer.data().bos_id);
  }

  std::string write(std::span<const ChatMessage> messages) {
    if (!row_.user.before.starts_with("{bos}")) text_ = start_;
    if (messages.front().role != "system" && messages.front().role != "developer" && row_.default_system)
      turn(*row_.system, *row_.default_system);
    for (size_t i = 0; i < messages.size(); ++i) add(messages[i], i == 0);
    if (!held_.empty())
      throw Error("a system message stands alone", "a message of the user behind it",
                  "none, and the template "
                  "puts the one into the other");
    frame(row_.answer);
    return std::move(text_);
  }

 private:
  static std::string piece_of(const Tokenizer& tokenizer, TokenId id) {
    return id < 0 ? "" : std::string(tokenizer.piece(id));
  }

  void add(const ChatMessage& message, bool first) {
    if (message.role == "system" || message.role == "developer") {
      if (!row_.system)
        throw Error("the model's chat template takes no system message", "user and assistant", "system");
      if (!first)
        throw Error("a system message is not the first", "one at most, before all others", "one between others");
      if (row_.system_in_user)
        held_ = std::string(row_.system->before) + message.content + std::string(row_.system->after);
      else
        turn(*row_.system, message.content);
    } else if (message.role == "user") {
      turn(row_.user, std::exchange(held_, "") + message.content);
    } else if (message.role == "assistant") {
      turn(row_.assistant, message.content);
    } else {
      throw Error("a message has a role that there is not", "system, developer, user, assistant",
                  in_quotes(message.role));
    }
  }

  void turn(const Turn& around, std::string_view content) {
    frame(around.before);
    text_ += row_.trims ? trimmed(content) : content;
    frame(around.after);
  }

  // The template's own words, with the names of its tokens in place of {bos} and {eos}.
  void frame(std::string_view words) {
    while (!words.empty()) {
      const size_t place = words.find('{');
      text_ += words.substr(0, place);
      if (place == std::string_view::npos) return;
      text_ += words.substr(place).starts_with("{bos}") ? start_ : end_;
      words.remove_prefix(place + std::string_view("{bos}").size());
    }
  }

  const ChatTemplate& row_;
  std::string start_, end_;
  std::string held_;  // of a system message that waits for the user's
  std::string text_;
};

}  // namespace

std::string chat_text(const Tokenizer& tokenizer, std::span<const ChatMessage> messages) {
  std::string_view name = tokenizer.data().chat;
  const bool starts = name.ends_with(kWithStart);
  if (starts) name.remove_suffix(kWithStart.size());
  if (messages.empty()) throw Error("there are no messages", "one or more", "none");
  const auto* const row = std::ranges::find(kTemplates, name, &ChatTemplate::name);
  if (row != std::end(kTemplates)) return ChatWriter(*row, tokenizer, starts).write(messages);
  throw Error("the model has no chat template that is known", joined(kTemplates, ", ", &ChatTemplate::name),
              name.empty() ? "none, or one of another kind" : in_quotes(name),
              "the template's own words around the message, with --special: ordinal generate --special "
              "'<|user|>Hello<|end|><|assistant|>'");
}

std::string chat_text(const Tokenizer& tokenizer, std::string_view message) {
  const ChatMessage one{"user", std::string(message)};
  return chat_text(tokenizer, std::span(&one, 1));
}

std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::span<const ChatMessage> messages) {
  return tokenizer.encode(chat_text(tokenizer, messages), {.parse_special = true, .add_bos = false});
}

std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::string_view message) {
  const ChatMessage one{"user", std::string(message)};
  return chat_ids(tokenizer, std::span(&one, 1));
}

}  // namespace ordinal
