#include "server/net/client_commands.hpp"

#include "config/parse.hpp"
#include "protocol/reply.hpp"
#include "protocol/verb_name.hpp"
#include "server/net/connection_facts.hpp"
#include "server/store/watch/uri_key.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsOfASecond = 1'000'000'000;

std::string in_uri(std::string_view text) {
  std::string out(3 * text.size(), '\0');
  out.resize(static_cast<std::size_t>(write_in_uri(out.data(), text) - out.data()));
  return out;
}

std::string name_of_last(const Client& client) {
  const std::optional<protocol::verb> last = client.last.load(std::memory_order_relaxed);
  return last ? std::string{protocol::name_of(*last)} : std::string{};
}

std::string seconds_since(std::uint64_t then_ns, std::uint64_t now_ns) {
  return std::to_string(now_ns > then_ns ? (now_ns - then_ns) / kNsOfASecond : 0);
}

}  // namespace

std::string list_clients(const ClientTable& clients, std::uint64_t now_ns) {
  std::string text;
  clients.for_each([&](const Client& client) {
    const auto number = [](const auto& counter) {
      return std::to_string(counter.load(std::memory_order_relaxed));
    };
    text += "CLIENT id=" + std::to_string(client.id) + " cfd=" + std::to_string(client.socket) +
            " addr=" + client.peer + " listen=" + client.own + " name=" + in_uri(client.name) +
            " user=" + in_uri(client.user) + " age=" + seconds_since(client.opened_ns, now_ns) +
            " idle=" + seconds_since(client.read_ns.load(std::memory_order_relaxed), now_ns) +
            " requests=" + number(client.requests) + " read=" + number(client.read_bytes) +
            " written=" + number(client.written_bytes) + " worker=" + number(client.worker) +
            " cmd=" + name_of_last(client) + "\r\n";
  });
  return text.append(protocol::kEnd);
}

std::size_t kill_clients(ClientTable& clients, std::string_view which) {
  const runtime::Result<std::uint64_t> id = config::parse_number(which);
  return clients.kill(
      [&](const Client& client) { return id ? client.id == id.value() : is_peer(client.peer, which); });
}

}  // namespace mxkv::server
