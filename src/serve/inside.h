// inside.h: the server's parts that its routes share; of use to the files of this folder only.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/answer.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/server.h"
#include "serve/shapes.h"

namespace ordinal::serve {

using Clock = std::chrono::steady_clock;

// What a line of the log says of a request. The library tells of an answer's end on the thread that began it.
struct RequestNotes {
  Clock::time_point start = Clock::now();
  std::string path;  // the route's
  int64_t tokens_in = 0, tokens_out = 0;
  double first_token_ms = 0;
  bool gone = false;     // the client did not wait
  bool at_hand = false;  // counted among those that are being answered
};

// One request on its way.
struct Exchange {
  const httplib::Request& request;
  httplib::Response& response;
  std::string body;
};

// An answer that is no success, in place of what was asked for.
struct Failure {
  int status;
  std::string message, type, param, code;
  int retry_after = 0;  // seconds; 0: not said
};

struct Server::Inside {
  Inside(ServerOptions wanted, std::vector<ServedModel> served);

  // Routes, by the table in server.cpp.
  void health(Exchange& exchange);
  void list_models(Exchange& exchange);
  void list_positions(Exchange& exchange);
  void show_metrics(Exchange& exchange);
  void page(Exchange& exchange);
  void complete(Exchange& exchange);
  void chat(Exchange& exchange);
  void tokenize(Exchange& exchange);
  void detokenize(Exchange& exchange);
  void score(Exchange& exchange);

  const ServedModel& model_for(const std::string& name) const;  // throws Failure
  // The ids of a text or of given ids; an empty prompt begins with the model's start token.
  std::vector<TokenId> ids_of(const ServedModel& model, const Prompt& prompt, bool special) const;
  // Puts the requests in line. Throws Failure for one that cannot be answered, or when there is no room.
  void submit(const ServedModel& model, std::vector<GenerateRequest> requests, const std::string& field);
  // Waits until all has ended; false when the client has gone, and then the work is cancelled.
  bool wait_for(Answer& answer, const Exchange& exchange) const;
  void answer(Exchange& exchange, const CompletionBody& body, const ServedModel& model,
              std::vector<std::vector<TokenId>> prompts, bool is_chat);
  void count(const Answer& answer, const Usage& usage);

  static RequestNotes& notes();  // of the request that this thread serves
  void begin_notes(std::string_view path);
  void end_notes();

  void set_routes();
  void bind();
  void log_answer(const httplib::Request& request, const httplib::Response& response);

  ServerOptions options;
  GuardOptions guard;
  std::vector<ServedModel> models;
  Metrics metrics;
  std::atomic<bool> draining{false};
  std::atomic<int64_t> at_hand{0};  // requests that are being answered, until the last byte is written
  std::atomic<bool> listens{false};
  const int64_t started = time(nullptr);
  httplib::Server http;
  int port = -1;
  std::thread listener;
};

void reply(Exchange& exchange, int status, const std::string& json);
void reply(Exchange& exchange, const Failure& failure);

}  // namespace ordinal::serve
