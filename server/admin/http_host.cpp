#include "server/admin/http_host.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>

namespace mxkv::server {

bool is_own_host(std::string_view host, std::string_view own_name) noexcept {
  constexpr std::size_t kMostName = 253;
  if (host.starts_with('[')) {
    return true;  // an IPv6 address
  }
  host = host.substr(0, host.find(':'));
  if (host.empty() || host.size() > kMostName) {
    return host.empty();
  }
  std::array<char, kMostName + 1> text{};
  std::ranges::copy(host, text.begin());
  in_addr ignored{};
  if (inet_pton(AF_INET, text.data(), &ignored) == 1) {
    return true;
  }
  const auto same = [](char a, char b) {
    return a == b || ((a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
  };
  const auto is = [&](std::string_view name) { return std::ranges::equal(host, name, same); };
  constexpr std::string_view kLocal = ".localhost";
  const bool local = host.size() > kLocal.size() &&
                     std::ranges::equal(host.substr(host.size() - kLocal.size()), kLocal, same);
  return host.find('.') == std::string_view::npos || local || is(own_name);
}

}  // namespace mxkv::server
