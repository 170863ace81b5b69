#include "runtime/base/host_port.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mxkv::runtime {

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = failed == std::errc{} && end == text.data() + text.size();
  return whole && port != 0 ? std::optional{port} : std::nullopt;
}

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
  const auto wrong = [text](const char* why) { return Error{"'" + std::string{text} + "': " + why}; };
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return wrong("[ without ]; write an IPv6 address as [ADDRESS]:PORT");
    }
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    has_port = port.starts_with(':');
    if (!has_port && !port.empty()) {
      return wrong("only :PORT may follow ]");
    }
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
    has_port = true;
  }
  if (host.empty() || host.find_first_of("[] ") != std::string_view::npos) {
    return wrong("is not a host and port; write HOST:PORT or [ADDRESS]:PORT");
  }
  HostPort place{.host = std::string{host}, .port = default_port};
  if (has_port) {
    const std::optional<std::uint16_t> number = parse_port(port.substr(1));
    if (!number) {
      return wrong("the port must be a number from 1 to 65535");
    }
    place.port = *number;
  } else if (default_port == 0) {
    return wrong("has no port; write HOST:PORT or [ADDRESS]:PORT");
  }
  return place;
}

std::string text_of(const HostPort& place) {
  const bool six = place.host.find(':') != std::string::npos;
  return (six ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

}  // namespace mxkv::runtime
