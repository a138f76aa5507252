// guard.cpp: see guard.h.
#include "serve/guard.h"

#include <algorithm>
#include <cctype>

#include "base/words.h"

namespace ordinal::serve {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool has_key(std::string_view authorization, const std::vector<std::string>& keys) {
  constexpr std::string_view kScheme = "bearer ";
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) return false;
  std::string_view given = authorization.substr(kScheme.size());
  while (given.starts_with(' ')) given.remove_prefix(1);
  bool known = false;
  for (const std::string& key : keys) known |= equal_in_constant_time(given, key);  // all of them, whichever it is
  return known;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "::1" || lower(host) == "localhost") return true;
  const bool numeric = !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return numeric && host.starts_with("127.") && std::ranges::count(host, '.') == 3;
}

std::string_view host_of(std::string_view header) {
  if (header.starts_with('[')) return header.substr(0, std::min(header.find(']'), header.size() - 1) + 1);
  const size_t colon = header.find(':');
  return colon != header.rfind(':') ? header : header.substr(0, colon);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0u : 1u;
  for (size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned>(static_cast<unsigned char>(a[i])) ^
              static_cast<unsigned>(static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]));
  return differ == 0;
}

bool allows_origin(std::string_view origin, const GuardOptions& options) {
  return !origin.empty() && std::ranges::any_of(options.origins, [&](const std::string& allowed) {
    return allowed == "*" || lower(allowed) == lower(origin);
  });
}

Refusal refusal_of(const Asker& asker, const GuardOptions& options) {
  if (options.loopback && !is_loopback(host_of(asker.host)))
    return {403, "this server answers on this machine only; expected: a Host of 127.0.0.1 or localhost; found: " +
                     in_quotes(asker.host)};
  if (!asker.origin.empty() && !allows_origin(asker.origin, options) &&
      lower(asker.origin) != "http://" + lower(asker.host) && lower(asker.origin) != "https://" + lower(asker.host))
    return {403, "web pages of another origin may not ask; found: " + in_quotes(asker.origin) +
                     "; try: ordinal serve --cors " + in_quotes(asker.origin)};
  if (!asker.open && !options.keys.empty() && !has_key(asker.authorization, options.keys))
    return {401, asker.authorization.empty() ? "a key is needed; expected: the header Authorization: Bearer KEY"
                                             : "the key is not one of the server's"};
  return {};
}

}  // namespace ordinal::serve
