// prompt.cpp: where a prompt comes from, and the ids it becomes.
#include <algorithm>
#include <charconv>

#include "cli/options.h"
#include "ordinal/error.h"
#include "report/text.h"
#include "text/chat.h"

namespace ordinal::cli {

void PromptOptions::add_to(Parser& parser, const std::string& what) {
  parser.positional(what, text, "the " + what + "; without it and -f, standard input if that is not a terminal");
  parser.option("-f,--file", "FILE", file,
                "read the " + what + " from a file, - for standard input; every byte counts");
  parser.flag("--special", special, "names of special tokens in the text, such as <|endoftext|>, become their ids");
}

std::optional<std::string> PromptOptions::read(const Notes& notes) const {
  if (text.has_value() + file.has_value() + ids.has_value() + chat.has_value() > 1)
    throw UsageError{
        "the text is given twice\n  expected: one of an argument, -f, --ids" + std::string(chat ? " and --chat" : ""),
        ""};
  if (ids) return std::nullopt;
  if (chat) return chat;
  if (text) return text;
  if (file) return read_text(*file, notes);
  if (input_is_terminal())
    throw UsageError{"there is no text to work on", "an argument in quotes, -f FILE, or -f - for standard input"};
  return read_text("-", notes);
}

std::vector<TokenId> parse_ids(const std::string& text, int64_t vocab_size) {
  constexpr std::string_view kBetween = ", \t\r\n";
  std::vector<TokenId> ids;
  const size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (size_t at = text.find_first_not_of(kBetween, begin); at != std::string::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    TokenId id = -1;
    const auto [stop, code] = std::from_chars(text.data() + at, text.data() + end, id);
    if (code != std::errc() || stop != text.data() + end || id < 0 || id >= vocab_size)
      throw Error("this is no token id of the model",
                  "numbers 0 to " + std::to_string(vocab_size - 1) + ", as in 1,2,3",
                  "'" + report::escaped(text.substr(at, std::min<size_t>(end - at, 40))) + "', id number " +
                      std::to_string(ids.size() + 1));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

std::vector<TokenId> prompt_ids(const PromptOptions& options, const std::optional<std::string>& text,
                                const OpenedModel& opened) {
  const ModelConfig& config = opened.model->config();
  std::vector<TokenId> ids;
  if (!text) {
    ids = parse_ids(*options.ids, config.vocab_size);
  } else if (opened.tokenizer != nullptr && options.chat) {
    ids = chat_ids(*opened.tokenizer, *text);
  } else if (opened.tokenizer != nullptr) {
    ids = opened.tokenizer->encode(*text, {.parse_special = options.special});
  } else if (!text->empty()) {
    throw Error("the model has no tokenizer, so it cannot read text", "token ids",
                "a text of " + std::to_string(text->size()) + " bytes",
                "--ids 1,2,3, or --vocab DIR with a foreign checkpoint");
  }
  if (!ids.empty()) return ids;
  if (config.bos_id >= 0) return {config.bos_id};
  if (!config.eos_ids.empty()) return {config.eos_ids.front()};
  throw Error("the prompt is empty, and the model has no token that starts a text", "a prompt of one token or more",
              "an empty prompt", "ordinal generate \"Once upon a time\"");
}

}  // namespace ordinal::cli
