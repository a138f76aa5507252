// guard.h: who may ask: keys, and the Host and Origin headers that tell a web page of somebody else's apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordinal::serve {

struct GuardOptions {
  bool loopback = true;              // the server listens on this machine only
  std::vector<std::string> keys;     // any of them will do; none: no key is asked for
  std::vector<std::string> origins;  // web pages of these may ask too; "*": all
};

// What of a request's head counts.
struct Asker {
  std::string_view host, origin, authorization;  // headers; empty when absent
  bool open = false;                             // the path is for those without a key: health, the page
};

// Whether an address or name means this machine: 127.0.0.0/8, ::1, localhost.
bool is_loopback(std::string_view host);

// The host of "host:port", "[::1]:port" or either without a port.
std::string_view host_of(std::string_view header);

// Takes time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// A refusal: status 0 for none, 401 or 403 with the reason.
struct Refusal {
  int status = 0;
  std::string reason;
};

// A page of another site reaches a server on loopback through the browser of whoever visits it: by its own name that
// suddenly means 127.0.0.1 (then Host is not ours), or by asking across origins (then Origin is not ours).
Refusal refusal_of(const Asker& asker, const GuardOptions& options);

// Whether pages of this origin may read answers; "" is no origin.
bool allows_origin(std::string_view origin, const GuardOptions& options);

}  // namespace ordinal::serve
