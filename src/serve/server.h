// server.h: models over HTTP: what is served, and to whom. README.md has every path and field.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/engine.h"
#include "serve/guard.h"
#include "serve/requests.h"

namespace ordinal::serve {

struct ServedModel {
  std::string name;
  std::unique_ptr<Tokenizer> tokenizer;  // null: ids only
  std::unique_ptr<Engine> engine;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                      // 0: a free one
  std::vector<std::string> keys, cors;  // see GuardOptions
  RequestLimits limits;
  int64_t connections = 256;  // served at once; others wait to be accepted
  int64_t seconds = 600;      // most that a request may take
  int64_t idle_seconds = 30;  // most that a client may keep a read or a write waiting
  bool json_logs = false;
  std::function<void(const std::string& line)> log;  // from several threads; empty: no logs
};

class Server {
 public:
  // Takes the port. Throws Error when it cannot be had, and for a host beyond this machine without a key.
  Server(ServerOptions options, std::vector<ServedModel> models);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address() const;  // "http://127.0.0.1:8080"
  void start();                 // answers from now on, on threads of its own

  // Takes no new work from now on. What runs goes on; is_idle() says when it has ended.
  void drain();
  bool is_idle() const;
  // Ends what is left with what it has, then every connection.
  void stop();

  struct Inside;  // inside.h

 private:
  std::unique_ptr<Inside> inside_;
};

}  // namespace ordinal::serve
