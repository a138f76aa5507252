// connection.h: the socket that a request came on, which the HTTP library keeps to itself: has the client gone?
#pragma once

#include <string>

namespace ordinal::serve {

// The open socket between these two ends, -1 when there is none. Asks the system about each of the process's own
// descriptors: some microseconds each.
int socket_between(const std::string& remote_address, int remote_port, int local_port);

// Whether the other end has closed the connection, or broken it. A client that only stops sending counts as gone too:
// no client that waits for an answer does that.
bool has_gone(int socket);

// Ends every connection to this port, so that threads that read from them go on.
void shut_connections(int local_port);

}  // namespace ordinal::serve
