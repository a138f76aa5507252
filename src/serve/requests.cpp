// requests.cpp: see requests.h. A table of fields a kind of body: a field that is not in it is an error that lists
// them.
#include "serve/requests.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/words.h"

namespace ordinal::serve {
namespace {

constexpr int64_t kMostLogprobs = 20, kMostStops = 16, kMostBias = 1024, kMostPositions = 32;
constexpr int64_t kDefaultTokens = 16;  // OpenAI's, for completions
constexpr int64_t kDefaultDraft = 8;

// What a field of a body does to what is asked.
template <class Body>
struct Field {
  std::string_view name;
  void (*read)(Body& body, const Json& value, const RequestLimits& limits, int64_t vocab_size);
};

void no_effect(CompletionBody&, const Json&, const RequestLimits&, int64_t) {}

std::vector<TokenId> ids_of(const Json& value, int64_t vocab_size) {
  std::vector<TokenId> ids;
  for (const Json& json : array(value, "token ids")) {
    const int64_t id = whole_number(json, "a token id");
    if (id < 0 || id >= vocab_size)
      json.fail("this is no token id of the model", "0 to " + std::to_string(vocab_size - 1), std::to_string(id));
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

// A text, ids, or a list of either.
std::vector<Prompt> prompts_of(const Json& value, int64_t most, int64_t vocab_size) {
  if (value.is_string()) return {text(value, "the prompt")};
  array(value, "the prompt");
  if (value.empty()) value.fail("there is no prompt", "a text, token ids, or a list of either", "[]");
  if (value.begin()->is_number()) return {ids_of(value, vocab_size)};
  std::vector<Prompt> prompts;
  for (const Json& item : value) {
    if (std::ssize(prompts) == most)
      value.fail("there are too many prompts", "at most " + std::to_string(most) + " at once", "more");
    if (item.is_string())
      prompts.emplace_back(text(item, "a prompt"));
    else
      prompts.emplace_back(ids_of(item, vocab_size));
  }
  return prompts;
}

float in_range(const Json& value, const char* what, float low, float high) {
  const float number = number_f32(value, what);
  if (!(number >= low && number <= high))
    value.fail(std::string(what) + " is out of range", shortest(low) + " to " + shortest(high), shown(value));
  return number;
}

std::vector<std::string> stops_of(const Json& value) {
  if (value.is_string()) return {text(value, "a stop string")};
  std::vector<std::string> stops;
  for (const Json& item : array(value, "stop strings")) stops.push_back(text(item, "a stop string"));
  if (std::ssize(stops) > kMostStops)
    value.fail("there are too many stop strings", "at most " + std::to_string(kMostStops),
               std::to_string(stops.size()));
  return stops;
}

std::vector<std::pair<TokenId, float>> biases_of(const Json& value, int64_t vocab_size) {
  std::vector<std::pair<TokenId, float>> biases;
  for (const auto& [key, bias] : object(value, "biases by token id").items()) {
    int64_t id = -1;
    if (!key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos)
      id = std::stoll(key);
    if (id < 0 || id >= vocab_size)
      value.fail("a bias is for no token id of the model", "\"0\" to \"" + std::to_string(vocab_size - 1) + "\"",
                 in_quotes(key));
    biases.emplace_back(static_cast<TokenId>(id), in_range(bias, "a bias", -100, 100));
  }
  if (std::ssize(biases) > kMostBias)
    value.fail("there are too many biases", "at most " + std::to_string(kMostBias), std::to_string(biases.size()));
  return biases;
}

void read_max_tokens(CompletionBody& body, const Json& value, const RequestLimits& limits, int64_t) {
  body.options.max_new_tokens = whole_number(value, "the number of new tokens", 0, limits.max_tokens);
}

int64_t context_of(const Json& value, const RequestLimits& limits) {
  return whole_number(value, "the context", 1, limits.context);
}

void refuse_field(const Json& value, const char* what) { value.fail(what, "leave it out", shown(value)); }

// What completions and chats have in common.
constexpr Field<CompletionBody> kShared[] = {
    {"model", [](auto& body, const Json& v, auto&, auto) { body.model = text(v, "the model"); }},
    {"max_tokens", read_max_tokens},
    {"temperature", [](auto& body, const Json& v, auto&,
                       auto) { body.options.sampler.temperature = in_range(v, "the temperature", 0, 100); }},
    {"top_p", [](auto& body, const Json& v, auto&, auto) { body.options.sampler.top_p = number_f32(v, "top-p"); }},
    {"n", [](auto& body, const Json& v, auto& l, auto) { body.n = whole_number(v, "n", 1, l.sequences); }},
    {"stream", [](auto& body, const Json& v, auto&, auto) { body.stream = boolean(v, "stream"); }},
    {"stream_options",
     [](auto& body, const Json& v, auto&, auto) {
       constexpr std::string_view kOptions[] = {"include_usage", "include_obfuscation"};
       check_members(v, "stream_options", {}, kOptions);
       if (const Json* usage = find(v, "include_usage")) body.include_usage = boolean(*usage, "include_usage");
     }},
    {"stop", [](auto& body, const Json& v, auto&, auto) { body.options.stop = stops_of(v); }},
    {"presence_penalty",
     [](auto& body, const Json& v, auto&, auto) {
       body.options.sampler.presence_penalty = in_range(v, "the presence penalty", -2, 2);
     }},
    {"frequency_penalty",
     [](auto& body, const Json& v, auto&, auto) {
       body.options.sampler.frequency_penalty = in_range(v, "the frequency penalty", -2, 2);
     }},
    {"logit_bias",
     [](auto& body, const Json& v, auto&, auto vocab) { body.options.sampler.logit_bias = biases_of(v, vocab); }},
    {"seed",
     [](auto& body, const Json& v, auto&, auto) {
       const bool negative = v.raw().front() == '-';
       body.options.sampler.seed =
           negative ? static_cast<uint64_t>(whole_number(v, "the seed")) : natural(v, "the seed");
       body.seeded = true;
     }},
    {"user", no_effect},
    // Ours.
    {"top_k", [](auto& body, const Json& v, auto&, auto) { body.options.sampler.top_k = whole_number(v, "top-k"); }},
    {"min_p", [](auto& body, const Json& v, auto&, auto) { body.options.sampler.min_p = number_f32(v, "min-p"); }},
    {"typical_p",
     [](auto& body, const Json& v, auto&, auto) { body.options.sampler.typical_p = number_f32(v, "typical-p"); }},
    {"repetition_penalty",
     [](auto& body, const Json& v, auto&, auto) {
       body.options.sampler.repetition_penalty = number_f32(v, "the repetition penalty");
     }},
    {"position", [](auto& body, const Json& v, auto&, auto) { body.position = text(v, "the position scheme"); }},
    {"ctx", [](auto& body, const Json& v, auto& l, auto) { body.options.context = context_of(v, l); }},
    {"special", [](auto& body, const Json& v, auto&, auto) { body.special = boolean(v, "special"); }},
    {"ignore_eos", [](auto& body, const Json& v, auto&, auto) { body.options.ignore_eos = boolean(v, "ignore_eos"); }},
    {"draft",
     [](auto& body, const Json& v, auto&, auto) {
       constexpr std::string_view kDrafts[] = {"lookup"};
       one_of(kDrafts, v, "draft");
       if (body.options.draft_tokens == 0) body.options.draft_tokens = kDefaultDraft;
     }},
    {"draft_tokens", [](auto& body, const Json& v, auto&,
                        auto) { body.options.draft_tokens = whole_number(v, "draft_tokens", 1, 64); }},
};

constexpr Field<CompletionBody> kCompletion[] = {
    {"prompt",
     [](auto& body, const Json& v, auto& l, auto vocab) { body.prompts = prompts_of(v, l.sequences, vocab); }},
    {"echo", [](auto& body, const Json& v, auto&, auto) { body.echo = boolean(v, "echo"); }},
    {"logprobs",
     [](auto& body, const Json& v, auto&, auto) { body.logprobs = whole_number(v, "logprobs", 0, kMostLogprobs); }},
    {"best_of",
     [](auto& body, const Json& v, auto& l, auto) { body.best_of = whole_number(v, "best_of", 1, l.sequences); }},
    {"suffix",
     [](auto&, const Json& v, auto&, auto) {
       if (!v.is_string() || !v.view().empty()) refuse_field(v, "text is continued, not filled in between two ends");
     }},
};

std::vector<ChatMessage> messages_of(const Json& value) {
  std::vector<ChatMessage> messages;
  for (const Json& item : array(value, "the messages")) {
    constexpr std::string_view kOptional[] = {"name"};
    check_members(item, "a message", {"role", "content"}, kOptional);
    ChatMessage& message = messages.emplace_back();
    message.role = text(member(item, "role"), "a message's role");
    const Json& content = member(item, "content");
    if (content.is_string()) {
      message.content = content.view();
      continue;
    }
    for (const Json& part : array(content, "a message's content")) {
      check_members(part, "a part of a message", {"type", "text"});
      if (!(member(part, "type") == "text")) member(part, "type").fail("only text is read", "text", shown(part));
      message.content += text(member(part, "text"), "a part's text");
    }
  }
  if (messages.empty()) value.fail("there are no messages", "one or more", "[]");
  return messages;
}

constexpr Field<CompletionBody> kChat[] = {
    {"messages", [](auto& body, const Json& v, auto&, auto) { body.messages = messages_of(v); }},
    {"max_completion_tokens", read_max_tokens},
    {"logprobs",
     [](auto& body, const Json& v, auto&, auto) {
       if (!boolean(v, "logprobs"))
         body.logprobs.reset();
       else if (!body.logprobs)
         body.logprobs = 0;
     }},
    {"top_logprobs",
     [](auto& body, const Json& v, auto&, auto) { body.logprobs = whole_number(v, "top_logprobs", 0, kMostLogprobs); }},
    {"response_format",
     [](auto&, const Json& v, auto&, auto) {
       const Json* type = find(object(v, "response_format"), "type");
       if (type == nullptr || !(*type == "text")) v.fail("answers are plain text", R"({"type": "text"})", shown(v));
     }},
    {"tools",
     [](auto&, const Json& v, auto&, auto) {
       if (!array(v, "tools").empty()) refuse_field(v, "there are no tools");
     }},
    {"metadata", no_effect},
    {"store", no_effect},
};

constexpr Field<ScoreBody> kScore[] = {
    {"model", [](auto& body, const Json& v, auto&, auto) { body.model = text(v, "the model"); }},
    {"text", [](auto& body, const Json& v, auto& l, auto vocab) { body.texts = prompts_of(v, l.sequences, vocab); }},
    {"positions",
     [](auto& body, const Json& v, auto&, auto) {
       for (const Json& item : array(v, "positions")) body.positions.push_back(text(item, "a position scheme"));
       if (body.positions.empty() || std::ssize(body.positions) > kMostPositions)
         v.fail("this is no list of positions", "1 to " + std::to_string(kMostPositions) + " of them",
                std::to_string(body.positions.size()));
     }},
    {"ctx", [](auto& body, const Json& v, auto& l, auto) { body.ctx = context_of(v, l); }},
    {"top", [](auto& body, const Json& v, auto&, auto) { body.top = whole_number(v, "top", 0, kMostLogprobs); }},
    {"special", [](auto& body, const Json& v, auto&, auto) { body.special = boolean(v, "special"); }},
};

constexpr Field<TokenizeBody> kTokenize[] = {
    {"model", [](auto& body, const Json& v, auto&, auto) { body.model = text(v, "the model"); }},
    {"text", [](auto& body, const Json& v, auto&, auto) { body.text = text(v, "the text"); }},
    {"special", [](auto& body, const Json& v, auto&, auto) { body.special = boolean(v, "special"); }},
    {"add_bos", [](auto& body, const Json& v, auto&, auto) { body.add_bos = boolean(v, "add_bos"); }},
};

constexpr Field<TokenizeBody> kDetokenize[] = {
    {"model", [](auto& body, const Json& v, auto&, auto) { body.model = text(v, "the model"); }},
    {"ids", [](auto& body, const Json& v, auto&, auto vocab) { body.ids = ids_of(v, vocab); }},
    {"special", [](auto& body, const Json& v, auto&, auto) { body.special = boolean(v, "special"); }},
};

template <class Action>
auto for_field(const std::string& field, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw BadRequest(field, one_line(error));
  }
}

// Reads all fields by the tables into `body`; null is as good as absent. `required` must be there.
template <class Body, class... Tables>
Body read_fields(Body body, const Json& root, const RequestLimits& limits, int64_t vocab_size, const char* required,
                 const std::function<void(const Body&)>& check, const Tables&... tables) {
  for_field("", [&] { object(root, "the body"); });
  for (const auto& [name, entry] : root.items()) {
    const auto& key = name;  // clang with OpenMP takes no structured binding into a lambda
    const Json& value = entry;
    const Field<Body>* field = nullptr;
    std::vector<std::string_view> known;
    for (const std::span<const Field<Body>> table : {std::span<const Field<Body>>(tables)...})
      for (const Field<Body>& row : table) {
        known.push_back(row.name);
        if (row.name == key) field = &row;
      }
    if (field == nullptr) throw BadRequest(key, "there is no field " + in_quotes(key) + "; expected: " + joined(known));
    if (value.is_null()) continue;
    for_field(key, [&] {
      field->read(body, value, limits, vocab_size);
      check(body);
    });
  }
  if (find(root, required) == nullptr)
    throw BadRequest(required, "the body has no " + in_quotes(required) + ", which must be there");
  return body;
}

// What no table can say: how fields go together.
CompletionBody settled(CompletionBody body, const RequestLimits& limits) {
  const auto n_prompts = std::max<int64_t>(1, std::ssize(body.prompts));
  body.best_of = std::max(body.best_of, body.n);
  if (body.best_of > body.n && body.stream)
    throw BadRequest("best_of", "the best of several cannot be known while they are streamed; expected: best_of = n");
  if (n_prompts > limits.sequences / body.best_of)
    throw BadRequest("n", "that many texts at once are not answered; expected: at most " +
                              std::to_string(limits.sequences) + "; found: " + std::to_string(n_prompts) +
                              " prompts times " + std::to_string(body.best_of));
  GenerateOptions& options = body.options;
  options.logprobs = body.logprobs.value_or(body.best_of > body.n ? 0 : -1);
  if (body.echo && body.logprobs) options.prompt_logprobs = *body.logprobs;
  return body;
}

std::function<void(const CompletionBody&)> option_check(int64_t vocab_size) {
  return [vocab_size](const CompletionBody& body) { check_generate_options(body.options, vocab_size); };
}

}  // namespace

std::string one_line(const Error& error) {
  std::string line = error.summary();
  for (const auto& [label, part] :
       {std::pair{"expected", &error.expected()}, {"found", &error.found()}, {"try", &error.suggestion()}})
    if (!part->empty()) line += std::string("; ") + label + ": " + *part;
  return line;
}

JsonDocument parse_body(std::string_view body, const RequestLimits& limits) {
  return for_field("", [&] {
    return parse_json(body, "the body", 0,
                      {.bytes = static_cast<size_t>(limits.body_bytes), .depth = 16, .values = size_t{4} << 20});
  });
}

std::string model_of(const Json& body) {
  const Json* model = find(body, "model");
  return model == nullptr ? "" : for_field("model", [&] { return text(*model, "the model"); });
}

CompletionBody read_completion(const Json& body, const RequestLimits& limits, int64_t vocab_size) {
  CompletionBody initial;
  initial.options.max_new_tokens = std::min(kDefaultTokens, limits.max_tokens);
  return settled(read_fields<CompletionBody>(std::move(initial), body, limits, vocab_size, "prompt",
                                             option_check(vocab_size), kShared, kCompletion),
                 limits);
}

CompletionBody read_chat(const Json& body, const RequestLimits& limits, int64_t vocab_size) {
  CompletionBody initial;
  initial.options.max_new_tokens = limits.max_tokens;  // until the answer or the context ends
  return settled(read_fields<CompletionBody>(std::move(initial), body, limits, vocab_size, "messages",
                                             option_check(vocab_size), kShared, kChat),
                 limits);
}

ScoreBody read_score(const Json& body, const RequestLimits& limits, int64_t vocab_size) {
  auto read = read_fields<ScoreBody>({}, body, limits, vocab_size, "text", [](const ScoreBody&) {}, kScore);
  if (read.positions.empty()) read.positions = {"native"};
  if (std::ssize(read.texts) > limits.sequences / std::ssize(read.positions))
    throw BadRequest("text", "that many texts at once are not scored; expected: at most " +
                                 std::to_string(limits.sequences) + " texts times positions");
  return read;
}

TokenizeBody read_tokenize(const Json& body) {
  return read_fields<TokenizeBody>({}, body, {}, 0, "text", [](const TokenizeBody&) {}, kTokenize);
}

TokenizeBody read_detokenize(const Json& body, int64_t vocab_size) {
  return read_fields<TokenizeBody>({}, body, {}, vocab_size, "ids", [](const TokenizeBody&) {}, kDetokenize);
}

}  // namespace ordinal::serve
