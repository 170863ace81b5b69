#include "server/admin/http_target.hpp"

#include <algorithm>

namespace mxkv::server {

namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Characters of a host name: those that need no escape in a URL, and escapes. An IPv4 address consists of
/// them, too.
bool is_of_name(char c) noexcept {
  return is_letter(c) || is_digit(c) ||
         std::string_view{"-._~%!$&'()*+,;="}.find(c) != std::string_view::npos;
}

bool is_of_address(char c) noexcept {
  return is_of_name(c) || c == ':';
}

/// A host name or an address, with or without a port.
bool is_host(std::string_view text) noexcept {
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos || end == 1 ||
        !std::ranges::all_of(text.substr(1, end - 1), is_of_address)) {
      return false;
    }
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    if (!std::ranges::all_of(text.substr(0, end), is_of_name)) {
      return false;
    }
  }
  const std::string_view port = text.substr(end);
  return port.empty() || (port.front() == ':' && std::ranges::all_of(port.substr(1), is_digit));
}

/// Removes "http://" or "https://" from the front. False: it has neither.
bool take_scheme(std::string_view& target) noexcept {
  const auto same = [](char a, char b) { return a == b || (is_letter(a) && (a | 0x20) == b); };
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() >= scheme.size() && std::ranges::equal(target.substr(0, scheme.size()), scheme, same)) {
      target.remove_prefix(scheme.size());
      return true;
    }
  }
  return false;
}

}  // namespace

HttpTarget read_target(std::string_view target, const HostHeaders& hosts) noexcept {
  if (hosts.count > 1 || (hosts.count == 0 && hosts.needed)) {
    return {.flaw = "a request of HTTP/1.1 has one header Host"};
  }
  if (!is_host(hosts.first)) {
    return {.flaw = "the header Host names no host"};
  }
  std::string_view host = hosts.first;
  if (take_scheme(target)) {
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    host = target.substr(0, end);
    target.remove_prefix(end);
    if (!is_host(host) || host.empty() || host.front() == ':') {
      return {.flaw = "the target names no host"};
    }
  } else if (!target.starts_with('/')) {
    return {.flaw = "the target is neither a path nor a URL of http"};
  }
  const std::size_t end = std::min(target.find('?'), target.size());
  return {.host = host,
          .path = end == 0 ? std::string_view{"/"} : target.substr(0, end),
          .query = target.substr(std::min(end + 1, target.size()))};
}

}  // namespace mxkv::server
