#include "protocol/clients/cli/connection/endpoint.hpp"

#include <sys/un.h>

#include <algorithm>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

Endpoint unix_endpoint(const std::string& text, const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    throw Failure(Outcome::usage, "--server: '" + text + "' has no path, or one of more than " +
                                      std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
  }
  return {.path = path};
}

}  // namespace

Endpoint endpoint_of(const std::string& text) {
  if (text.starts_with("unix:")) {
    return unix_endpoint(text, text.substr(5));
  }
  if (text.starts_with('/')) {
    return unix_endpoint(text, text);
  }
  std::string host = text;
  std::string port(kDefaultPort);
  const bool bracketed = text.starts_with('[');
  const std::size_t close = bracketed ? text.find(']') : 0;
  const std::size_t colon = close == std::string::npos ? close : text.find(':', close);
  // More than one colon without brackets: an address of version 6, which has no port then.
  const bool bare = !bracketed && std::count(text.begin(), text.end(), ':') > 1;
  if (colon != std::string::npos && !bare) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (bracketed && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() || port.empty() || host.find_first_of("[] ") != std::string::npos) {
    throw Failure(Outcome::usage, "--server: '" + text + "' is neither HOST:PORT nor unix:PATH");
  }
  return {.host = host, .port = port};
}

std::string text_of(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) {
    return "unix:" + endpoint.path;
  }
  const bool six = endpoint.host.find(':') != std::string::npos;
  return (six ? "[" + endpoint.host + "]" : endpoint.host) + ":" + endpoint.port;
}

}  // namespace mxkv::cli
