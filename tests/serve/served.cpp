// served.cpp: see served.h.
#include "served.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "serve/http.h"
#include "support.h"

namespace test {
namespace {

Answered answered(const httplib::Result& result) {
  Answered answer;
  if (!result) return answer;
  answer.status = result->status;
  answer.body = result->body;
  for (const auto& [name, value] : result->headers) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    answer.headers[lower] = value;
  }
  return answer;
}

httplib::Headers headers_of(const Headers& headers) { return {headers.begin(), headers.end()}; }

std::unique_ptr<httplib::Client> client(int port) {
  auto made = std::make_unique<httplib::Client>("127.0.0.1", port);
  made->set_read_timeout(kSanitized ? 300 : 60);
  return made;
}

}  // namespace

nlohmann::json Answered::json() const {
  CAPTURE(status);
  CAPTURE(body);
  nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  REQUIRE(!json.is_discarded());
  return json;
}

// Reads standard error, so that the server never waits for it.
struct Served::Reader {
  int descriptor;
  std::mutex mutex;
  std::string text;
  std::thread thread;

  explicit Reader(int from) : descriptor(from), thread([this] { run(); }) {}
  ~Reader() {
    thread.join();
    close(descriptor);
  }
  void run() {
    std::array<char, 4096> buffer;
    for (ssize_t count; (count = read(descriptor, buffer.data(), buffer.size())) > 0;) {
      const std::lock_guard lock(mutex);
      text.append(buffer.data(), static_cast<size_t>(count));
    }
  }
};

Served::Served(std::vector<std::string> arguments, std::map<std::string, std::string> environment) {
  std::vector<std::string> words = {program(), "serve", "--port", "0"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (const char* name : {"PATH", "HOME", "ORDINAL_ISA", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) settings.push_back(std::string(name) + "=" + value);
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  ::signal(SIGPIPE, SIG_IGN);
  child_ = fork();
  REQUIRE(child_ >= 0);
  if (child_ == 0) {
    dup2(ends[1], 2);
    ::signal(SIGINT, SIG_DFL);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(ends[1]);
  reader_ = std::make_unique<Reader>(ends[0]);
  const std::string mark = "listening on http://127.0.0.1:";
  for (int waited = 0; waited < (kSanitized ? 6000 : 1500); ++waited) {
    const std::string said = err();
    const size_t at = said.find(mark);
    if (at != std::string::npos && said.find('\n', at) != std::string::npos) {
      port_ = std::atoi(said.c_str() + at + mark.size());
      return;
    }
    if (waitpid(child_, &status_, WNOHANG) == child_) child_ = -1;
    if (child_ < 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("the server does not listen: ", err());
}

Served::~Served() {
  if (child_ < 0) return;
  signal(SIGTERM);
  const int status = wait();
  CAPTURE(err());
  CHECK(status == 0);
}

std::string Served::err() {
  const std::lock_guard lock(reader_->mutex);
  return reader_->text;
}

void Served::signal(int number) const {
  if (child_ > 0) kill(child_, number);
}

int Served::wait() {
  for (int waited = 0; child_ > 0; ++waited) {
    if (waitpid(child_, &status_, WNOHANG) == child_) child_ = -1;
    if (waited == (kSanitized ? 12000 : 3000)) kill(child_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

double Served::rss_mb() const {
  std::ifstream statm("/proc/" + std::to_string(child_) + "/statm");
  double all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

Answered Served::get(const std::string& path, const Headers& headers) const {
  return answered(client(port_)->Get(path, headers_of(headers)));
}

Answered Served::post(const std::string& path, const std::string& body, const Headers& headers) const {
  return answered(client(port_)->Post(path, headers_of(headers), body, "application/json"));
}

Wire::Wire(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

void Wire::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool Wire::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

std::string Wire::read_until(std::string_view mark, double seconds) const {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<int64_t>(seconds * (kSanitized ? 5000 : 1000)));
  std::string text;
  std::array<char, 4096> buffer;
  while (std::chrono::steady_clock::now() < until && (mark.empty() || text.find(mark) == std::string::npos)) {
    pollfd polled{socket_, POLLIN, 0};
    if (poll(&polled, 1, 100) <= 0) continue;
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  return text;
}

std::string request_text(const std::string& path, const std::string& body, const std::string& more_headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + more_headers + "\r\n" + body;
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    REQUIRE(end != std::string::npos);
    REQUIRE(body.compare(at, 6, "data: ") == 0);
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return events;
}

}  // namespace test
