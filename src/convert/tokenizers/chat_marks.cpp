// chat_marks.cpp: see chat_marks.h. A template is known by marks: pieces of its source that the programs of one kind
// share, those that would change the text of a single message among them. src/text/chat.cpp has what is written.
#include "convert/tokenizers/chat_marks.h"

#include <algorithm>
#include <vector>

namespace ordinal::convert {
namespace {

struct Marks {
  std::string_view name;
  std::vector<std::string_view> all, none;
};

// The first whose marks are all there counts. Quotes are double, \n is a line end, and strings that are joined are one.
const std::vector<Marks>& known_marks() {
  static constexpr std::string_view kAnswer = "<|im_start|>assistant\n";
  static const std::vector<Marks> marks = {
      {"chatml-qwen2.5",
       {"<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n",
        kAnswer},
       {"strftime_now"}},
      {"chatml-qwen2", {"<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n", kAnswer}, {"strftime_now"}},
      {"chatml-smollm2",
       {"<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n",
        kAnswer},
       {"strftime_now"}},
      {"chatml", {"<|im_start|>", "<|im_end|>", kAnswer}, {"strftime_now", "<|im_sep|>"}},
      {"llama3.1",
       {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "Cutting Knowledge Date: December 2023\n",
        "26 Jul 2024", "trim"},
       {}},
      {"llama3", {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "trim"}, {"Cutting Knowledge Date"}},
      {"gemma", {"<start_of_turn>", "<end_of_turn>\n", "<start_of_turn>model\n", "trim"}, {}},
      {"llama2", {"[INST] ", " [/INST]", "<<SYS>>", "strip()"}, {}},
      {"mistral", {"\"[INST] \"", "\" [/INST]\""}, {"<<SYS>>", "[SYSTEM_PROMPT]"}},
      {"mistral-v3", {"\"[INST] \"", "\"[/INST]\""}, {"<<SYS>>", "[SYSTEM_PROMPT]"}},
      {"mistral-tekken", {"\"[INST]\"", "\"[/INST]\""}, {"<<SYS>>", "[SYSTEM_PROMPT]"}},
      {"phi3", {"<|user|>\n", "<|end|>\n", "<|assistant|>\n"}, {"<|im_start|>"}},
      {"zephyr", {"<|user|>\n", "eos_token", "<|assistant|>"}, {"<|end|>", "<|im_start|>"}},
  };
  return marks;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string changed;
  size_t at = 0;
  for (size_t place = text.find(from); place != std::string::npos; place = text.find(from, at)) {
    changed.append(text, at, place - at).append(to);
    at = place + from.size();
  }
  text = changed.append(text, at);
}

// Whether a system message of the template's own stands before the user's.
bool has_own_system(const std::string& source) {
  constexpr std::string_view kSystem = "<|im_start|>system\n";
  for (size_t at = source.find(kSystem); at != std::string::npos; at = source.find(kSystem, at + 1)) {
    const size_t behind = at + kSystem.size();
    if (behind < source.size() && std::string_view("\"{<").find(source[behind]) == std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string known_chat(std::string_view source) {
  constexpr size_t kLongestTemplate = size_t{1} << 20;
  if (source.empty() || source.size() > kLongestTemplate) return "";
  std::string plain(source);
  std::replace(plain.begin(), plain.end(), '\'', '"');
  replace_all(plain, "\\n", "\n");
  replace_all(plain, "\" + \"", "");
  const auto has = [&](std::string_view mark) { return plain.find(mark) != std::string::npos; };
  for (const Marks& marks : known_marks()) {
    if (!std::all_of(marks.all.begin(), marks.all.end(), has) || std::any_of(marks.none.begin(), marks.none.end(), has))
      continue;
    if (marks.name == "chatml" && has_own_system(plain)) return "";
    return std::string(marks.name) + (has("bos_token") ? "+bos" : "");
  }
  return "";
}

}  // namespace ordinal::convert
