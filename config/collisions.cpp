#include "config/collisions.hpp"

#include <arpa/inet.h>

#include <optional>
#include <string>
#include <unordered_map>

namespace mxkv::config {

namespace {

/// The bytes of an address: four for IPv4, else sixteen.
std::string bytes_of(const std::string& address) {
  std::string bytes(sizeof(in6_addr), '\0');
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    bytes.resize(sizeof(in_addr));
  } else {
    inet_pton(AF_INET6, address.c_str(), bytes.data());
  }
  return bytes;
}

/// The listeners on one port of one version of IP.
struct OfPort {
  std::size_t first = 0;
  std::optional<std::size_t> of_all_addresses;
  std::unordered_map<std::string, std::size_t> by_address;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> collisions(const std::vector<ListenAddress>& listeners) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::unordered_map<std::string, std::size_t> paths;
  std::unordered_map<std::string, OfPort> ports;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const ListenAddress& listen = listeners[i];
    if (!listen.path.empty()) {
      if (const auto [same, first] = paths.try_emplace(listen.path, i); !first) {
        found.emplace_back(same->second, i);
      }
      continue;
    }
    if (listen.port == 0) {
      continue;  // the system finds a free port
    }
    const std::string bytes = bytes_of(listen.address);
    const bool all = bytes.find_first_not_of('\0') == std::string::npos;
    const std::string key = std::to_string(bytes.size()) + ":" + std::to_string(listen.port);
    OfPort& port =
        ports.try_emplace(key, OfPort{.first = i, .of_all_addresses = {}, .by_address = {}}).first->second;
    if (const auto [same, first] = port.by_address.try_emplace(bytes, i); !first) {
      found.emplace_back(same->second, i);
    } else if (port.of_all_addresses) {
      found.emplace_back(*port.of_all_addresses, i);
    } else if (all && port.first != i) {
      found.emplace_back(port.first, i);
    }
    if (all && !port.of_all_addresses) {
      port.of_all_addresses = i;
    }
  }
  return found;
}

}  // namespace mxkv::config
