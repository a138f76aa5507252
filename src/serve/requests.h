// requests.h: bodies of requests, read from JSON that nobody vouches for into what they ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "ordinal/error.h"
#include "text/chat.h"
#include "text/generator.h"

namespace ordinal::serve {

// Bounds of one request.
struct RequestLimits {
  int64_t body_bytes = int64_t{8} << 20;
  int64_t max_tokens = 1 << 16;  // new ones
  int64_t sequences = 264;       // prompts times best_of
  int64_t context = 0;           // most that `ctx` may ask for
};

// A body that cannot be answered: 400, with the field that is wrong.
class BadRequest : public std::exception {
 public:
  BadRequest(std::string field, std::string message) : field_(std::move(field)), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& field() const { return field_; }

 private:
  std::string field_, message_;
};

// An Error in one line, for a client.
std::string one_line(const Error& error);

using Prompt = std::variant<std::string, std::vector<TokenId>>;  // text, or ids

// POST /v1/completions and /v1/chat/completions.
struct CompletionBody {
  std::string model;                  // "" when it is not named
  std::vector<Prompt> prompts;        // of completions
  std::vector<ChatMessage> messages;  // of a chat
  int64_t n = 1, best_of = 1;
  bool echo = false, stream = false, include_usage = false;
  bool special = false;  // names of special tokens in a prompt become their ids
  std::optional<int64_t> logprobs;
  bool seeded = false;  // the seed below is the request's
  std::string position;
  GenerateOptions options;
};

// POST /v1/score: texts under several position schemes.
struct ScoreBody {
  std::string model;
  std::vector<Prompt> texts;
  std::vector<std::string> positions;
  int64_t ctx = 0, top = 0;
  bool special = false;
};

// POST /tokenize and /detokenize.
struct TokenizeBody {
  std::string model, text;
  std::vector<TokenId> ids;
  bool special = false, add_bos = true;
};

// The body as JSON. This and what follows throw BadRequest for text that is not JSON, and for a field that is unknown,
// missing, of another type or out of range, or asks for what there is not.
JsonDocument parse_body(std::string_view body, const RequestLimits& limits);

std::string model_of(const Json& body);  // "" when none is named
// `vocab_size` bounds ids.
CompletionBody read_completion(const Json& body, const RequestLimits& limits, int64_t vocab_size);
CompletionBody read_chat(const Json& body, const RequestLimits& limits, int64_t vocab_size);
ScoreBody read_score(const Json& body, const RequestLimits& limits, int64_t vocab_size);
TokenizeBody read_tokenize(const Json& body);
TokenizeBody read_detokenize(const Json& body, int64_t vocab_size);

}  // namespace ordinal::serve
