#include "protocol/clients/cli/connection/endpoint.hpp"

#include <sys/un.h>

#include <utility>

#include "protocol/clients/cli/failure.hpp"
#include "runtime/base/host_port.hpp"

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
  runtime::Result<runtime::HostPort> place = runtime::parse_host_port(text, kDefaultPort);
  if (!place) {
    throw Failure(Outcome::usage, "--server: " + place.error().message + "; or unix:PATH");
  }
  return {.host = std::move(place.value().host), .port = place.value().port};
}

std::string text_of(const Endpoint& endpoint) {
  return endpoint.path.empty() ? runtime::text_of({.host = endpoint.host, .port = endpoint.port})
                               : "unix:" + endpoint.path;
}

}  // namespace mxkv::cli
