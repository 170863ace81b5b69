#include "server/net/users/login_delays.hpp"

#include <algorithm>

namespace mxkv::server {

std::uint32_t LoginDelays::doubled(std::uint32_t failures, std::uint32_t free) const noexcept {
  if (failures < free) {
    return 0;
  }
  const std::uint32_t times = std::min<std::uint32_t>(failures - free, 16);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{rules_.first_ms} << times, rules_.longest_ms));
}

std::uint32_t LoginDelays::delay_ms(std::string_view client, std::uint32_t failures,
                                    std::uint64_t now_ms) const {
  return std::max(doubled(failures, rules_.free),
                  doubled(this->failures(client, now_ms), rules_.free_of_client));
}

std::uint32_t LoginDelays::failures(std::string_view client, std::uint64_t now_ms) const {
  const auto at = clients_.find(client);
  return at != clients_.end() && now_ms < at->second.last_ms + rules_.forgotten_ms ? at->second.failures : 0;
}

void LoginDelays::failed(std::string_view client, std::uint64_t now_ms) {
  if (client.empty()) {
    return;
  }
  Client& found = entry(client, now_ms);
  if (now_ms >= found.last_ms + rules_.forgotten_ms) {
    found.failures = 0;
  }
  ++found.failures;
  found.last_ms = now_ms;
}

LoginDelays::Client& LoginDelays::entry(std::string_view client, std::uint64_t now_ms) {
  if (const auto at = clients_.find(client); at != clients_.end()) {
    return at->second;
  }
  if (clients_.size() >= kMostClients) {
    clients_.erase(
        std::ranges::min_element(clients_, {}, [](const auto& each) { return each.second.last_ms; }));
  }
  return clients_.emplace(client, Client{.last_ms = now_ms}).first->second;
}

}  // namespace mxkv::server
