// routes_text.cpp: completions and chats, whole and streamed.
#include <algorithm>
#include <random>
#include <utility>

#include "serve/connection.h"
#include "serve/inside.h"
#include "text/chat.h"

namespace ordinal::serve {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);  // between looks whether the client is still there

std::string new_id(bool is_chat) {
  thread_local std::random_device random;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id = is_chat ? "chatcmpl-" : "cmpl-";
  for (int i = 0; i < 6; ++i)
    for (unsigned bits = random(), k = 0; k < 4; ++k, bits >>= 4u) id += kDigits[bits & 15u];
  return id;
}

// The mean of what the model held of each token: which of several texts is the best.
double mean_logprob(const Generation& result) {
  double sum = 0;
  for (const TokenLogprob& score : result.logprobs) sum += score.logprob;
  return result.logprobs.empty() ? 0 : sum / static_cast<double>(result.logprobs.size());
}

// All that answering takes; streams keep it alive.
struct Work {
  CompletionBody body;
  AnswerHead head;
  std::vector<std::vector<TokenId>> prompts;
  std::shared_ptr<Answer> answer;
  Clock::time_point start = Clock::now();
  int socket = -1;

  Usage usage;  // grows as sequences end
  int64_t prompt_evaluated = 0;
  std::vector<Generation> results;

  const std::vector<TokenId>& prompt_of(size_t sequence) const {
    return prompts[sequence / static_cast<size_t>(body.best_of)];
  }
  // OpenAI counts choices on over all prompts.
  Choice choice(size_t sequence, int64_t index) const {
    return {index, prompt_of(sequence), body.echo, &results[sequence]};
  }

  // The choices that are told: of each prompt the n best.
  std::vector<Choice> choices() const {
    std::vector<Choice> all;
    const auto each = static_cast<size_t>(body.best_of);
    for (size_t first = 0; first < results.size(); first += each) {
      std::vector<size_t> order(each);
      for (size_t i = 0; i < each; ++i) order[i] = first + i;
      if (body.best_of > body.n)
        std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return mean_logprob(results[i]); });
      for (int64_t i = 0; i < body.n; ++i) all.push_back(choice(order[static_cast<size_t>(i)], std::ssize(all)));
    }
    return all;
  }

  void ended(const Generation& result) {
    usage.completion_tokens += std::ssize(result.ids);
    prompt_evaluated += result.timings.prefill_tokens;
  }
};

std::vector<GenerateRequest> requests_of(const Work& work) {
  std::vector<GenerateRequest> requests;
  std::random_device random;
  for (const std::vector<TokenId>& prompt : work.prompts) {
    const uint64_t seed = work.body.seeded ? work.body.options.sampler.seed : random();
    for (int64_t i = 0; i < work.body.best_of; ++i) {
      GenerateRequest& request = requests.emplace_back();
      request.prompt = prompt;
      request.options = work.body.options;
      request.options.sampler.seed = seed + static_cast<uint64_t>(i);  // as generate --samples counts
      if (i > 0) request.options.prompt_logprobs = -1;
      request.position = work.body.position;
      request.id = std::ssize(requests);
      work.answer->follow(request, requests.size() - 1);
    }
  }
  return requests;
}

bool put(httplib::DataSink& sink, const std::string& data) {
  const std::string line = "data: " + data + "\n\n";
  return sink.write(line.data(), line.size());
}

bool put_end(const Work& work, httplib::DataSink& sink, const ChunkWriter& writer) {
  if (work.body.include_usage && !put(sink, writer.usage(work.usage))) return false;
  if (!put(sink, "[DONE]")) return false;
  sink.done();
  return true;
}

}  // namespace

void Server::Inside::submit(const ServedModel& model, std::vector<GenerateRequest> requests, const std::string& field) {
  const int64_t room = model.engine->options().parallel + model.engine->options().queue;
  if (std::ssize(requests) > room)
    throw BadRequest(field, "that many texts at once find no room; expected: at most " + std::to_string(room) +
                                "; found: " + std::to_string(requests.size()));
  for (GenerateRequest& request : requests) {
    const int64_t context = request.options.context > 0 ? request.options.context : model.engine->context();
    try {
      model.engine->prepare(request);
    } catch (const Error& error) {
      const bool too_long = std::ssize(request.prompt) > context;
      throw Failure{400, one_line(error), "invalid_request_error", field, too_long ? "context_length_exceeded" : ""};
    }
  }
  if (!model.engine->submit(std::move(requests)))
    throw Failure{429, "the queue is full; try: again in a second", "rate_limit_error", "", "queue_full", 1};
}

bool Server::Inside::wait_for(Answer& answer, const Exchange& exchange) const {
  const int socket = socket_between(exchange.request.remote_addr, exchange.request.remote_port, port);
  const auto deadline = notes().start + std::chrono::seconds(options.seconds);
  try {
    while (!answer.wait(kPatience)) {
      if (has_gone(socket)) {
        notes().gone = true;
        answer.cancel();
        return false;
      }
      if (Clock::now() > deadline) answer.cancel();
    }
    return true;
  } catch (...) {  // one sequence failed; nobody wants the others
    answer.cancel();
    throw;
  }
}

void Server::Inside::count(const Answer& answer, const Usage& usage) {
  RequestNotes& note = notes();
  note.tokens_in = usage.prompt_tokens;
  note.tokens_out = usage.completion_tokens;
  note.first_token_ms = answer.first_token_ms();
  metrics.tokens(usage.prompt_tokens, usage.completion_tokens);
  if (note.first_token_ms > 0) metrics.first_token(note.first_token_ms);
}

void Server::Inside::answer(Exchange& exchange, const CompletionBody& body, const ServedModel& model,
                            std::vector<std::vector<TokenId>> prompts, bool is_chat) {
  const auto work = std::make_shared<Work>();
  work->body = body;
  work->prompts = std::move(prompts);
  const size_t sequences = work->prompts.size() * static_cast<size_t>(body.best_of);
  work->answer = std::make_shared<Answer>(sequences, model.tokenizer != nullptr);
  for (const std::vector<TokenId>& prompt : work->prompts) work->usage.prompt_tokens += std::ssize(prompt);
  if (body.stream && exchange.request.version == "HTTP/1.0") throw BadRequest("stream", "streams need HTTP/1.1");
  submit(model, requests_of(*work), is_chat ? "messages" : "prompt");
  work->head = {new_id(is_chat),      model.name, model.engine->position_of(body.position, body.options.context),
                time(nullptr),        is_chat,    body.logprobs.has_value(),
                model.tokenizer.get()};

  if (!body.stream) {
    if (!wait_for(*work->answer, exchange)) {
      count(*work->answer, {work->usage.prompt_tokens, work->answer->tokens()});
      return;
    }
    work->results = work->answer->results();
    for (const Generation& result : work->results) work->ended(result);
    count(*work->answer, work->usage);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - work->start).count();
    const AnswerTimes times{work->answer->first_token_ms(), ms, work->prompt_evaluated};
    return reply(exchange, 200, answer_json(work->head, work->choices(), work->usage, times));
  }

  work->socket = socket_between(exchange.request.remote_addr, exchange.request.remote_port, port);
  const auto writer = std::make_shared<ChunkWriter>(work->head, body.echo);
  const auto deadline = notes().start + std::chrono::seconds(options.seconds);
  const auto ended = std::make_shared<int64_t>(0);
  // Told once, before the last words; where there are none, the client has gone.
  notes().gone = true;
  const auto tell = [this, work, told = std::make_shared<bool>(false)](bool gone) {
    if (std::exchange(*told, true)) return;
    notes().gone = gone;
    count(*work->answer, {work->usage.prompt_tokens, work->answer->tokens()});
  };
  const auto next = [work, writer, deadline, ended, tell](size_t offset, httplib::DataSink& sink) {
    if (offset == 0 && work->head.chat)
      for (int64_t i = 0; i < work->body.n; ++i)
        if (!put(sink, writer->role(i))) return false;
    if (has_gone(work->socket)) return false;
    if (Clock::now() > deadline) work->answer->cancel();
    // Where the prompt's log-probabilities are told, a choice is one chunk: they come before its text.
    if (work->body.options.prompt_logprobs >= 0) {
      if (!work->answer->wait(kPatience)) return true;
      work->results = work->answer->results();
      for (const Generation& result : work->results) work->ended(result);
      for (const Choice& choice : work->choices())
        if (!put(sink, writer->whole(choice))) return false;
      tell(false);
      return put_end(*work, sink, *writer);
    }
    const std::optional<Answer::Piece> piece = work->answer->next(kPatience);
    if (!piece) return true;
    if (piece->result) {
      work->ended(*piece->result);
      ++*ended;
    }
    const std::string chunk = writer->chunk(static_cast<int64_t>(piece->index), work->prompt_of(piece->index), *piece);
    if (!put(sink, chunk)) return false;
    if (*ended < std::ssize(work->prompts) * work->body.n) return true;
    tell(false);
    return put_end(*work, sink, *writer);
  };
  exchange.response.set_header("X-Accel-Buffering", "no");
  exchange.response.set_chunked_content_provider(
      "text/event-stream",
      [next, work, tell](size_t offset, httplib::DataSink& sink) {
        try {
          const bool goes_on = next(offset, sink);
          if (!goes_on) tell(true);
          return goes_on;
        } catch (const std::exception& error) {  // the status has been told already
          tell(false);
          put(sink, error_json(error.what(), "server_error"));
          work->answer->cancel();
          sink.done();
          return true;
        }
      },
      [work, tell](bool success) {
        work->answer->cancel();
        tell(!success);
      });
}

void Server::Inside::complete(Exchange& exchange) {
  const JsonDocument json = parse_body(exchange.body, options.limits);
  const ServedModel& model = model_for(model_of(json));
  const CompletionBody body = read_completion(json, options.limits, model.engine->model().config().vocab_size);
  std::vector<std::vector<TokenId>> prompts;
  for (const Prompt& prompt : body.prompts) prompts.push_back(ids_of(model, prompt, body.special));
  answer(exchange, body, model, std::move(prompts), false);
}

void Server::Inside::chat(Exchange& exchange) {
  const JsonDocument json = parse_body(exchange.body, options.limits);
  const ServedModel& model = model_for(model_of(json));
  const CompletionBody body = read_chat(json, options.limits, model.engine->model().config().vocab_size);
  if (model.tokenizer == nullptr) throw BadRequest("messages", "the model has no tokenizer, so it cannot read text");
  std::vector<TokenId> prompt;
  try {
    prompt = chat_ids(*model.tokenizer, body.messages);
  } catch (const Error& error) {
    throw BadRequest("messages", one_line(error));
  }
  answer(exchange, body, model, {std::move(prompt)}, true);
}

}  // namespace ordinal::serve
