// connection.cpp: see connection.h.
#include "serve/connection.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <functional>

namespace ordinal::serve {
namespace {

// One end of a connection. An address of the old kind within the new is the old one.
struct End {
  std::string address;
  int port = -1;
};

using AskName = int (*)(int, sockaddr*, socklen_t*);

End end_of(int socket, AskName ask) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (ask(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return {text, ntohs(address.sin_port)};
  }
  if (storage.ss_family != AF_INET6) return {};
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof address);
  inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
  return {text, ntohs(address.sin6_port)};
}

int ask_peer(int socket, sockaddr* address, socklen_t* size) { return getpeername(socket, address, size); }
int ask_own(int socket, sockaddr* address, socklen_t* size) { return getsockname(socket, address, size); }

// Calls `visit` with each descriptor that is open, until it returns true.
void for_each_descriptor(const std::function<bool(int)>& visit) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    int descriptor = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [stop, code] = std::from_chars(entry->d_name, end, descriptor);
    if (code == std::errc() && stop == end && descriptor != dirfd(folder) && visit(descriptor)) break;
  }
  closedir(folder);
}

}  // namespace

int socket_between(const std::string& remote_address, int remote_port, int local_port) {
  int found = -1;
  for_each_descriptor([&](int descriptor) {
    const End remote = end_of(descriptor, ask_peer);
    if (remote.port != remote_port || remote.address != remote_address) return false;
    if (end_of(descriptor, ask_own).port != local_port) return false;
    found = descriptor;
    return true;
  });
  return found;
}

bool has_gone(int socket) {
  if (socket < 0) return false;
  pollfd polled{socket, POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void shut_connections(int local_port) {
  for_each_descriptor([&](int descriptor) {
    if (end_of(descriptor, ask_peer).port >= 0 && end_of(descriptor, ask_own).port == local_port)
      shutdown(descriptor, SHUT_RDWR);
    return false;
  });
}

}  // namespace ordinal::serve
