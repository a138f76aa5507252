// shapes.cpp: see shapes.h.
#include "serve/shapes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/utf8.h"

namespace ordinal::serve {
namespace {

// How many characters begin in these bytes.
int64_t characters_in(std::string_view bytes) {
  return std::ranges::count_if(bytes, [](char byte) { return !continues_character(byte); });
}

std::string piece_of(const Tokenizer* tokenizer, TokenId id) {
  return tokenizer != nullptr && id < tokenizer->vocab_size() ? std::string(tokenizer->piece(id)) : "";
}

// The characters that a token adds to a text; a special token adds none.
std::string visible_piece(const Tokenizer* tokenizer, TokenId id) {
  if (tokenizer == nullptr || id >= tokenizer->vocab_size() || tokenizer->is_special(id)) return "";
  return std::string(tokenizer->piece(id));
}

std::string decoded(const Tokenizer* tokenizer, std::span<const TokenId> ids) {
  std::string text;
  if (tokenizer == nullptr) return text;
  std::vector<TokenId> known;
  for (const TokenId id : ids)
    if (id < tokenizer->vocab_size()) known.push_back(id);
  return tokenizer->decode(known);
}

// The logprobs of a completion. The first token of a prompt has none.
struct LogprobRows {
  std::vector<TokenId> ids;
  std::vector<const TokenLogprob*> scores;  // null for the first of a prompt
};

void put_completion_logprobs(JsonWriter& json, const AnswerHead& head, const LogprobRows& rows, int64_t first_offset) {
  std::vector<std::string> tokens;
  std::vector<std::optional<double>> values;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    tokens.push_back(token_text(head.tokenizer, rows.ids[i]));
    values.push_back(rows.scores[i] == nullptr ? std::nullopt : std::optional(rows.scores[i]->logprob));
    offsets.push_back(first_offset);
    first_offset += characters_in(visible_piece(head.tokenizer, rows.ids[i]));
  }
  json.begin_object();
  json.add("tokens", tokens);
  json.add("token_logprobs", values);
  json.key("top_logprobs");
  json.begin_array();
  for (const TokenLogprob* score : rows.scores) {
    if (score == nullptr) {
      json.value(nullptr);
      continue;
    }
    json.begin_object();
    std::set<std::string> named;  // an object has each key once
    for (const auto& [id, value] : score->best)
      if (std::string text = token_text(head.tokenizer, id); named.insert(text).second) json.add(text, value);
    json.end_object();
  }
  json.end_array();
  json.add("text_offset", offsets);
  json.end_object();
}

void put_chat_token(JsonWriter& json, const AnswerHead& head, TokenId id, double logprob) {
  json.add("token", token_text(head.tokenizer, id));
  json.add("logprob", logprob);
  std::vector<int> bytes;
  for (const char byte : piece_of(head.tokenizer, id)) bytes.push_back(static_cast<uint8_t>(byte));
  json.add("bytes", bytes);
}

void put_chat_logprobs(JsonWriter& json, const AnswerHead& head, std::span<const TokenLogprob> scores) {
  json.begin_object();
  json.key("content");
  json.begin_array();
  for (const TokenLogprob& score : scores) {
    json.begin_object();
    put_chat_token(json, head, score.id, score.logprob);
    json.key("top_logprobs");
    json.begin_array();
    for (const auto& [id, value] : score.best) {
      json.begin_object();
      put_chat_token(json, head, id, value);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.add("refusal", nullptr);
  json.end_object();
}

// The prompt's rows where it is echoed, then the new ones.
LogprobRows rows_of(std::span<const TokenId> prompt, bool echo, std::span<const TokenLogprob> prompt_scores,
                    std::span<const TokenLogprob> scores) {
  LogprobRows rows;
  if (echo) {
    for (size_t i = 0; i < prompt.size(); ++i) {
      rows.ids.push_back(prompt[i]);
      rows.scores.push_back(i == 0 || i > prompt_scores.size() ? nullptr : &prompt_scores[i - 1]);
    }
  }
  for (const TokenLogprob& score : scores) {
    rows.ids.push_back(score.id);
    rows.scores.push_back(&score);
  }
  return rows;
}

void open_answer(JsonWriter& json, const AnswerHead& head, bool chunk) {
  constexpr std::array<std::string_view, 4> kObjects = {"text_completion", "text_completion", "chat.completion",
                                                        "chat.completion.chunk"};
  json.begin_object();
  json.add("id", head.id);
  json.add("object", kObjects[(head.chat ? 2u : 0u) + (chunk ? 1u : 0u)]);
  json.add("created", head.created);
  json.add("model", head.model);
}

void put_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage");
  json.begin_object();
  json.add("prompt_tokens", usage.prompt_tokens);
  json.add("completion_tokens", usage.completion_tokens);
  json.add("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.end_object();
}

void put_choice(JsonWriter& json, const AnswerHead& head, const Choice& choice, bool chunk) {
  const Generation& result = *choice.result;
  json.begin_object();
  json.add("index", choice.index);
  const std::string prompt_text = choice.echo ? decoded(head.tokenizer, choice.prompt) : "";
  if (head.chat) {
    json.key(chunk ? "delta" : "message");
    json.begin_object();
    json.add("role", "assistant");
    json.add("content", result.text);
    if (!chunk) json.add("refusal", nullptr);
    json.end_object();
  } else {
    json.add("text", prompt_text + result.text);
  }
  json.key("logprobs");
  if (!head.with_logprobs)
    json.value(nullptr);
  else if (head.chat)
    put_chat_logprobs(json, head, result.logprobs);
  else
    put_completion_logprobs(json, head, rows_of(choice.prompt, choice.echo, result.prompt_logprobs, result.logprobs),
                            choice.echo ? 0 : characters_in(decoded(head.tokenizer, choice.prompt)));
  json.add("finish_reason", finish_reason(result.finish));
  json.add("ids", result.ids);
  json.add("seed", result.seed);
  json.end_object();
}

}  // namespace

std::string_view finish_reason(Finish finish) {
  constexpr std::array<std::string_view, 5> kReasons = {"length", "stop", "stop", "length", "stop"};
  return kReasons[static_cast<size_t>(finish)];
}

std::string token_text(const Tokenizer* tokenizer, TokenId id) {
  const std::string piece = piece_of(tokenizer, id);
  if (piece.empty()) return "token_id:" + std::to_string(id);
  if (utf8_end(piece, 0) == piece.size()) return piece;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char byte : piece) {
    const auto value = static_cast<uint8_t>(byte);
    text.append("\\x").append(1, kDigits[value >> 4u]).append(1, kDigits[value & 15u]);
  }
  return text;
}

std::string error_json(std::string_view message, std::string_view type, std::string_view param, std::string_view code) {
  const auto unless_empty = [](std::string_view text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
  };
  JsonWriter json;
  json.begin_object();
  json.key("error");
  json.begin_object();
  json.add("message", message);
  json.add("type", type);
  json.add("param", unless_empty(param));
  json.add("code", unless_empty(code));
  json.end_object();
  json.end_object();
  return json.take();
}

std::string answer_json(const AnswerHead& head, std::span<const Choice> choices, const Usage& usage,
                        const AnswerTimes& times) {
  JsonWriter json;
  open_answer(json, head, false);
  json.key("choices");
  json.begin_array();
  for (const Choice& choice : choices) put_choice(json, head, choice, false);
  json.end_array();
  put_usage(json, usage);
  json.add("position", head.position);
  json.key("timings");
  json.begin_object();
  json.add("first_token_ms", times.first_token_ms);
  json.add("total_ms", times.total_ms);
  json.add("prompt_evaluated", times.prompt_evaluated);
  json.end_object();
  json.end_object();
  return json.take();
}

std::string ChunkWriter::role(int64_t index) const {
  JsonWriter json;
  open_answer(json, head_, true);
  json.key("choices");
  json.begin_array();
  json.begin_object();
  json.add("index", index);
  json.key("delta");
  json.begin_object();
  json.add("role", "assistant");
  json.add("content", "");
  json.end_object();
  json.add("logprobs", nullptr);
  json.add("finish_reason", nullptr);
  json.end_object();
  json.end_array();
  json.end_object();
  return json.take();
}

std::string ChunkWriter::chunk(int64_t index, std::span<const TokenId> prompt, const Answer::Piece& piece) {
  if (static_cast<size_t>(index) >= characters_.size()) characters_.resize(static_cast<size_t>(index) + 1);
  int64_t& told = characters_[static_cast<size_t>(index)];
  std::string text = piece.text;
  if (piece.first) {
    const std::string prompt_text = head_.chat ? "" : decoded(head_.tokenizer, prompt);
    told = characters_in(prompt_text);
    if (echo_) text = prompt_text + text;
  }
  JsonWriter json;
  open_answer(json, head_, true);
  json.key("choices");
  json.begin_array();
  json.begin_object();
  json.add("index", index);
  if (head_.chat) {
    json.key("delta");
    json.begin_object();
    if (!text.empty()) json.add("content", text);
    json.end_object();
  } else {
    json.add("text", text);
  }
  json.key("logprobs");
  if (!head_.with_logprobs || piece.logprobs.empty())
    json.value(nullptr);
  else if (head_.chat)
    put_chat_logprobs(json, head_, piece.logprobs);
  else
    put_completion_logprobs(json, head_, rows_of({}, false, {}, piece.logprobs), told);
  for (const TokenId id : piece.ids) told += characters_in(visible_piece(head_.tokenizer, id));
  json.key("finish_reason");
  if (piece.result)
    json.value(finish_reason(piece.result->finish));
  else
    json.value(nullptr);
  json.add("ids", piece.ids);
  if (piece.result) json.add("seed", piece.result->seed);
  json.end_object();
  json.end_array();
  json.add("position", head_.position);
  json.end_object();
  return json.take();
}

std::string ChunkWriter::whole(const Choice& choice) const {
  JsonWriter json;
  open_answer(json, head_, true);
  json.key("choices");
  json.begin_array();
  put_choice(json, head_, choice, true);
  json.end_array();
  json.add("position", head_.position);
  json.end_object();
  return json.take();
}

std::string ChunkWriter::usage(const Usage& usage) const {
  JsonWriter json;
  open_answer(json, head_, true);
  json.key("choices");
  json.begin_array();
  json.end_array();
  put_usage(json, usage);
  json.end_object();
  return json.take();
}

}  // namespace ordinal::serve
