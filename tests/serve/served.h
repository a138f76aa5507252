// served.h: the real server as a process on a free port, and what clients do to it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/process.h"

namespace test {

// An answer: status, headers (names in lower case) and body.
struct Answered {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;

  nlohmann::json json() const;  // fails the test when it is none
};

using Headers = std::map<std::string, std::string>;

// `ordinal serve --port 0` with these arguments, once it listens. Ended, if it still runs, when the object goes; then
// it must have ended well.
class Served {
 public:
  explicit Served(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {});
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  Answered get(const std::string& path, const Headers& headers = {}) const;
  Answered post(const std::string& path, const std::string& body, const Headers& headers = {}) const;
  Answered post(const std::string& path, const char* body) const { return post(path, std::string(body)); }
  Answered post(const std::string& path, const nlohmann::json& body) const { return post(path, body.dump()); }

  void signal(int number) const;
  int wait();             // for its end; returns the exit status, -1 for a signal
  std::string err();      // standard error so far
  double rss_mb() const;  // resident memory

 private:
  pid_t child_ = -1;
  int port_ = 0, status_ = 0;
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

// A connection whose bytes the test says itself.
class Wire {
 public:
  explicit Wire(int port);
  ~Wire() { close(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool send(std::string_view bytes) const;                                   // false when the other end has closed
  std::string read_until(std::string_view mark, double seconds = 20) const;  // or the end, or the time
  std::string read_all(double seconds = 20) const { return read_until({}, seconds); }
  void close();

 private:
  int socket_;
};

// A whole request as bytes.
std::string request_text(const std::string& path, const std::string& body, const std::string& more_headers = "");

// The data of server-sent events.
std::vector<std::string> events_of(const std::string& body);

}  // namespace test
