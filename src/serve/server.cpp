// server.cpp: see server.h. The table of routes, and what holds for all of them: who may ask, bodies, errors, logs.
#include "serve/server.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/words.h"
#include "serve/connection.h"
#include "serve/inside.h"

namespace ordinal::serve {
namespace {

struct Route {
  std::string_view method, path;
  void (Server::Inside::*answer)(Exchange& exchange);
  bool open = false;     // no key is asked for
  bool drained = false;  // answers also while the server stops
};

constexpr std::array<Route, 11> kRoutes = {{
    {"GET", "/", &Server::Inside::page, true},
    {"GET", "/health", &Server::Inside::health, true, true},
    {"GET", "/metrics", &Server::Inside::show_metrics, false, true},
    {"GET", "/v1/models", &Server::Inside::list_models},
    {"GET", "/v1/positions", &Server::Inside::list_positions},
    {"POST", "/v1/completions", &Server::Inside::complete},
    {"POST", "/v1/chat/completions", &Server::Inside::chat},
    {"POST", "/v1/score", &Server::Inside::score},
    {"POST", "/tokenize", &Server::Inside::tokenize},
    {"POST", "/detokenize", &Server::Inside::detokenize},
    {"POST", "/v1/tokenize", &Server::Inside::tokenize},
}};

constexpr std::string_view kJson = "application/json";
constexpr int64_t kKeepAlive = 1 << 20, kKeepAliveSeconds = 5;

// What a path may hold in a log or a metric: clients choose the rest.
constexpr std::string_view kOther = "other";

bool has_body(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return request.has_header("Transfer-Encoding") || (!length.empty() && length != "0");
}

// Answers and ends the connection: what is left of the request on it cannot be told from a next one.
void reply_and_close(httplib::Response& response, int status, std::string json) {
  response.status = status;
  response.set_header("Connection", "close");
  const auto text = std::make_shared<std::string>(std::move(json));
  response.set_content_provider(text->size(), std::string(kJson),
                                [text](size_t offset, size_t, httplib::DataSink& sink) {
                                  sink.write(text->data() + offset, text->size() - offset);
                                  return false;
                                });
}

Failure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    return failure;
  } catch (const BadRequest& bad) {
    return {400, bad.what(), "invalid_request_error", bad.field(), ""};
  } catch (const Error& error) {
    return {400, one_line(error), "invalid_request_error", "", ""};
  } catch (const std::bad_alloc&) {
    return {503, "there is not enough memory for this", "server_error", "", "out_of_memory"};
  } catch (const std::exception& error) {
    return {500, std::string("something unforeseen happened: ") + error.what(), "server_error", "", ""};
  }
}

}  // namespace

void reply(Exchange& exchange, int status, const std::string& json) {
  exchange.response.status = status;
  exchange.response.set_content(json, std::string(kJson));
}

void reply(Exchange& exchange, const Failure& failure) {
  if (failure.retry_after > 0) exchange.response.set_header("Retry-After", std::to_string(failure.retry_after));
  if (failure.status == 401) exchange.response.set_header("WWW-Authenticate", "Bearer");
  reply(exchange, failure.status, error_json(failure.message, failure.type, failure.param, failure.code));
}

Server::Inside::Inside(ServerOptions wanted, std::vector<ServedModel> served)
    : options(std::move(wanted)), models(std::move(served)) {
  guard = {is_loopback(options.host), options.keys, options.cors};
  if (!guard.loopback && guard.keys.empty())
    throw Error("the server would answer anybody who reaches " + options.host, "a key, --api-key or ORDINAL_API_KEY",
                "none", "--host 127.0.0.1 for this machine only");
  const auto seconds = static_cast<time_t>(options.idle_seconds);
  http.set_read_timeout(seconds).set_write_timeout(seconds);
  http.set_keep_alive_max_count(kKeepAlive).set_keep_alive_timeout(kKeepAliveSeconds).set_tcp_nodelay(true);
  http.set_payload_max_length(static_cast<size_t>(options.limits.body_bytes));
  http.new_task_queue = [this] { return new httplib::ThreadPool(static_cast<size_t>(options.connections)); };
  set_routes();
  bind();
}

void Server::Inside::bind() {
  const std::string host =
      options.host.starts_with('[') ? options.host.substr(1, options.host.size() - 2) : options.host;
  port = options.port;
  // The library would let several servers share a port; whoever came first has it.
  socket_t listening = -1;  // of the addresses tried, the last
  http.set_socket_options([&listening](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    listening = socket;
  });
  const bool bound = port == 0 ? (port = http.bind_to_any_port(host)) > 0 : http.bind_to_port(host, port);
  if (!bound)
    throw Error("the server cannot have the address " + options.host + ":" + std::to_string(options.port),
                "an address of this machine and a port that is free", std::string(std::strerror(errno)),
                "another --port, or --port 0 for any");
  // The library lets five wait to be taken; in a crowd the sixth would lose a second before its system asks again.
  ::listen(listening, SOMAXCONN);
  http.set_socket_options(nullptr);
}

RequestNotes& Server::Inside::notes() {
  thread_local RequestNotes current;
  return current;
}

void Server::Inside::begin_notes(std::string_view path) {
  end_notes();
  notes() = {.path = std::string(path), .at_hand = true};
  at_hand.fetch_add(1);
}

void Server::Inside::end_notes() {
  if (std::exchange(notes().at_hand, false)) at_hand.fetch_sub(1);
}

void Server::Inside::set_routes() {
  const auto asker = [](const httplib::Request& request, std::array<std::string, 3>& values, bool open) {
    values = {request.get_header_value("Host"), request.get_header_value("Origin"),
              request.get_header_value("Authorization")};
    return Asker{values[0], values[1], values[2], open};
  };
  const auto add_headers = [this](const httplib::Request& request, httplib::Response& response) {
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cache-Control", "no-store");
    const std::string origin = request.get_header_value("Origin");
    if (!allows_origin(origin, guard)) return;
    response.set_header("Access-Control-Allow-Origin", origin);
    response.set_header("Access-Control-Allow-Headers", "Authorization, Content-Type");
    response.set_header("Vary", "Origin");
  };
  const auto serve = [this, asker](const Route* route, const httplib::Request& request, httplib::Response& response,
                                   std::string body) {
    Exchange exchange{request, response, std::move(body)};
    try {
      std::array<std::string, 3> values;
      if (const Refusal refusal = refusal_of(asker(request, values, route != nullptr && route->open), guard);
          refusal.status != 0)
        throw Failure{refusal.status, refusal.reason, "invalid_request_error", "",
                      refusal.status == 401 ? "invalid_api_key" : "forbidden"};
      if (route == nullptr) {
        const auto* other = std::ranges::find(kRoutes, request.path, &Route::path);
        if (other == kRoutes.end())
          throw Failure{
              404,
              "there is no path " + in_quotes(request.path) + "; there are: " + joined(kRoutes, ", ", &Route::path),
              "invalid_request_error", "", "not_found"};
        response.set_header("Allow", std::string(other->method));
        throw Failure{405, request.path + " takes " + std::string(other->method) + "; found: " + request.method,
                      "invalid_request_error", "", "method_not_allowed"};
      }
      notes().path = route->path;
      if (draining.load() && !route->drained)
        throw Failure{503, "the server is stopping", "server_error", "", "stopping", 5};
      (this->*route->answer)(exchange);
    } catch (...) {
      reply(exchange, failure_of(std::current_exception()));
    }
  };

  http.set_pre_routing_handler([this, add_headers](const httplib::Request& request, httplib::Response& response) {
    using Handled = httplib::Server::HandlerResponse;
    begin_notes(kOther);
    constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"};
    add_headers(request, response);
    const auto refuse = [&](int status, const std::string& message, const char* code) {
      reply_and_close(response, status, error_json(message, "invalid_request_error", "", code));
      return Handled::Handled;
    };
    const auto* method = std::ranges::find(kMethods, request.method);
    if (method == kMethods.end()) return refuse(405, "there is no such method", "method_not_allowed");
    const bool takes_body = method - kMethods.begin() >= 3;
    if (!takes_body && has_body(request)) return refuse(400, "a " + request.method + " has no body", "");
    if (takes_body && request.is_multipart_form_data())
      return refuse(400, "the body is JSON; found: multipart/form-data", "");
    return Handled::Unhandled;
  });
  http.set_expect_100_continue_handler([this](const httplib::Request& request, httplib::Response&) {
    const std::string length = request.get_header_value("Content-Length");
    return length.size() > 18 || std::atoll(length.c_str()) > options.limits.body_bytes ? 413 : 100;
  });

  // A body is read whole, within the limit, before anything is said of the request, so that a next one on the same
  // connection begins where it should.
  const auto with_body = [this, serve](const Route* route) {
    return [this, serve, route](const httplib::Request& request, httplib::Response& response,
                                const httplib::ContentReader& read) {
      std::string body;
      const auto most = static_cast<size_t>(options.limits.body_bytes);
      bool too_large = false;
      const bool whole = read([&](const char* data, size_t size) {
        too_large = too_large || size > most - body.size();
        if (!too_large) body.append(data, size);
        return !too_large;
      });
      if (whole) return serve(route, request, response, std::move(body));
      too_large = too_large || response.status == 413;
      reply_and_close(
          response, too_large ? 413 : 400,
          error_json(too_large ? "the body is too large; expected: at most " + bytes_text(static_cast<uint64_t>(most))
                               : "the body did not come whole",
                     "invalid_request_error", "", too_large ? "request_too_large" : ""));
    };
  };
  for (const Route& route : kRoutes) {
    const std::string path(route.path);
    if (route.method == "POST")
      http.Post(path, with_body(&route));
    else
      http.Get(path, [serve, &route](const httplib::Request& request, httplib::Response& response) {
        serve(&route, request, response, "");
      });
  }
  const auto unrouted = [serve](const httplib::Request& request, httplib::Response& response) {
    serve(nullptr, request, response, "");
  };
  http.Get(".*", unrouted);
  http.Post(".*", with_body(nullptr)).Put(".*", with_body(nullptr)).Patch(".*", with_body(nullptr));
  http.Delete(".*", with_body(nullptr));
  http.Options(".*", [this](const httplib::Request& request, httplib::Response& response) {
    response.status = allows_origin(request.get_header_value("Origin"), guard) ? 204 : 403;
    response.set_header("Access-Control-Allow-Methods", "GET, POST");
  });
  http.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty() && !response.content_provider_ && response.status >= 400)
      response.set_content(error_json("the request is not one that can be read", "invalid_request_error"),
                           std::string(kJson));
  });
  http.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
        const Failure failure = failure_of(thrown);
        response.status = failure.status;
        response.set_content(error_json(failure.message, failure.type), std::string(kJson));
      });
  http.set_logger([this](const httplib::Request& request, const httplib::Response& response) {
    log_answer(request, response);
    end_notes();
  });
}

void Server::Inside::log_answer(const httplib::Request& request, const httplib::Response& response) {
  if (!notes().at_hand) notes() = {.path = std::string(kOther)};  // it could not even be routed
  const RequestNotes& note = notes();
  constexpr int kClientGone = 499;  // as nginx has it
  const int status = note.gone ? kClientGone : response.status;
  metrics.answered(note.path, status);
  if (!options.log) return;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - note.start).count();
  if (options.json_logs) {
    JsonWriter json;
    json.begin_object();
    json.add("time", stamp.data());
    json.add("client", request.remote_addr);
    json.add("path", note.path);
    json.add("status", status);
    json.add("tokens_in", note.tokens_in);
    json.add("tokens_out", note.tokens_out);
    json.add("first_token_ms", note.first_token_ms);
    json.add("ms", ms);
    json.end_object();
    return options.log(json.take());
  }
  options.log(std::string(stamp.data()) + " " + request.remote_addr + " " + note.path + " " + std::to_string(status) +
              " in " + std::to_string(note.tokens_in) + " out " + std::to_string(note.tokens_out) + " first " +
              fixed(note.first_token_ms, 1) + " ms all " + fixed(ms, 1) + " ms");
}

Server::Server(ServerOptions options, std::vector<ServedModel> models)
    : inside_(std::make_unique<Inside>(std::move(options), std::move(models))) {}

Server::~Server() { stop(); }

std::string Server::address() const {
  const std::string& host = inside_->options.host;
  const bool bare = host.find(':') != std::string::npos && !host.starts_with('[');
  return "http://" + (bare ? "[" + host + "]" : host) + ":" + std::to_string(inside_->port);
}

void Server::start() {
  inside_->listens.store(true);
  inside_->listener = std::thread([this] {
    inside_->http.listen_after_bind();
    inside_->listens.store(false);
  });
  while (!inside_->http.is_running() && inside_->listens.load())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Server::drain() { inside_->draining.store(true); }

bool Server::is_idle() const {
  return inside_->at_hand.load() == 0 && std::ranges::all_of(inside_->models, [](const ServedModel& model) {
           return model.engine->outstanding() == 0;
         });
}

void Server::stop() {
  drain();
  if (!inside_->listener.joinable()) return;
  // Texts that were cut short still reach their clients, as far as these read.
  constexpr auto kLastWords = std::chrono::seconds(2);
  for (const auto until = Clock::now() + kLastWords; !is_idle() && Clock::now() < until;) {
    for (const ServedModel& model : inside_->models) model.engine->cancel_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  inside_->http.stop();
  while (inside_->listens.load()) {  // connections that came at the last moment too
    shut_connections(inside_->port);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  inside_->listener.join();
}

}  // namespace ordinal::serve
