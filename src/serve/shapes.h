// shapes.h: what a client is told, as JSON in OpenAI's shapes; keys of our own are added, none is changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "serve/answer.h"
#include "text/generator.h"

namespace ordinal::serve {

// {"error": {"message", "type", "param", "code"}}; param and code are null when empty.
std::string error_json(std::string_view message, std::string_view type, std::string_view param = "",
                       std::string_view code = "");

// What all answers to a body have in common.
struct AnswerHead {
  std::string id, model, position;
  int64_t created = 0;
  bool chat = false;
  bool with_logprobs = false;
  const Tokenizer* tokenizer = nullptr;  // may be null: ids only
};

// A prompt and what came of it.
struct Choice {
  int64_t index = 0;
  std::span<const TokenId> prompt;
  bool echo = false;
  const Generation* result = nullptr;
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
};

struct AnswerTimes {
  double first_token_ms = 0, total_ms = 0;
  int64_t prompt_evaluated = 0;  // tokens that no cache held
};

// A whole answer: text_completion or chat.completion.
std::string answer_json(const AnswerHead& head, std::span<const Choice> choices, const Usage& usage,
                        const AnswerTimes& times);

// Pieces of a streamed one. A chat's first chunk says whose turn it is and has no text.
class ChunkWriter {
 public:
  ChunkWriter(const AnswerHead& head, bool echo) : head_(head), echo_(echo) {}

  std::string role(int64_t index) const;
  std::string chunk(int64_t index, std::span<const TokenId> prompt, const Answer::Piece& piece);
  // All of a choice at once.
  std::string whole(const Choice& choice) const;
  std::string usage(const Usage& usage) const;

 private:
  const AnswerHead& head_;
  bool echo_;
  std::vector<int64_t> characters_;  // told so far, by choice, those of the prompt included
};

// OpenAI's word for how a text ended.
std::string_view finish_reason(Finish finish);

// A token as text: its characters, or where it is no whole ones "bytes:\xe2\x80"; "token_id:7" for one without a piece.
std::string token_text(const Tokenizer* tokenizer, TokenId id);

}  // namespace ordinal::serve
